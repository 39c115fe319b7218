import type { Span, Trace as TraceData } from '@gatehouse/contract/traces';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds, usd } from '../format/amounts.ts';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { Status } from '../parts/status.tsx';
import { Table, type Column } from '../parts/table.tsx';
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
          <Table
            caption="Steps in the order of their start"
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
    Status: <Status of={trace.status} />,
    Started: <Time at={trace.started_at} />,
    Ended: <Time at={trace.ended_at} otherwise="running" />,
    Duration: milliseconds(trace.duration_ms),
    Model: trace.response_model ?? trace.request_model,
    Provider: trace.provider ?? '–',
    User: trace.user_id ?? '–',
    Session: trace.session_id ?? '–',
    Tokens: `${count(trace.input_tokens)} in, ${count(trace.output_tokens)} out`,
    Cost: trace.cost_usd === null ? 'without a price' : usd(trace.cost_usd),
    'Trace id': <code>{trace.trace_id}</code>,
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

const columns: readonly Column<Span>[] = [
  { header: 'Step', cell: ({ name }) => name },
  { header: 'Kind', cell: ({ kind }) => kind },
  { header: 'Status', cell: ({ status }) => <Status of={status} /> },
  { header: 'Provider', cell: ({ provider }) => provider ?? '–' },
  { header: 'Started', cell: ({ started_at: at }) => <Time at={at} /> },
  { header: 'First token', cell: ({ time_to_first_token_ms: at }) => milliseconds(at), isNumber: true },
  { header: 'Duration', cell: ({ duration_ms: duration }) => milliseconds(duration), isNumber: true },
  { header: 'Tokens in', cell: ({ input_tokens: tokens }) => count(tokens), isNumber: true },
  { header: 'Tokens out', cell: ({ output_tokens: tokens }) => count(tokens), isNumber: true },
  { header: 'Cost', cell: ({ cost_usd: cost }) => (cost === null ? '–' : usd(cost)), isNumber: true },
  { header: 'Error', cell: ({ error }) => error?.type ?? '' },
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
