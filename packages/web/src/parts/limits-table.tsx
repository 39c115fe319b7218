import type { LimitState } from '@gatehouse/contract/limits';
import { amount } from '../format/amounts.ts';
import { Table, type Column } from './table.tsx';
import { Time } from './time.tsx';

const names: Record<LimitState['resource'], string> = {
  requests: 'Requests',
  tokens: 'Tokens',
  concurrency: 'Requests at once',
  budget: 'Budget',
  memory_documents: 'Documents in memory',
  memory_bytes: 'Bytes in memory',
  memory_entities: 'Entities in memory',
};

const columns: readonly Column<LimitState>[] = [
  {
    header: 'Limit',
    cell: ({ resource, window }) => names[resource] + (window === null ? '' : ` a ${window}`),
  },
  { header: 'Used', cell: ({ used }) => amount(used), isNumber: true },
  { header: 'Reserved', cell: ({ reserved }) => amount(reserved), isNumber: true },
  { header: 'Remaining', cell: ({ remaining }) => amount(remaining), isNumber: true },
  { header: 'At most', cell: ({ limit }) => amount(limit), isNumber: true },
  { header: 'Share', cell: (state) => <Share state={state} /> },
  { header: 'Starts over', cell: ({ resets_at: at }) => <Time at={at} otherwise="never" /> },
];

/** The limits of the key, each the one that stops it first: the tenant's or its own. */
export function LimitsTable({ limits }: { limits: readonly LimitState[] }) {
  return (
    <Table
      caption="Limits that apply to you"
      columns={columns}
      rows={limits}
      keyOf={({ resource, window }) => `${resource} ${window ?? ''}`}
      empty="Nothing limits you."
    />
  );
}

function Share({ state }: { state: LimitState }) {
  const { used, limit, resource } = state;
  if (used === null) return null;
  return <meter min={0} max={Number(limit)} value={Number(used)} aria-label={`${names[resource]} used`} />;
}
