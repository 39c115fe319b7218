import type { Dimension, GroupKey } from '@gatehouse/contract/usage';
import { usdOf } from '@gatehouse/kit/money';

/** In pico-USD, with the explaining numbers of requests. */
const amounts = [
  ...(['cost_pico', 'unpriced_requests', 'estimated_requests', 'estimated_cost_pico'] as const),
  ...(['own_key_requests', 'own_key_cost_pico'] as const),
] as const;

/** The measures in summaries of costs. */
export const costMeasures = ['requests', ...amounts] as const;

/** The measures of an export, in the order of its rows. */
export const exportedMeasures = [
  'requests',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  ...amounts,
] as const;
export type ExportedMeasure = (typeof exportedMeasures)[number];

/** A group of runs. */
export interface CostRow {
  labels: GroupKey;
  /** The start and end of its day within the period, and the start and end of its month; empty unless requested. */
  bounds: readonly (string | null)[];
  sums: Record<ExportedMeasure, string>;
}

/** All groups of a period, as at one moment. */
export interface CostExport {
  count: number;
  /** Every run ended before this time is counted. */
  asOf: Date;
  pages: AsyncGenerator<CostRow[], void>;
}

/** Facts common to all rows of an export. Rows of all tenants name theirs. */
export interface ExportFacts {
  tenantId: string | null;
  tenantSlug: string | null;
  timezone: string;
  asOf: Date;
}

export type Column = readonly [name: string, cell: (row: CostRow, facts: ExportFacts) => string | null];

export const count =
  (measure: ExportedMeasure) =>
  ({ sums }: CostRow): string =>
    sums[measure];

export const amount =
  (measure: 'cost_pico' | 'estimated_cost_pico' | 'own_key_cost_pico') =>
  ({ sums }: CostRow): string =>
    usdOf(BigInt(sums[measure]));

/** The columns of an export with one row for each group. */
export function costColumns(groupBy: readonly Dimension[]): readonly Column[] {
  return [
    ...groupBy.flatMap(columnsOf).map((name): Column => [name, ({ labels }) => labels[name] ?? null]),
    ['requests', count('requests')],
    ['input_tokens', count('input_tokens')],
    ['cached_input_tokens', count('cached_input_tokens')],
    ['output_tokens', count('output_tokens')],
    ['reasoning_tokens', count('reasoning_tokens')],
    ['total_usd', amount('cost_pico')],
    ['unpriced_requests', count('unpriced_requests')],
    ['estimated_requests', count('estimated_requests')],
    ['estimated_usd', amount('estimated_cost_pico')],
    ['own_key_requests', count('own_key_requests')],
    ['own_key_usd', amount('own_key_cost_pico')],
    ['currency', () => 'USD'],
    ['timezone', (_row, { timezone }) => timezone],
    ['as_of', (_row, { asOf }) => asOf.toISOString()],
  ];
}

/** The columns of a group: its label and, for a tenant, its names. */
function columnsOf(dimension: Dimension): (keyof GroupKey)[] {
  return dimension === 'tenant' ? [dimension, 'tenant_slug', 'tenant_name'] : [dimension];
}
