import type { LimitState } from '@gatehouse/contract/limits';
import { count } from '../format/amounts.ts';
import { policyOfLimit } from '../format/limits.ts';
import { textColumn, timeColumn } from './columns.tsx';
import { Money } from './money.tsx';
import { DataTable, type DataColumn } from './data-table.tsx';

const names: Record<LimitState['resource'], string> = {
  requests: 'Requests',
  tokens: 'Tokens',
  concurrency: 'Concurrency',
  budget: 'Budget',
  memory_documents: 'Memory documents',
  memory_bytes: 'Memory bytes',
  memory_entities: 'Memory entities',
};

const columns: readonly DataColumn<LimitState>[] = [
  textColumn('Limit', ({ resource, window }) => names[resource] + windowText(window)),
  textColumn('Policy', policyOfLimit),
  amountColumn('Used', ({ used }) => used),
  amountColumn('Reserved', ({ reserved }) => reserved),
  amountColumn('Remaining', ({ remaining }) => remaining),
  amountColumn('Maximum', ({ limit }) => limit),
  { header: 'Share', cell: (state) => <Share state={state} />, value: null },
  timeColumn('Resets', ({ resets_at: at }) => at, 'never'),
];

function windowText(window: LimitState['window']): string {
  if (window === null) return '';
  return window === 'total' ? ' in total' : ` per ${window}`;
}

function amountColumn(
  header: string,
  figureOf: (state: LimitState) => number | string | null,
): DataColumn<LimitState> {
  return { header, cell: (state) => <Amount figure={figureOf(state)} />, value: figureOf, isNumber: true };
}

/** An amount of a limit: money is text, all else a number. */
function Amount({ figure }: { figure: number | string | null }) {
  if (typeof figure === 'string') return <Money amount={figure} />;
  return figure === null ? 'unknown' : count(figure);
}

/** The limits of the key, each the first one to stop it: the tenant's, its own or a policy's. */
export function LimitsTable({ limits }: { limits: readonly LimitState[] }) {
  return (
    <DataTable
      caption="Limits"
      file="limits.csv"
      columns={columns}
      rows={limits}
      keyOf={({ resource, window }) => `${resource} ${window ?? ''}`}
      empty="No limit applies to you."
    />
  );
}

function Share({ state }: { state: LimitState }) {
  const { used, limit, resource } = state;
  if (used === null) return null;
  return <meter min={0} max={Number(limit)} value={Number(used)} aria-label={`${names[resource]} used`} />;
}
