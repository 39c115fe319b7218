import type { Trace } from '@gatehouse/contract/traces';
import { useFollowedTraces } from '../api/use-followed-traces.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { periods } from '../format/period.ts';
import { Choice } from '../parts/fields.tsx';
import { FilterChips } from '../parts/filter-chips.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { ListExport } from '../parts/list-export.tsx';
import { Money } from '../parts/money.tsx';
import { Name } from '../parts/name.tsx';
import { usePeriod } from '../parts/period-choice.tsx';
import { Problem } from '../parts/problem.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useParameter, useView } from '../shell/location.tsx';

const statuses = {
  '': 'any',
  running: 'running',
  ok: 'ok',
  error: 'error',
  cancelled: 'cancelled',
  interrupted: 'interrupted',
};

/** Filters of links, which have no field of their own. */
const linked = {
  agent_id: 'Agent',
  api_key_id: 'Key',
  session_id: 'Session',
  provider: 'Provider',
  channel: 'Channel',
  error_code: 'Error',
};

/** Runs as they start and end, or those of a period. */
export function Traces() {
  const [period, setPeriod] = useParameter('period');
  const [status, setStatus] = useParameter('status');
  return (
    <>
      <div class="choices">
        <Choice<string>
          label="Period"
          value={period}
          onChange={setPeriod}
          options={{ '': 'Live: the last hour', ...periods }}
        />
        <Choice<string> label="Status" value={status} onChange={setStatus} options={statuses} />
        <FilterField label="User" name="user_id" />
        {period === '' ? null : (
          <>
            <FilterField label="Model" name="model" />
            <FilterField label="Search" name="q" hint="IDs and names; texts in up to 7 days" />
          </>
        )}
      </div>
      <FilterChips filters={linked} />
      {period === '' ? <LiveRuns /> : <RunsOfPeriod />}
    </>
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
  const filters = useFilters(['status', 'user_id', 'session_id', 'agent_id']);
  const { traces, error, isCurrent } = useFollowedTraces(filters);
  return (
    <>
      <p class="faint" role="status">
        {isCurrent ? 'Live: runs appear as they start and end.' : 'Loading runs of the last hour…'}
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

function RunsOfPeriod() {
  const { from, to } = usePeriod().range;
  const filters = useFilters([
    ...(['status', 'user_id', 'model', 'q', 'agent_id', 'api_key_id'] as const),
    ...(['session_id', 'provider', 'channel', 'error_code'] as const),
  ]);
  return (
    <ResourceList
      name="GET /v1/traces"
      input={{ query: { ...filters, from, to } }}
      caption="Runs"
      columns={() => columns}
      sorts={{ Started: 'started_at', Cost: 'cost', Duration: 'duration' }}
      keyOf={({ id }) => id}
      empty="No run of this period matches. Choose a longer one, or fewer filters."
    />
  );
}

const columns: readonly Column<Trace>[] = [
  {
    header: 'Started',
    cell: ({ id, started_at: at }) => (
      <a href={`/app/traces/${id}`}>
        <Time at={at} isExact />
      </a>
    ),
  },
  { header: 'Status', cell: ({ status }) => <Status state={status} /> },
  { header: 'Model', cell: ({ request_model: model }) => <span class="line">{model}</span> },
  {
    header: 'Agent',
    cell: ({ agent_id: id, agent_key: name }) =>
      id === null ? '–' : <Name id={id} name={name} href={`/app/agents/${id}`} />,
  },
  {
    header: 'Key',
    cell: ({ api_key_id: id, api_key_name: name }) => (id === null ? '–' : <Name id={id} name={name} />),
  },
  { header: 'User', cell: ({ user_id: user }) => <span class="line">{user ?? '–'}</span> },
  { header: 'Channel', cell: ({ channel }) => channel },
  { header: 'Tokens in', cell: ({ input_tokens: tokens }) => count(tokens), isNumber: true },
  { header: 'Tokens out', cell: ({ output_tokens: tokens }) => count(tokens), isNumber: true },
  { header: 'Duration', cell: ({ duration_ms: duration }) => milliseconds(duration), isNumber: true },
  {
    header: 'Cost',
    cell: ({ cost_usd: cost }) => (cost === null ? '–' : <Money amount={cost} />),
    isNumber: true,
  },
];
