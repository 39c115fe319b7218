import type { Trace } from '@gatehouse/contract/traces';
import { useFollowedTraces } from '../api/use-followed-traces.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { periodOptions } from '../format/period.ts';
import { Choice } from '../parts/fields.tsx';
import { FilterChips } from '../parts/filter-chips.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { ListExport } from '../parts/list-export.tsx';
import { Money } from '../parts/money.tsx';
import { usePeriod, type Period } from '../parts/period-choice.tsx';
import { Problem } from '../parts/problem.tsx';
import { RefusalAdvice } from '../parts/refusal-advice.tsx';
import { RefusedByCode } from '../parts/refused-by-code.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { agentColumn, keyColumn, modelColumn, startColumn, userColumn } from '../parts/run-columns.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { urlWith, useParameter, useView } from '../shell/location.tsx';

const statuses = {
  '': 'any',
  running: 'running',
  ok: 'ok',
  error: 'error',
  cancelled: 'cancelled',
  interrupted: 'interrupted',
  blocked: 'blocked',
  refused: 'refused',
};

/** Filters of runs as they come, and of runs of a period. */
const liveFilters = ['status', 'user_id', 'session_id', 'agent_id', 'channel'] as const;
/** Filters of runs of a period alone. */
const periodFilters = [
  ...(['model', 'q', 'api_key_id', 'provider', 'dialect'] as const),
  ...(['error_code', 'min_cost_usd', 'min_duration_ms'] as const),
] as const;
/** Filters of counts of refused requests. */
const countFilters = ['model', 'api_key_id', 'user_id', 'agent_id', 'channel'] as const;

/** Filters as chips: those of links, and those behind "More filters". */
const chips = {
  agent_id: 'Agent',
  api_key_id: 'Key',
  session_id: 'Session',
  provider: 'Provider',
  channel: 'Channel',
  dialect: 'API',
  error_code: 'Error',
  min_cost_usd: 'Cost from',
  min_duration_ms: 'Duration from',
};

/** Runs as they start and end, those of a period, or refused requests. */
export function Traces() {
  const { path, query, go } = useView();
  const [status, setStatus] = useParameter('status');
  const period = usePeriod();
  const isLive =
    !query.has('period') && status !== 'refused' && periodFilters.every((name) => !query.has(name));
  const setPeriod = (name: string): void => {
    const changes: Record<string, string> = { period: name, cursor: '' };
    if (name === '') for (const filter of periodFilters) changes[filter] = '';
    if (name === '' && status === 'refused') changes['status'] = '';
    go(urlWith(path, query, changes));
  };
  return (
    <>
      <div class="choices">
        <Choice<string>
          label="Period"
          value={isLive ? '' : period.name}
          onChange={setPeriod}
          options={{ '': 'Live: the last hour', ...periodOptions(period.name) }}
        />
        <Choice<string> label="Status" value={status} onChange={setStatus} options={statuses} />
        <FilterField label="User" name="user_id" />
        {isLive ? null : (
          <>
            <FilterField label="Model" name="model" />
            <FilterField label="Search" name="q" hint="IDs, names; texts in 7 days" />
          </>
        )}
      </div>
      {isLive ? null : <MoreFilters />}
      <FilterChips filters={chips} />
      {isLive ? <LiveRuns /> : <RunsOfPeriod period={period} isRefused={status === 'refused'} />}
    </>
  );
}

function MoreFilters() {
  return (
    <details class="more">
      <summary>More filters</summary>
      <div class="choices">
        <FilterField label="Error code" name="error_code" />
        <FilterField label="Channel" name="channel" />
        <FilterField label="Cost from, in USD" name="min_cost_usd" />
        <FilterField label="Duration from, in ms" name="min_duration_ms" />
      </div>
    </details>
  );
}

/** The filters in the address. */
function useFilters<Field extends string>(names: readonly Field[]): Record<Field, string> {
  const { query } = useView();
  const entries = names.map((name) => [name, query.get(name) ?? ''] as const);
  // The entries have each name.
  return Object.fromEntries(entries) as Record<Field, string>;
}

function LiveRuns() {
  const filters = useFilters(liveFilters);
  const { traces, error, isCurrent } = useFollowedTraces(filters);
  return (
    <>
      <p class="faint" role="status">
        {error !== null
          ? 'Not live: the next try is in some seconds.'
          : isCurrent
            ? 'Live: runs appear as they start and end.'
            : 'Loading runs of the last hour…'}
      </p>
      <Problem error={error} />
      <Table
        caption="Runs, newest first"
        columns={columns}
        rows={traces}
        keyOf={({ id }) => id}
        empty="No run in the last hour. Choose a period, send a request with a key, or use the playground."
      />
      {traces.length === 0 ? null : (
        <ListExport name="GET /v1/traces/follow" input={{ query: filters }} caption="Runs of the last hour" />
      )}
    </>
  );
}

function RunsOfPeriod({ period, isRefused }: { period: Period; isRefused: boolean }) {
  const { from, to } = period.range;
  const filters = useFilters([...liveFilters, ...periodFilters]);
  const forCounts = useFilters(countFilters);
  const input = { query: { ...filters, from, to } };
  if (isRefused)
    return (
      <>
        {filters.error_code === '' ? <RefusedByCode period={period} filters={forCounts} /> : null}
        <ResourceList
          name="GET /v1/traces"
          input={input}
          caption="Refused requests, newest first"
          columns={() => refusedColumns}
          keyOf={({ id }) => id}
          empty="No refused request of this period matches. Requests appear here when they are answered 4xx before any provider call."
        />
      </>
    );
  return (
    <ResourceList
      name="GET /v1/traces"
      input={input}
      caption="Runs"
      columns={() => columns}
      sorts={{ Started: 'started_at', Cost: 'cost', Duration: 'duration' }}
      keyOf={({ id }) => id}
      empty="No run of this period matches. Choose a longer one, or fewer filters."
    />
  );
}

const columns: readonly Column<Trace>[] = [
  startColumn,
  { header: 'Status', cell: ({ status }) => <Status state={status} /> },
  ...[modelColumn, agentColumn, userColumn],
  { header: 'Duration', cell: ({ duration_ms: duration }) => milliseconds(duration), isNumber: true },
  {
    header: 'Cost',
    cell: ({ cost_usd: cost }) => (cost === null ? '–' : <Money amount={cost} />),
    isNumber: true,
  },
  { header: 'Tokens in', cell: ({ input_tokens: tokens }) => count(tokens), isNumber: true },
  { header: 'Tokens out', cell: ({ output_tokens: tokens }) => count(tokens), isNumber: true },
  keyColumn,
  { header: 'Channel', cell: ({ channel }) => channel },
];

const refusedColumns: readonly Column<Trace>[] = [
  startColumn,
  { header: 'Code', cell: ({ error }) => <code>{error?.type ?? ''}</code> },
  {
    header: 'Message and next step',
    cell: ({ error, agent_id: id }) => (
      <div class="reason">
        {error?.message}
        <div class="faint">
          <RefusalAdvice code={error?.type ?? ''} agentId={id} />
        </div>
      </div>
    ),
  },
  ...[modelColumn, keyColumn, agentColumn, userColumn],
  { header: 'Program', cell: ({ client }) => client ?? '–' },
];
