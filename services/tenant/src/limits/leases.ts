import type { Budget, Limits } from '@gatehouse/contract/keys';
import { picoOf } from '@gatehouse/kit/money';

/**
 * Limits and budgets (ADR 13). What is spent and held of them lies in the tenant's database; replicas
 * of chat lease slices and spend them without asking, so that no number of replicas passes a limit.
 */

export const resources = ['requests', 'tokens', 'concurrency', 'budget'] as const;
/** Requests and tokens of a minute, requests at a time, and pico-USD of a day or a month. */
export type Resource = (typeof resources)[number];

/** What 64 bits hold, which is what the wire has: nine million dollars. A larger budget counts as that. */
const mostPico = 2n ** 63n - 1n;

/** The limit of one resource; null where there is none. */
export function limitOf(
  { limits, budget }: { limits: Limits | null; budget: Budget | null },
  resource: Resource,
): bigint | null {
  if (resource === 'budget') {
    const pico = budget === null ? null : picoOf(budget.usd);
    return pico !== null && pico > mostPico ? mostPico : pico;
  }
  const count = {
    requests: limits?.requests_per_minute,
    tokens: limits?.tokens_per_minute,
    concurrency: limits?.max_concurrent,
  };
  const limit = count[resource];
  return typeof limit === 'number' ? BigInt(limit) : null;
}

/** Whether replicas hold it while they need it; what is not held is spent as it is leased. */
export function isHeld(resource: Resource): boolean {
  return resource === 'concurrency' || resource === 'budget';
}

/** A span of time, in milliseconds since the epoch, by the database's clock. */
export interface Window {
  start: number;
  /** Null where there is none, as for concurrency. */
  end: number | null;
}

/** What the row of a limit says of the window that it counts in. */
export interface CountedWindow {
  /** What replicas call it: when it began, or 0 when nothing was ever counted. */
  name: number;
  /** Null when the row was written by a release that did not keep them. */
  bounds: { start: number; end: number } | null;
}

/** The window of now, and what becomes of what was counted. */
export interface WindowMove {
  name: number;
  window: Window;
  /** `kept`: it is the same window. `zero`: a new one. `recount`: a new cut of time that has been spent in already. */
  used: 'kept' | 'zero' | 'recount';
}

/** A limit as it stands. */
export interface LimitUse {
  limit: bigint;
  /** The window of now, and what replicas call it. */
  window: Window;
  name: number;
  /** What is spent in it. */
  used: bigint;
  /** What other living replicas hold in it. */
  othersHold: bigint;
}

/** What a replica gives back, keeps and needs. */
export interface Ask {
  /** The window that `returned` and `holding` are of. */
  windowStart: number;
  /** Of requests and tokens: leased and not spent; negative where more was spent than leased. */
  returned: bigint;
  /** Of concurrency and budgets: everything that it needs to keep. */
  holding: bigint;
  /** Of each waiting request. */
  needs: readonly bigint[];
}

export interface Lease {
  window: Window;
  name: number;
  granted: bigint;
  /** What is left. */
  remaining: bigint;
  /** What is spent now. */
  used: bigint;
  /** What the replica holds now; 0 for requests and tokens, which are spent as they are leased. */
  hold: bigint;
}

/** A lease is good for this long at most, so that a lowered limit and a dead replica matter no longer. */
export const leaseMs = 2_000;

/** Limits up to this are leased one by one, as larger ones are when a slice would be of few requests. */
const smallLimit = 600n;
const fewRequests = 4n;
/** All replicas together hold an eighth of what is left beyond what they need. */
const sliceOf = 8n;

/** Grants what fits of the needs, and a slice on top for those to come. */
export function lease(resource: Resource, limitUse: LimitUse, ask: Ask, replicas: number): Lease {
  const { window, name } = limitUse;
  const held = isHeld(resource);
  const mine = ask.windowStart === name;
  const back = mine && !held ? ask.returned : 0n;
  const used = larger(0n, limitUse.used - back);
  const keep = mine && held ? ask.holding : 0n;
  const room = larger(0n, limitUse.limit - used - keep - limitUse.othersHold);
  const fitting = whatFits(room, ask.needs);
  const slice = sliceFor(limitUse.limit, room - fitting, ask.needs, replicas);
  const granted = fitting + slice;
  return {
    window,
    name,
    granted,
    remaining: room - granted,
    used: held ? used : used + granted,
    hold: held ? keep + granted : 0n,
  };
}

/** What is spent and held of the window of now. */
export function spent(limitUse: LimitUse): bigint {
  return limitUse.used + limitUse.othersHold;
}

/**
 * The window to count in, where `now` is the one that the clock and the settings imply. Time alone leads to windows that
 * begin when the counted one ends, or later. Windows never go back by time: a transaction that waited for its turn may
 * have read the clock before the last one. A window that overlaps the counted one is a new cut, because the period or
 * the time zone has changed: it keeps the name, so that what replicas hold and will settle counts in it (ADR 23).
 */
export function moveWindow(now: Window, counted: CountedWindow): WindowMove {
  const { name, bounds } = counted;
  const next = { name: now.start, window: now };
  if (now.end === null) return { ...next, used: 'kept' };
  if (name === 0) return { ...next, used: 'zero' };
  if (bounds === null)
    return { ...next, name: Math.max(name, now.start), used: now.start === name ? 'kept' : 'recount' };
  if (now.start >= bounds.end) return { ...next, used: 'zero' };
  if (now.end <= bounds.start) return { name, window: bounds, used: 'kept' };
  return { name, window: now, used: now.start === bounds.start ? 'kept' : 'recount' };
}

/** How long a lease of this window is good. */
export function validForMs(window: Window, now: number): number {
  return window.end === null ? leaseMs : Math.max(0, Math.min(leaseMs, window.end - now));
}

/** Percentages of a budget that are recorded when its use reaches them, once per window. */
export const thresholds = [50, 80, 100] as const;

/** The thresholds in percent that `used` has reached, above the highest one recorded already (`told`). */
export function thresholdsReached(used: bigint, limit: bigint, told: number): number[] {
  if (limit <= 0n) return [];
  return thresholds.filter((percent) => percent > told && used * 100n >= limit * BigInt(percent));
}

function whatFits(room: bigint, needs: readonly bigint[]): bigint {
  return needs.reduce((sum, need) => (sum + need <= room ? sum + need : sum), 0n);
}

function sliceFor(limit: bigint, room: bigint, needs: readonly bigint[], replicas: number): bigint {
  if (limit <= smallLimit || needs.length === 0) return 0n;
  const share = room / (sliceOf * BigInt(Math.max(1, replicas)));
  return share >= fewRequests * needs.reduce(larger) ? share : 0n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
