import type { Span, Trace as TraceData } from '@gatehouse/contract/traces';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { amountColumn, durationColumn, figureColumn, textColumn, timeColumn } from '../parts/columns.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { Money } from '../parts/money.tsx';
import { Name } from '../parts/name.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { Waterfall } from '../parts/waterfall.tsx';
import type { PageProps } from './page.ts';

/** One run with its steps. */
export function Trace({ id }: PageProps) {
  const known = useAnswer('GET /v1/traces/{id}', { params: { id } });
  return (
    <KnownAnswer known={known}>
      {(trace) => (
        <>
          <Facts trace={trace} />
          <h2>Steps</h2>
          <Waterfall trace={trace} spans={trace.spans ?? []} />
          <DataTable
            caption="Steps in the order of their start"
            file={`steps-${id}.csv`}
            columns={columns}
            rows={trace.spans ?? []}
            keyOf={({ id: span }) => span}
            empty="The run has no step."
          />
          <Preview title="Input" text={trace.input_preview} />
          <Preview title="Output" text={trace.output_preview} />
        </>
      )}
    </KnownAnswer>
  );
}

function Facts({ trace }: { trace: TraceData }) {
  const facts = {
    Status: <Status state={trace.status} />,
    Started: <Time at={trace.started_at} isExact />,
    Ended: <Time at={trace.ended_at} isExact otherwise="running" />,
    Duration: milliseconds(trace.duration_ms),
    Agent: <AgentName trace={trace} />,
    Model: trace.response_model ?? trace.request_model,
    Provider: trace.provider ?? '–',
    Key: <KeyName trace={trace} />,
    API: trace.dialect ?? '–',
    Program: trace.client ?? '–',
    User: trace.user_id ?? '–',
    Session: trace.session_id ?? '–',
    Tokens: `${count(trace.input_tokens)} in, ${count(trace.output_tokens)} out`,
    Cost: trace.cost_usd === null ? 'unpriced' : <Money amount={trace.cost_usd} />,
    'Trace ID': <code>{trace.trace_id}</code>,
  };
  return (
    <>
      {trace.error === null ? null : (
        <div class="problem">
          <p>{trace.error.message}</p>
          <p class="faint">
            <code>{trace.error.type}</code>
          </p>
        </div>
      )}
      <dl class="facts">
        {Object.entries(facts).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function AgentName({ trace: { agent_id: id, agent_key: name } }: { trace: TraceData }) {
  return id === null ? <>–</> : <Name id={id} name={name} href={`/app/agents/${id}`} />;
}

function KeyName({ trace: { api_key_id: id, api_key_name: name } }: { trace: TraceData }) {
  return id === null ? <>–</> : <Name id={id} name={name} />;
}

const columns: readonly DataColumn<Span>[] = [
  textColumn('Step', ({ name }) => name),
  textColumn('Kind', ({ kind }) => kind),
  {
    ...textColumn('Status', ({ status }: Span) => status),
    cell: ({ status }) => <Status state={status} />,
  },
  {
    ...textColumn('Provider', ({ provider }: Span) => provider ?? '–'),
    value: ({ provider }) => provider,
  },
  {
    ...timeColumn('Started', ({ started_at: at }: Span) => at),
    cell: ({ started_at: at }) => <Time at={at} isExact />,
  },
  durationColumn('First token', ({ time_to_first_token_ms: at }) => at),
  durationColumn('Duration', ({ duration_ms: duration }) => duration),
  figureColumn('Tokens in', ({ input_tokens: tokens }) => tokens),
  figureColumn('Tokens out', ({ output_tokens: tokens }) => tokens),
  amountColumn('Cost', ({ cost_usd: cost }) => cost),
  { header: 'Error', cell: ({ error }) => error?.type ?? '', value: ({ error }) => error?.type ?? null },
];

function Preview({ title, text }: { title: string; text: string | null }) {
  if (text === null) return null;
  return (
    <section>
      <h2>{title}</h2>
      <pre class="preview" tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </section>
  );
}
