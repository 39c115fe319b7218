import type { Trace } from '@gatehouse/contract/traces';
import { Name } from './name.tsx';
import type { Column } from './table.tsx';
import { Time } from './time.tsx';

/** Columns of all lists of runs. */

export const startColumn: Column<Trace> = {
  header: 'Started',
  cell: ({ id, started_at: at }) => (
    <a href={`/app/traces/${id}`}>
      <Time at={at} isExact />
    </a>
  ),
};

export const modelColumn: Column<Trace> = {
  header: 'Model',
  cell: ({ request_model: name }) => <span class="line">{name === '' ? '–' : name}</span>,
};

export const agentColumn: Column<Trace> = {
  header: 'Agent',
  cell: ({ agent_id: id, agent_key: name }) =>
    id === null ? '–' : <Name id={id} name={name} href={`/app/agents/${id}`} />,
};

export const keyColumn: Column<Trace> = {
  header: 'Key',
  cell: ({ api_key_id: id, api_key_name: name }) => (id === null ? '–' : <Name id={id} name={name} />),
};

export const userColumn: Column<Trace> = {
  header: 'User',
  cell: ({ user_id: id }) => <span class="line">{id ?? '–'}</span>,
};
