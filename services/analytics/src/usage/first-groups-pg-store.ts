import { monotonicMs } from '@gatehouse/kit/clock';
import { queryTimedOut } from '@gatehouse/pg/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import { endOfSlice, firstTimes, firstValues, type FirstKeys } from './first-groups.ts';
import { isSpan } from './key-pg-store.ts';
import { kindFor } from './period-parts.ts';
import { readParts, startsStatement } from './rolled-days-pg-store.ts';
import { readSums, type SumRow, type Sums } from './sums-pg-store.ts';
import type { SummaryRequest } from './summary.ts';

/** Adding up the rows of so many runs takes less time than finding out which of them the first groups need. */
const fewRuns = 50_000;
const longMs = 2 * 86_400_000;
/** The runs read for each wanted group, until it is known how many runs a group has. */
const runsPerGroup = 5;
/** The share of further runs for groups with more of them than those so far. */
const spare = 1.2;
/** No statement for further groups begins later, so a summary ends like one with a single statement. */
const longestMs = 5_000;

/**
 * The first groups of a summary with so many `requests`, as of the snapshot of `db`. A tenant with a thousand agents and a
 * million runs has 775,000 pairs of agent and user, which took five seconds; the runs of the first four agents have
 * 10,000 of them.
 */
export async function readFirstGroups(
  db: Queryable,
  tenantId: string | null,
  request: SummaryRequest,
  { most, requests, mostMs = longestMs }: { most: number; requests: number; mostMs?: number },
): Promise<Omit<Sums, 'total'>> {
  const until = monotonicMs() + mostMs;
  if (requests <= fewRuns || !(await isLong(db, tenantId, request)))
    return readSums(db, tenantId, request, { totals: false, groups: most });
  const keys = await readFirstKeys(db, tenantId, request, { most, requests });
  const groups: SumRow[] = [];
  let isCut = false;
  let runs = 0;
  for (let from = 0; from < keys.requests.length && groups.length < most && !isCut;) {
    if (monotonicMs() > until) throw queryTimedOut(new Error(`the first groups took more than ${mostMs} ms`));
    const wanted = most - groups.length;
    const perGroup = groups.length === 0 ? runsPerGroup : (runs / groups.length) * spare;
    const to = endOfSlice(keys.requests, from, wanted * perGroup);
    const slice = await readSums(db, tenantId, keys.between(from, to), { totals: false, groups: wanted });
    groups.push(...slice.groups);
    ({ isCut } = slice);
    runs += slice.groups.reduce((sum, group) => sum + Number(group.requests), 0);
    from = to;
  }
  return { groups, isCut };
}

/**
 * Whether to read for some values of the first key after others: times, with an index for their rows, or values with
 * sums of days, where groups need quarters of an hour.
 */
async function isLong(db: Queryable, tenantId: string | null, request: SummaryRequest): Promise<boolean> {
  const [first, ...more] = request.groupBy;
  if (first === undefined || more.length === 0) return false;
  if (isSpan(first)) return true;
  if (kindFor({ ...request, groupBy: [first], figures: 'costs' }) === null) return false;
  const { others } = await readParts(db, tenantId, request);
  return others.reduce((sum, { from, to }) => sum + to.getTime() - from.getTime(), 0) > longMs;
}

async function readFirstKeys(
  db: Queryable,
  tenantId: string | null,
  request: SummaryRequest,
  { most, requests }: { most: number; requests: number },
): Promise<FirstKeys> {
  const { period, timezone, groupBy } = request;
  const first = groupBy.slice(0, 1);
  const [span] = first.filter(isSpan);
  if (span !== undefined) {
    const values = [period.from, period.to, timezone];
    const { starts } = await db.one<{ starts: Date[] }>(startsStatement(span), values);
    return firstTimes(
      request,
      starts.filter((start) => start < period.to),
      requests,
    );
  }
  const withRefused = request.figures !== 'costs' && { withRefused: true as const };
  const firstGroups = { ...request, groupBy: first, figures: 'costs' as const, ...withRefused };
  const { groups } = await readSums(db, tenantId, firstGroups, { totals: false, groups: most });
  return firstValues(
    request,
    groups.map(({ labels, requests: count }) => ({ value: labels?.[0] ?? null, requests: Number(count) })),
  );
}
