import type { Queryable } from '@gatehouse/pg/pool';
import { summaryValues } from './row-pg-store.ts';
import { readParts } from './rolled-days-pg-store.ts';
import { summaryStatement, type Shows } from './summary-pg-store.ts';
import type { SummaryRequest } from './summary.ts';
import type { Figure } from './measure-pg-store.ts';

type NumberText = string | null;

/** Has the summed measures. */
export type SumRow = Partial<Record<Figure, NumberText>> & {
  labels: (string | null)[] | null;
  unique_users: NumberText;
  /** The number of groups. */
  found: NumberText;
  unpriced_models: string[] | null;
  as_of: Date | null;
};

export interface Sums {
  total: SumRow | undefined;
  groups: SumRow[];
  /** Whether some groups are missing because their labels are too long for an answer. */
  isCut: boolean;
}

/** The total and the first groups of a summary, as of the snapshot of `db`. */
export async function readSums(
  db: Queryable,
  tenantId: string | null,
  request: SummaryRequest,
  shows: Shows,
): Promise<Sums> {
  const parts = await readParts(db, tenantId, request);
  const text = summaryStatement(request, parts, shows);
  const rows = await db.all<SumRow>(text, summaryValues(tenantId, request, parts));
  const groups = rows.filter(({ labels }) => labels !== null);
  return {
    total: rows.find(({ labels }) => labels === null),
    groups,
    isCut: groups.length < Number(groups[0]?.found ?? 0),
  };
}
