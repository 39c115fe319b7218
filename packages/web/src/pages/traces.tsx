import type { Trace } from '@gatehouse/contract/traces';
import { useFollowedTraces } from '../api/use-followed-traces.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { Choice } from '../parts/fields.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { ListExport } from '../parts/list-export.tsx';
import { Money } from '../parts/money.tsx';
import { Name } from '../parts/name.tsx';
import { Problem } from '../parts/problem.tsx';
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

/** Runs of the last hour and from now on, as they start and end. */
export function Traces() {
  const { query } = useView();
  const [status, setStatus] = useParameter('status');
  const filters = {
    status,
    user_id: query.get('user_id') ?? '',
    session_id: query.get('session_id') ?? '',
    agent_id: query.get('agent_id') ?? '',
  };
  const { traces, error, isCurrent } = useFollowedTraces(filters);
  return (
    <>
      <div class="choices">
        <Choice label="Status" value={status} onChange={setStatus} options={statuses} />
        <FilterField label="User" name="user_id" />
        <FilterField label="Session" name="session_id" />
        <FilterField label="Agent" name="agent_id" hint="Agent ID" />
      </div>
      <p class="faint" role="status">
        {isCurrent ? 'Live: runs appear as they start and end.' : 'Loading runs of the last hour…'}
      </p>
      <Problem error={error} />
      <Table
        caption="Runs, newest first"
        columns={columns}
        rows={traces}
        keyOf={({ id }) => id}
        empty="No run in the last hour. Send a request with a key, or use the playground."
      />
      {traces.length === 0 ? null : (
        <ListExport name="GET /v1/traces/follow" input={{ query: filters }} caption="Runs of the last hour" />
      )}
    </>
  );
}

const columns: readonly Column<Trace>[] = [
  {
    header: 'Started',
    cell: ({ id, started_at: at }) => <a href={`/app/traces/${id}`}>{<Time at={at} isExact />}</a>,
  },
  { header: 'Status', cell: ({ status }) => <Status state={status} /> },
  { header: 'Model', cell: ({ request_model: model }) => model },
  {
    header: 'Agent',
    cell: ({ agent_id: id, agent_key: name }) =>
      id === null ? '–' : <Name id={id} name={name} href={`/app/agents/${id}`} />,
  },
  {
    header: 'Key',
    cell: ({ api_key_id: id, api_key_name: name }) => (id === null ? '–' : <Name id={id} name={name} />),
  },
  { header: 'User', cell: ({ user_id: user }) => user ?? '–' },
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
