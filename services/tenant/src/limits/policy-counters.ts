import { dayMs, hourMs } from '@gatehouse/kit/bounds';
import type { SetResource, Window } from './leases.ts';

/**
 * Counters of policies. A window is fixed when it begins: it keeps its end, and another time zone or a changed policy
 * applies to the next one. A reset begins a new one.
 */

/** Hours are of UTC; weeks begin on Monday. The other windows begin in the tenant's time zone. */
export const periods = ['hour', 'day', 'week', 'month', 'quarter', 'year', 'total'] as const;
export type Period = (typeof periods)[number];

/** A counter of a policy as a whole, or of one value. */
export interface PolicyCounter {
  policyId: string;
  /** As it is shown, but the id of a group. */
  value: string;
  /** The user named by the value, or its owner; null without one. */
  userId: string | null;
  /** The ids of this user's groups. */
  groups: readonly string[];
  /** The key of the request, which opens the counter if it is new; null for runs of memory, webhooks and channels. */
  apiKeyId: string | null;
  /** For the budget of a session, in pico-USD: sets or lowers it. */
  sessionBudget?: bigint;
}

/** The part of a policy for its counters. */
export interface CountedPolicy {
  /** The amount of each resource for this counter; null without a limit. */
  limits: Readonly<Record<SetResource, bigint | null>>;
  /** Whether its budget is charged, and refuses nothing. */
  chargesOnly: boolean;
  /** Period of its budget. */
  period: Period;
  /** Whether its counters end a day after their last use. */
  isPerSession: boolean;
  /** In milliseconds since the epoch. */
  countsSince: number;
}

/** The windows at one moment of the database's clock. */
export interface Calendar {
  now: number;
  minute: Window;
  periods: Readonly<Record<Period, Window>>;
}

/** The newest row of a counter and a resource. */
export interface CounterRow {
  id: string;
  resource: SetResource;
  window: Window;
  used: bigint;
  publishedPercent: number;
  removableAt: number;
}

/** The window to count in, and whether it is a new one. */
export interface CounterWindow {
  window: Window;
  isNew: boolean;
}

/** The window to count in. `row`: the newest one; null without any. */
export function counterWindow(
  { period, countsSince }: Pick<CountedPolicy, 'period' | 'countsSince'>,
  {
    resource,
    calendar,
    row,
  }: { resource: SetResource; calendar: Calendar; row: Pick<CounterRow, 'window'> | null },
): CounterWindow {
  if (resource === 'concurrency') return { window: { start: 0, end: null }, isNew: row === null };
  const current = resource === 'budget' ? calendar.periods[period] : calendar.minute;
  const { window } = row ?? { window: null };
  const since = Math.min(countsSince, calendar.now);
  if (window === null) return { window: { ...current, start: Math.max(current.start, since) }, isNew: true };
  if (window.start < since)
    return { window: { ...current, start: Math.max(current.start, since) }, isNew: true };
  // After waiting for a lock, the clock may be of before the row's window.
  if (window.end === null || calendar.now < window.end) return { window, isNew: false };
  return { window: { ...current, start: Math.max(current.start, window.end) }, isNew: true };
}

/** So long a window of a budget stays after its end, for late settlements. */
export const settledWithinMs = 2 * dayMs;
/** A counter without an end is removed after so long without use; sessions are. */
const unusedMs = dayMs;
/** The time of the removal moves in steps: each step is a write. */
const stepMs = hourMs;

/** The time at which a row may be removed; Infinity for never. */
export function removableAt(
  { isPerSession }: Pick<CountedPolicy, 'isPerSession'>,
  { resource, window, now }: { resource: SetResource; window: Window; now: number },
): number {
  const unused = now + unusedMs + stepMs;
  if (resource !== 'budget') return resource === 'concurrency' ? unused : now + 2 * stepMs;
  const ended = window.end === null ? Infinity : window.end + settledWithinMs;
  return isPerSession ? Math.min(ended, unused) : ended;
}

/** Whether the time of a row's removal has to be moved. */
export function isDueToMove(stored: number, next: number): boolean {
  return next - stored >= stepMs;
}
