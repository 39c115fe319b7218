import { cacheKey } from '@gatehouse/kit/cache-key';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { maxPico } from '@gatehouse/kit/money';
import { Resource, type Ask, type Demand, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import type { Admission } from './admission.ts';
import type { PolicyCounter } from '../policies/policy.ts';
import { LeasedLimit, type Need } from './leased-limit.ts';
import { refusal, reservedRefusal } from './refusal.ts';
import {
  maxAsked,
  maxAskedNeeds,
  maxReturned,
  slotTries,
  slotAskMs,
  leaseReturnMs,
  patientMs,
  reservedAskMs,
} from '../bounds.ts';

/** Asks the tenant service for leases, in the order of the asks. A demand is granted whole or not at all. */
export type Lease = (asks: Ask[], demands: Demand[]) => Promise<Grant[]>;

/** The needs of a request. */
export interface RequestDemand {
  readonly needs: readonly Need[];
  /** The largest demand within the remaining budgets; null without one. */
  lowered?(left: (limit: LeasedLimit) => bigint): readonly Need[] | null;
  /** Whether the request is refused at once where this limit is short, since another model may be called. */
  isRefusedAt?(limit: LeasedLimit): boolean;
}

interface Waiter {
  admission: Admission;
  demand: RequestDemand;
  /** Those of the demand, or of a cheaper call. */
  needs: readonly Need[];
  resolve: (taken: readonly Need[]) => void;
  reject: (error: unknown) => void;
  since: number;
  /** Whether the waiting request has left. */
  isOver: boolean;
  /** When its needs are asked for. */
  askAt: number;
  /** Calls still allowed to ask for it. */
  tries: number;
}

const underWay = -Infinity;

/**
 * Limits of one tenant as this replica leases them. One call at a time is under way; requests coming meanwhile wait for
 * what it brings, and share the next call if it brings too little.
 */
export class TenantLimits {
  readonly #lease: Lease;
  readonly #reservedWaitMs: number;
  readonly #limits = new Map<string, LeasedLimit>();
  #countsSessions = false;
  #waiting: Waiter[] = [];
  /** When the tenant service is called next: Infinity for never, or `underWay`. */
  #callAt = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** `waitMs`: how long a request waits for what others have reserved of a budget. */
  constructor(lease: Lease, waitMs = 10_000) {
    this.#lease = lease;
    this.#reservedWaitMs = waitMs;
  }

  /** Whether one of the limits is, or was of late, the budget of a session. */
  get countsSessions(): boolean {
    return this.#countsSessions;
  }

  /** The leased part of a limit of the tenant, of one of its keys, or of a counter. */
  limit(subjectId: string, resource: Resource, counter?: PolicyCounter): LeasedLimit {
    const name = cacheKey(subjectId, resource);
    const known = this.#limits.get(name);
    const limit = known ?? new LeasedLimit(subjectId, resource, (changed) => this.#changed(changed));
    if (counter !== undefined) limit.countFor(counter);
    if (known === undefined) this.#limits.set(name, limit);
    if (limit.isOfSession) this.#countsSessions = true;
    return limit;
  }

  /**
   * Adds what is needed to `admission`, at once if enough is leased. If others have reserved the rest of a budget, it
   * waits for them, at most ten seconds. Returns what it took: `needs`, or those of a cheaper call. Throws the refusal,
   * why nothing was leased, and the reason of `signal`.
   */
  async admit(admission: Admission, demand: RequestDemand, signal?: AbortSignal): Promise<readonly Need[]> {
    const now = monotonicMs();
    const { needs } = demand;
    if (fitsAll(needs, now) && !isBehind(needs, this.#claimed(now))) {
      take(admission, needs);
      return needs;
    }
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<readonly Need[]>();
    const state = { askAt: now, since: now, tries: slotTries, isOver: false };
    const waiter: Waiter = { ...state, demand, needs, admission, resolve, reject };
    const leave = (): void => {
      waiter.isOver = true;
      this.#waiting = this.#waiting.filter((each) => each !== waiter);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave);
    this.#waiting.push(waiter);
    this.#schedule([]);
    return promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  /** The tenant service has charged `amount` to a budget. */
  settled(subjectId: string, amount: bigint, windowStart: bigint): void {
    this.#limits.get(cacheKey(subjectId, Resource.BUDGET))?.settled(amount, windowStart);
  }

  /** Returns what is free here. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#waiting.length === 0 && this.#callAt !== underWay) {
      clearTimeout(this.#timer);
      this.#callAt = Infinity;
    }
    try {
      for (const returns of partsOf(this.#returnsUntil(Infinity))) await this.#call([], returns);
    } catch {
      // Another replica releases what this one holds.
    }
  }

  /** This replica was declared dead and starts over under another id. */
  renew(): void {
    for (const limit of this.#limits.values()) limit.renewed();
  }

  /** Forgets unused limits, like those of keys without requests. Returns whether no limit is left. */
  forgetIdle(): boolean {
    if (this.#waiting.length > 0 || this.#callAt === underWay) return false;
    const now = monotonicMs();
    for (const [name, limit] of this.#limits) if (limit.isIdle(now)) this.#limits.delete(name);
    return this.#limits.size === 0;
  }

  /** A request may wait for what has become free here. */
  #changed(limit: LeasedLimit): void {
    if (limit.resource === Resource.BUDGET) {
      const now = monotonicMs();
      for (const waiter of this.#waiting)
        if (waiter.needs.some((need) => need.limit === limit)) waiter.askAt = Math.min(waiter.askAt, now);
    }
    this.#schedule([limit]);
  }

  /** Makes sure a call follows for waiting requests, and for what `limits` have to return. */
  #schedule(limits: Iterable<LeasedLimit>): void {
    if (this.#callAt === underWay) return;
    const now = monotonicMs();
    let at = Infinity;
    for (const { askAt } of this.#waiting) at = Math.min(at, askAt);
    if (!this.#stopped)
      for (const { returnAt } of limits) at = Math.min(at, Math.max(now + leaseReturnMs, returnAt));
    if (at >= this.#callAt) return;
    clearTimeout(this.#timer);
    this.#callAt = at;
    if (at <= now) void this.#work();
    else this.#timer = setTimeout(() => void this.#work(), at - now);
  }

  async #work(): Promise<void> {
    this.#callAt = underWay;
    // One turn of the event loop, so requests arriving together ask together.
    await new Promise(setImmediate);
    const asking = this.#takeDue();
    try {
      await this.#call(
        asking,
        asking.length > 0 ? [] : this.#returnsUntil(monotonicMs()).slice(0, maxReturned),
      );
      this.#answer(asking);
    } catch (error) {
      // Returns of the failed call are sent again a second later.
      for (const { reject } of asking) reject(error);
    }
    this.#callAt = Infinity;
    this.#schedule(this.#limits.values());
  }

  /** Takes the requests asked for now off the list. */
  #takeDue(): Waiter[] {
    const now = monotonicMs();
    const asking: Waiter[] = [];
    const others: Waiter[] = [];
    const claimed = new Set<LeasedLimit>();
    let needs = 0;
    for (const waiter of this.#waiting) {
      const isNext = !isBehind(waiter.needs, claimed) || this.#isLate(waiter, now);
      const isDue = waiter.askAt <= now && asking.length < maxAsked && needs < maxAskedNeeds;
      if (isDue && !isNext) waiter.askAt = nextRetry(now);
      if (isDue && isNext) needs += waiter.needs.length;
      (isDue && isNext ? asking : others).push(waiter);
      claim(waiter, claimed, now);
    }
    this.#waiting = others;
    return asking;
  }

  #isLate({ since }: Waiter, now: number): boolean {
    return now - since >= this.#reservedWaitMs;
  }

  /** Budgets a request has waited for so long that it is next. */
  #claimed(now: number): ReadonlySet<LeasedLimit> {
    const claimed = new Set<LeasedLimit>();
    for (const waiter of this.#waiting) claim(waiter, claimed, now);
    return claimed;
  }

  /** The limits with something to return by then, those due longest first. */
  #returnsUntil(time: number): LeasedLimit[] {
    return [...this.#limits.values()]
      .map((limit) => ({ limit, at: limit.returnAt }))
      .filter(({ at }) => at < Infinity && at <= time)
      .sort((one, other) => (one.at === other.at ? 0 : one.at - other.at))
      .map(({ limit }) => limit);
  }

  async #call(asking: readonly Waiter[], returning: readonly LeasedLimit[]): Promise<void> {
    const { byLimit, demands } = askedLimits(asking, returning);
    if (byLimit.size === 0) return;
    const asks = [...byLimit].map(([limit, { amounts }]) => ({ limit, ask: limit.ask(amounts) }));
    const sentAt = monotonicMs();
    try {
      const grants = await this.#lease(
        asks.map(({ ask }) => ask),
        demands,
      );
      const answeredAt = monotonicMs();
      for (const [index, { limit }] of asks.entries()) {
        const grant = grants[index];
        if (grant !== undefined) limit.apply(grant, sentAt, answeredAt);
      }
    } catch (error) {
      const now = monotonicMs();
      for (const { limit, ask } of asks) limit.failed(ask, now);
      throw error;
    }
  }

  #answer(asking: readonly Waiter[]): void {
    const now = monotonicMs();
    for (const waiter of asking) if (!admitWaiter(waiter, now)) this.#refuse(waiter, now);
    // Requests arrived meanwhile need no call of their own if this one brought enough.
    const claimed = new Set<LeasedLimit>();
    this.#waiting = this.#waiting.filter((waiter) => {
      if (!isBehind(waiter.needs, claimed) && admitWaiter(waiter, now)) return false;
      claim(waiter, claimed, now);
      return true;
    });
  }

  #refuse(waiter: Waiter, now: number): void {
    if (waiter.isOver) return;
    const { needs } = waiter;
    const isFresh = needs.every(({ limit }) => limit.isFresh(now));
    const short = needs.filter(({ limit, amount }) => limit.isShort(amount, now));
    const barring = short.find(({ limit }) => waiter.demand.isRefusedAt?.(limit) === true);
    const first = short.find(({ limit }) => limit.isFull) ?? barring ?? short[0];
    // A lease says nothing if it lapsed before it could be used, and a slot may be free in a moment: ask again.
    const mayCome =
      !isFresh ||
      (barring === undefined && short.every(({ limit }) => limit.resource === Resource.CONCURRENCY));
    if (first?.unpriced !== undefined) {
      waiter.reject(first.unpriced);
    } else if (mayCome && waiter.tries > 1) {
      waiter.tries -= 1;
      waiter.askAt = isFresh ? now + slotAskMs : now;
      this.#waiting.push(waiter);
    } else if (first === undefined) {
      waiter.reject(
        new AppError('service_unavailable', 'The limits could not be checked in time. Try again.'),
      );
    } else {
      const isReserved = !first.limit.isFull && areOnlyReserved(short, waiter.demand);
      if (isReserved && this.#waitsOn(waiter, now, barring === undefined)) return;
      const limits = needs.map(({ limit }) => limit);
      waiter.reject(isReserved ? reservedRefusal(first, limits, now) : refusal(first, limits, now));
    }
  }

  /** Whether a request waits on for reserved but unspent budgets, if it may wait, or asks for a cheaper call. */
  #waitsOn(waiter: Waiter, now: number, mayWait: boolean): boolean {
    const isLate = !mayWait || this.#isLate(waiter, now);
    const lowered =
      isLate || !isWholeToCome(waiter.demand) ? waiter.demand.lowered?.((limit) => limit.remaining) : null;
    // Another replica may take what was left.
    if (isLate) waiter.tries -= 1;
    if ((isLate && !lowered) || waiter.tries <= 0) return false;
    waiter.needs = lowered ?? waiter.demand.needs;
    waiter.askAt = lowered ? now : nextRetry(now);
    // In the order in which they came.
    const after = this.#waiting.findIndex(({ since }) => since > waiter.since);
    this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, waiter);
    return true;
  }
}

function* partsOf(limits: readonly LeasedLimit[]): Generator<LeasedLimit[]> {
  for (let from = 0; from < limits.length; from += maxReturned) yield limits.slice(from, from + maxReturned);
}

function nextRetry(now: number): number {
  return Math.ceil(now / reservedAskMs + 0.1) * reservedAskMs;
}

/** Adds the budgets of a request after a long wait. */
function claim({ needs, since }: Waiter, claimed: Set<LeasedLimit>, now: number): void {
  if (now - since < patientMs) return;
  for (const { limit } of needs) if (limit.resource === Resource.BUDGET) claimed.add(limit);
}

function isBehind(needs: readonly Need[], claimed: ReadonlySet<LeasedLimit>): boolean {
  return claimed.size > 0 && needs.some(({ limit }) => claimed.has(limit));
}

/** The limits of a call, in the order of its asks, with the amounts needed by requests; and the demand of each request. */
function askedLimits(
  asking: readonly Waiter[],
  returning: readonly LeasedLimit[],
): { byLimit: ReadonlyMap<LeasedLimit, { index: number; amounts: bigint[] }>; demands: Demand[] } {
  const byLimit = new Map<LeasedLimit, { index: number; amounts: bigint[] }>();
  const askFor = (limit: LeasedLimit): { index: number; amounts: bigint[] } => {
    const known = byLimit.get(limit);
    if (known !== undefined) return known;
    const made = { index: byLimit.size, amounts: [] };
    byLimit.set(limit, made);
    return made;
  };
  for (const limit of returning) askFor(limit);
  const demands = asking.map((waiter) => ({
    needs: waiter.needs.map(({ limit, amount }) => {
      const { index, amounts } = askFor(limit);
      amounts.push(amount);
      return { ask: index, amount };
    }),
  }));
  return { byLimit, demands };
}

/** Whether budgets would do for the request as it came if nothing of them were reserved. */
function isWholeToCome({ needs }: RequestDemand): boolean {
  return needs.every(({ limit, amount }) => limit.unspent === null || amount <= limit.unspent);
}

/** Whether only budgets are short, and would do for the request, or a cheaper call, if nothing were reserved. */
function areOnlyReserved(short: readonly Need[], demand: RequestDemand): boolean {
  if (short.some(({ limit }) => limit.unspent === null)) return false;
  return isWholeToCome(demand) || Boolean(demand.lowered?.(({ unspent }) => unspent ?? maxPico));
}

function admitWaiter({ admission, needs, resolve, isOver }: Waiter, now: number): boolean {
  if (isOver) return true;
  if (!fitsAll(needs, now)) return false;
  take(admission, needs);
  resolve(needs);
  return true;
}

function fitsAll(needs: readonly Need[], now: number): boolean {
  return needs.every(({ limit, amount }) => limit.fits(amount, now));
}

function take(admission: Admission, needs: readonly Need[]): void {
  admission.add(needs.map(({ limit, amount }) => limit.take(amount)).filter((taken) => taken !== null));
}
