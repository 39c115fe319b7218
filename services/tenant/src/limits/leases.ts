import type { Budget, Limits } from '@gatehouse/contract/keys';
import { cappedPico, picoOf } from '@gatehouse/kit/money';
import { leaseMs } from '../bounds.ts';

/**
 * Limits and budgets (ADR 13). The tenant service's database stores spent and held amounts. Replicas of chat lease
 * slices of a limit and spend them without another call: all replicas together stay within the limit.
 */

/** Resources limited by settings. */
export const setResources = ['requests', 'tokens', 'concurrency', 'budget'] as const;
/** Requests and tokens per minute, concurrent requests, and pico-USD per day or month. */
export type SetResource = (typeof setResources)[number];

/** With counts of tokens per minute, which each key and each tenant has a fixed limit of. */
export const resources = [...setResources, 'counts'] as const;
export type Resource = (typeof resources)[number];

/** A key of maps by limit. */
export function limitName({ subjectId, resource }: { subjectId: string; resource: Resource }): string {
  return `${subjectId} ${resource}`;
}

/** A resource's limit in the settings; null without one. */
export function limitOf(
  { limits, budget }: { limits: Limits | null; budget: Budget | null },
  resource: SetResource,
): bigint | null {
  if (resource === 'budget') {
    // A larger budget is cut to what the RPC can name.
    return budget === null ? null : cappedPico(picoOf(budget.usd));
  }
  const count = {
    requests: limits?.requests_per_minute,
    tokens: limits?.tokens_per_minute,
    concurrency: limits?.max_concurrent,
  };
  const limit = count[resource];
  return typeof limit === 'number' ? BigInt(limit) : null;
}

/** Whether replicas hold the resource while they need it. Other resources count as spent once leased. */
export function isHeld(resource: Resource): boolean {
  return resource === 'concurrency' || resource === 'budget';
}

/** A span of time, in milliseconds since the epoch, by the database's clock. */
export interface Window {
  start: number;
  /** Null for a window without an end, as for concurrency. */
  end: number | null;
}

/** The counted window in a limit's row. */
export interface CountedWindow {
  /** The replicas' name for the window: its first start, or 0 before the first count. */
  name: number;
  /** Null when an earlier release wrote the row without them. */
  bounds: { start: number; end: number } | null;
}

/** The current window, and what happens to the amount counted so far. */
export interface WindowMove {
  name: number;
  window: Window;
  /** `kept`: the same window. `zero`: a new window. `recount`: a new window over time with earlier spending. */
  used: 'kept' | 'zero' | 'recount';
}

/** The current use of a limit. */
export interface LimitUse {
  limit: bigint;
  /** The current window; `name` is the replicas' name for it. */
  window: Window;
  name: number;
  /** The amount spent in the window. */
  used: bigint;
  /** The amount held by other live replicas in the window. */
  othersHold: bigint;
  /** The part of it held by requests under way. The rest is leased in advance. */
  inUse: bigint;
}

/** Amounts of a limit returned and kept by a replica. */
export interface Ask {
  /** The window of `returned` and `holding`. */
  windowStart: number;
  /** For requests, tokens and counts: leased and not spent; negative when more was spent than leased. */
  returned: bigint;
  /** For concurrency and budgets: everything that the replica needs to keep. */
  holding: bigint;
}

/** The needs of a waiting request, which are granted together or not at all. `ask`: the index of the limit. */
export type Demand = readonly { ask: number; amount: bigint }[];

/** A limit in a call for leases. */
export interface AskedLimit {
  resource: Resource;
  limitUse: LimitUse;
  ask: Ask;
  /** Whether a slice may be leased for later requests. False for a budget of a session, which each request may lower. */
  inAdvance: boolean;
  /** Whether nothing is reserved, since no amount is refused. */
  chargesOnly: boolean;
}

export interface Lease {
  window: Window;
  name: number;
  granted: bigint;
  /** The remaining amount. */
  remaining: bigint;
  /** The amount spent so far. */
  used: bigint;
  /** The replica's amount after the lease; 0 for requests, tokens and counts, which count as spent once leased. */
  hold: bigint;
  /** The part of it leased in advance. */
  spare: bigint;
}

/** Limits up to this are leased per request, and so are larger ones when a slice would cover few requests. */
const smallLimit = 600n;
const fewRequests = 4n;
/** All replicas together hold at most an eighth of the remainder in advance. */
const sliceOf = 8n;
/** Each replica has a 64th of a large limit of requests at once without a lease. */
const unleasedShare = 64n;

/** A limit while demands are granted. */
interface OpenLimit extends AskedLimit {
  used: bigint;
  keep: bigint;
  /** The amount not granted yet. */
  room: bigint;
  /** Needs of the granted demands. */
  needs: bigint[];
}

/**
 * Grants the fitting demands in their order, each with all of its needs or nothing, and a slice of their limits in
 * advance for later requests. Null where nothing is limited.
 */
export function lease(
  requested: readonly (AskedLimit | null)[],
  demands: readonly Demand[],
  replicas: number,
): (Lease | null)[] {
  const limits = requested.map((limit) => (limit === null ? null : openLimit(limit)));
  for (const demand of demands) grantDemand(limits, demand);
  return limits.map((limit) => (limit === null ? null : leaseOf(limit, replicas)));
}

function openLimit({ resource, limitUse, ask, ...options }: AskedLimit): OpenLimit {
  const held = isHeld(resource);
  const mine = ask.windowStart === limitUse.name;
  const back = mine && !held ? ask.returned : 0n;
  const used = larger(0n, limitUse.used - back);
  const keep = mine && held ? ask.holding : 0n;
  const room = larger(0n, limitUse.limit - used - keep - limitUse.othersHold);
  return { resource, limitUse, ask, ...options, used, keep, room, needs: [] };
}

function grantDemand(limits: readonly (OpenLimit | null)[], demand: Demand): void {
  for (const [index, { ask, amount }] of demand.entries()) {
    const limit = limits[ask] ?? null;
    if (limit === null || limit.chargesOnly) continue;
    limit.room -= amount;
    limit.needs.push(amount);
    if (limit.room >= 0n) continue;
    withdraw(limits, demand.slice(0, index + 1));
    return;
  }
}

function withdraw(limits: readonly (OpenLimit | null)[], needs: Demand): void {
  for (const { ask, amount } of needs) {
    const limit = limits[ask] ?? null;
    if (limit === null || limit.chargesOnly) continue;
    limit.room += amount;
    limit.needs.pop();
  }
}

function leaseOf(limit: OpenLimit, replicas: number): Lease {
  const { resource, limitUse, inAdvance, used, keep, room, needs } = limit;
  const held = isHeld(resource);
  const slice = inAdvance ? sliceFor(limitUse.limit, room, needs, replicas) : 0n;
  const granted = needs.reduce((sum, need) => sum + need, slice);
  return {
    window: limitUse.window,
    name: limitUse.name,
    granted,
    remaining: room - slice,
    used: held ? used : used + granted,
    hold: held ? keep + granted : 0n,
    spare: held ? slice : 0n,
  };
}

/** The amount spent, or held by requests under way, in the current window. */
export function taken(limitUse: LimitUse): bigint {
  return limitUse.used + limitUse.inUse;
}

/**
 * The window to count in; `now` is the window by the clock and the settings. With unchanged settings a new window
 * begins when the counted one ends, or later. An earlier window is ignored: after waiting for a lock, a transaction may
 * have read the clock before the one it waited for. An overlap with the counted window means that the period or the
 * time zone has changed. The new window keeps the name: replicas' holds and settlements count in it (ADR 13).
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

/** How long a lease of this window is valid. */
export function validForMs(window: Window, now: number): number {
  return window.end === null ? leaseMs : Math.max(0, Math.min(leaseMs, window.end - now));
}

/** Percentages of a budget, recorded when its use reaches them, once per window. */
export const thresholds = [50, 80, 100] as const;
export type Threshold = (typeof thresholds)[number];

/** The thresholds in percent reached by `used`, above the highest recorded one (`published`). */
export function thresholdsReached(used: bigint, limit: bigint, published: number): Threshold[] {
  if (limit <= 0n) return [];
  return thresholds.filter((percent) => percent > published && used * 100n >= limit * BigInt(percent));
}

/**
 * Requests of a tenant admitted by each replica at once without a lease, under a large limit: the many tenants with few
 * requests at a time cost no leases.
 */
export function unleasedRequests(maxConcurrent: bigint | null): bigint {
  return maxConcurrent !== null && maxConcurrent > smallLimit ? maxConcurrent / unleasedShare : 0n;
}

/** The replicas' unleased part of a tenant's limit, as far as they are known. */
export function unleasedOf(resource: Resource, limit: bigint, replicas: number): bigint {
  return resource === 'concurrency' ? unleasedRequests(limit) * BigInt(Math.max(1, replicas)) : 0n;
}

function sliceFor(limit: bigint, room: bigint, needs: readonly bigint[], replicas: number): bigint {
  if (limit <= smallLimit || needs.length === 0) return 0n;
  const share = room / (sliceOf * BigInt(Math.max(1, replicas)));
  return share >= fewRequests * needs.reduce(larger) ? share : 0n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
