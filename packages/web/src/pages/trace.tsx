import type { Span, Trace as TraceData } from '@gatehouse/contract/traces';
import { useState } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { amountColumn, durationColumn, figureColumn, textColumn, timeColumn } from '../parts/columns.tsx';
import { Facts } from '../parts/facts.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { Money } from '../parts/money.tsx';
import { Name } from '../parts/name.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { RefusalAdvice } from '../parts/refusal-advice.tsx';
import { RunContent } from '../parts/run-content.tsx';
import { Status } from '../parts/status.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Time } from '../parts/time.tsx';
import { Waterfall } from '../parts/waterfall.tsx';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import type { PageProps } from './page.ts';

/** One run: its facts, its steps over time, and its content. */
export function Trace({ id }: PageProps) {
  const known = useAnswer('GET /v1/traces/{id}', { params: { id } });
  return (
    <KnownAnswer known={known}>
      {(trace) => (
        <>
          <RunError trace={trace} />
          <Facts facts={factsOf(trace)} />
          {trace.status === 'refused' ? null : (
            <Tabs
              label="The run"
              tabs={{ Steps: <Steps trace={trace} />, Content: <RunContent trace={trace} /> }}
            />
          )}
        </>
      )}
    </KnownAnswer>
  );
}

function RunError({ trace: { status, error, agent_id: agentId } }: { trace: TraceData }) {
  if (error === null) return null;
  return (
    <div class="problem">
      <p>{error.message}</p>
      <p class="faint">
        <code>{error.type}</code>
      </p>
      {status === 'refused' ? (
        <p>
          <RefusalAdvice code={error.type} agentId={agentId} />
        </p>
      ) : null}
    </div>
  );
}

function factsOf(trace: TraceData) {
  const { agent_id: agent, api_key_id: key, user_id: user, session_id: session } = trace;
  return {
    Status: <Status state={trace.status} />,
    Cost: <Cost trace={trace} />,
    Duration: milliseconds(trace.duration_ms),
    'First token': trace.time_to_first_token_ms === null ? null : milliseconds(trace.time_to_first_token_ms),
    Tokens: `${count(trace.input_tokens)} in, ${count(trace.output_tokens)} out`,
    Model: trace.response_model ?? (trace.request_model === '' ? '–' : trace.request_model),
    Provider: trace.provider,
    Agent: agent === null ? null : <AgentName id={agent} name={trace.agent_key} />,
    Key:
      key === null ? '–' : <Name id={key} name={trace.api_key_name} href={runsWith({ api_key_id: key })} />,
    API: trace.dialect ?? '–',
    Program: trace.client ?? '–',
    Channel: trace.channel,
    User: user === null ? '–' : <a href={runsWith({ user_id: user })}>{user}</a>,
    Session: session === null ? '–' : <a href={runsWith({ session_id: session })}>{session}</a>,
    Started: <Time at={trace.started_at} isExact />,
    Ended: <Time at={trace.ended_at} isExact otherwise="running" />,
    'Trace ID': <code>{trace.trace_id}</code>,
  };
}

function AgentName({ id, name }: { id: string; name: string | null }) {
  const href = may(usePerson(), { scope: 'agents.write' }) ? `/app/agents/${id}` : runsWith({ agent_id: id });
  return <Name id={id} name={name} href={href} />;
}

/** The list of runs of the last 30 days with a filter. */
function runsWith(filter: Record<string, string>): string {
  return `/app/traces?${new URLSearchParams({ period: '30d', ...filter }).toString()}`;
}

function Cost({
  trace: { cost_usd: cost, usage_estimated: isEstimated, own_key: isOwn },
}: {
  trace: TraceData;
}) {
  if (cost === null) return <>unpriced</>;
  return (
    <>
      <Money amount={cost} figure="cost_usd" />
      {isEstimated ? ', estimated' : null}
      {isOwn ? ', with your own provider key' : null}
    </>
  );
}

function Steps({ trace }: { trace: TraceData }) {
  const [isOpen, setOpen] = useState(false);
  const spans = trace.spans ?? [];
  if (spans.length === 0)
    return (
      <p class="faint">
        {trace.ended_at === null ? 'Steps appear when the run ends.' : 'The run has no step.'}
      </p>
    );
  return (
    <>
      <Waterfall trace={trace} spans={spans} />
      <details class="chart-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>Show as a table</summary>
        {isOpen ? (
          <DataTable
            caption="Steps in the order of their start"
            file={`steps-${trace.id}.csv`}
            columns={columns}
            rows={spans}
            keyOf={({ id: span }) => span}
            empty="The run has no step."
          />
        ) : null}
      </details>
    </>
  );
}

const costColumns = (
  [
    ['Input cost', 'input_usd'],
    ['Cached input cost', 'cached_input_usd'],
    ['Cache write cost', 'cache_write_usd'],
    ['Output cost', 'output_usd'],
    ['Other cost', 'other_usd'],
  ] as const
).map(([header, part]) => amountColumn(header, ({ cost_details: details }: Span) => details?.[part] ?? null));

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
  ...costColumns,
  { header: 'Error', cell: ({ error }) => error?.type ?? '', value: ({ error }) => error?.type ?? null },
];
