import type { Dimension } from '@gatehouse/contract/usage';
import { dayMs, hourMs } from '@gatehouse/kit/bounds';
import type { Period } from './period.ts';
import type { SummaryRequest, UsageFilter } from './summary.ts';

const sharedColumns = ['model', 'provider', 'channel', 'dialect', 'client'] as const;

/** The columns each kind of rows of settled days groups runs by: `hour` those of an hour, the others those of a day. */
export const settledKinds = {
  hour: sharedColumns,
  agent: ['agent_id', ...sharedColumns],
  api_key: ['api_key_id', ...sharedColumns],
  user: ['user_id'],
  session: ['session_id', 'user_id'],
  // Those of runs without groups have no key. Only days with groups have this kind.
  group: ['groups_sha256', 'user_id', ...sharedColumns],
} as const;
export type SettledKind = keyof typeof settledKinds;

/** The parts of the whole quarters of an hour of a period, each with its rows. */
export interface PeriodParts {
  /** The kind of rows for `settled`; null if `settled` is empty. */
  kind: SettledKind | null;
  settled: Period[];
  /** Read from the roll-ups of quarters of an hour. */
  others: Period[];
}

/** The columns needed by groups and filters; times need no column. */
const columnOf: Partial<Record<Dimension | keyof UsageFilter, string>> = {
  ...{ agent: 'agent_id', agentId: 'agent_id', model: 'model', provider: 'provider', channel: 'channel' },
  ...{ dialect: 'dialect', client: 'client', user: 'user_id', api_key: 'api_key_id', apiKeyId: 'api_key_id' },
  ...{ session: 'session_id', group: 'groups_sha256' },
};

/** The smallest kind of settled rows with everything a summary needs; null without one. */
export function kindFor({ groupBy, filter, figures, allTenants }: SummaryRequest): SettledKind | null {
  // An index finds the rows of one user sooner. Each tenant has settled days of its own.
  if (filter.user !== null || allTenants === true) return null;
  const filters = (Object.keys(filter) as (keyof UsageFilter)[]).filter((name) => filter[name] !== null);
  const needed = [...groupBy, ...filters].flatMap((name) => columnOf[name] ?? []);
  const kinds = Object.keys(settledKinds) as SettledKind[];
  const kind = kinds.find((name) =>
    needed.every((column) => settledKinds[name].some((dimension) => dimension === column)),
  );
  if (kind === undefined || (kind !== 'hour' && groupBy.includes('hour'))) return null;
  if (kind === 'group' && !needed.includes('groups_sha256')) return null;
  // Rows of API keys have no users.
  return kind === 'api_key' && figures !== 'costs' ? null : kind;
}

/** A settled day. Its rows, besides those of hours, end at `cut` if it is within the day. */
export interface SettledDay {
  day: Date;
  cut: Date | null;
}

/** The spans of time of the rows of a day: their starts, and the end of the day. */
function edgesOf({ day, cut }: SettledDay, kind: SettledKind | null): number[] {
  const start = day.getTime();
  if (kind === 'hour') return Array.from({ length: 25 }, (_, hour) => start + hour * hourMs);
  return [start, ...(cut === null ? [] : [cut.getTime()]), start + dayMs];
}

/**
 * Divides the whole quarters of an hour of a period. A row of a settled day is of an hour or, of the other kinds, of
 * the day up to its cut or from there on: other rows serve where it crosses the end of the period or one of `cuts`, at
 * which a group ends.
 */
export function divide(
  { from, to }: Period,
  kind: SettledKind | null,
  { days, cuts }: { days: readonly SettledDay[]; cuts: readonly Date[] },
): PeriodParts {
  const settled: Period[] = [];
  const ends = cuts.map(Number).toSorted((one, other) => one - other);
  let next = 0;
  for (const day of days) {
    const edges = edgesOf(day, kind);
    for (const [index, end] of edges.slice(1).entries()) {
      const start = edges[index] ?? end;
      while ((ends[next] ?? Infinity) <= start) next += 1;
      if (start < from.getTime() || end > to.getTime() || (ends[next] ?? Infinity) < end) continue;
      const last = settled.at(-1);
      if (last?.to.getTime() === start) last.to = new Date(end);
      else settled.push({ from: new Date(start), to: new Date(end) });
    }
  }
  return { kind: settled.length === 0 ? null : kind, settled, others: gapsBetween(settled, { from, to }) };
}

/** The rest of a period without `parts`, which are in order. */
function gapsBetween(parts: readonly Period[], { from, to }: Period): Period[] {
  const starts = [from, ...parts.map((part) => part.to)];
  const ends = [...parts.map((part) => part.from), to];
  return starts
    .map((start, index) => ({ from: start, to: ends[index] ?? to }))
    .filter((gap) => gap.from < gap.to);
}
