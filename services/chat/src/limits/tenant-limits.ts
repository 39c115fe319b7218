import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { Resource, type Ask, type Demand, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import type { Admission } from './admission.ts';
import type { PolicyCounter } from '../policies/policy.ts';
import { DueReturns } from './due-returns.ts';
import { LeasedLimit, type Need } from './leased-limit.ts';
import { refusal, reservedRefusal } from './refusal.ts';
import { ReturnCalls } from './return-calls.ts';
import {
  areKnown,
  areOnlyReserved,
  askedLimits,
  decisiveOf,
  fitsAll,
  isBehind,
  isWholeToCome,
  knownRefusal,
  nextRetry,
  take,
  WaitingRequest,
  type RequestDemand,
} from './waiting-request.ts';
import { maxAsked, maxAskedNeeds, maxReturned, slotAskMs, leaseReturnMs } from '../bounds.ts';

/** Asks the tenant service for leases, in the order of the asks. A demand is granted whole or not at all. */
export type Lease = (asks: Ask[], demands: Demand[]) => Promise<Grant[]>;

const underWay = -Infinity;

/**
 * Limits of one tenant as this replica leases them. One call at a time is under way; requests coming meanwhile wait for
 * what it brings, and share the next call if it brings too little.
 */
export class TenantLimits {
  readonly #lease: Lease;
  /** The id of this replica for leases. */
  #holderId: string;
  readonly #reservedWaitMs: number;
  readonly #returnCalls: ReturnCalls;
  /** By subject, of which each has a few: a request looks up to 256 limits up, and names of two parts cost it 30 µs. */
  readonly #limits = new Map<string, LeasedLimit[]>();
  readonly #returns = new DueReturns<LeasedLimit>();
  #countsSessions = false;
  #waiting: WaitingRequest[] = [];
  /** Whether its next return is among the calls of other tenants. */
  #isReturning = false;
  /** When the tenant service is called next: Infinity for never, or `underWay`. */
  #callAt = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** `waitMs`: how long a request waits for what others have reserved of a budget. */
  constructor(
    lease: Lease,
    holderId: string,
    { waitMs = 10_000, returnCalls = new ReturnCalls() }: { waitMs?: number; returnCalls?: ReturnCalls } = {},
  ) {
    this.#lease = lease;
    this.#holderId = holderId;
    this.#reservedWaitMs = waitMs;
    this.#returnCalls = returnCalls;
  }

  /** Whether one of the limits is, or was of late, the budget of a session. */
  get countsSessions(): boolean {
    return this.#countsSessions;
  }

  /** Subjects of the limits. */
  get size(): number {
    return this.#limits.size;
  }

  /** The leased part of a limit of the tenant, of one of its keys, or of a counter. */
  limit(subjectId: string, resource: Resource, counter?: PolicyCounter): LeasedLimit {
    const limit = this.#find(subjectId, resource) ?? this.#add(subjectId, resource);
    if (counter !== undefined) limit.countFor(counter);
    if (limit.isOfSession) this.#countsSessions = true;
    return limit;
  }

  /**
   * Adds what is needed to `admission`, at once if enough is leased; otherwise the tenant service is asked for the rest.
   * If others have reserved the rest of a budget, it waits for them, at most ten seconds. Returns what it took: `needs`,
   * or those of a cheaper call. Throws the refusal, why nothing was leased, and the reason of `signal`.
   */
  async admit(admission: Admission, demand: RequestDemand, signal?: AbortSignal): Promise<readonly Need[]> {
    const now = monotonicMs();
    const { needs } = demand;
    if (fitsAll(needs, now) && !isBehind(needs, this.#claimed(now))) {
      take(admission, needs);
      return needs;
    }
    signal?.throwIfAborted();
    const refused = knownRefusal(demand, now);
    if (refused !== null) throw refused;
    const { promise, resolve, reject } = Promise.withResolvers<readonly Need[]>();
    const waiter = new WaitingRequest({ admission, demand, resolve, reject }, now);
    const leave = (): void => {
      waiter.isOver = true;
      this.#waiting = this.#waiting.filter((each) => each !== waiter);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave);
    this.#waiting.push(waiter);
    this.#schedule();
    return promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  /** The tenant service has charged `amount` to a budget. */
  settled(subjectId: string, amount: bigint, windowStart: bigint): void {
    this.#find(subjectId, Resource.BUDGET)?.settled(amount, windowStart);
  }

  /** Returns what is free here. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#waiting.length === 0 && this.#callAt !== underWay) {
      clearTimeout(this.#timer);
      this.#callAt = Infinity;
    }
    try {
      for (const due of partsOf(this.#returns.take(Infinity, Infinity))) await this.#call([], due);
    } catch {
      // Another replica releases what this one holds.
    }
  }

  /** This replica was declared dead and starts over under another id. */
  renew(holderId: string): void {
    this.#holderId = holderId;
    for (const limits of this.#limits.values()) for (const limit of limits) limit.renewed(holderId);
  }

  /** Forgets unused limits, like those of keys without requests. Returns whether no limit is left. */
  forgetIdle(): boolean {
    if (this.#waiting.length > 0 || this.#callAt === underWay) return false;
    const now = monotonicMs();
    for (const [subjectId, limits] of this.#limits) {
      const used = limits.filter((limit) => !limit.isIdle(now));
      if (used.length === 0) this.#limits.delete(subjectId);
      else if (used.length < limits.length) this.#limits.set(subjectId, used);
    }
    return this.#limits.size === 0;
  }

  #find(subjectId: string, resource: Resource): LeasedLimit | undefined {
    return this.#limits.get(subjectId)?.find((limit) => limit.resource === resource);
  }

  #add(subjectId: string, resource: Resource): LeasedLimit {
    const limit = new LeasedLimit(subjectId, resource, this.#holderId, (changed) => this.#changed(changed));
    const others = this.#limits.get(subjectId);
    if (others === undefined) this.#limits.set(subjectId, [limit]);
    else others.push(limit);
    return limit;
  }

  /** A request may wait for what has become free here. */
  #changed(limit: LeasedLimit): void {
    if (limit.resource === Resource.BUDGET && this.#waiting.length > 0) {
      const now = monotonicMs();
      for (const waiter of this.#waiting)
        if (waiter.needs.some((need) => need.limit === limit)) waiter.askAt = Math.min(waiter.askAt, now);
    }
    this.#returns.add(limit);
    this.#schedule();
  }

  /** Makes sure a call follows for waiting requests, and for what is to be returned. */
  #schedule(): void {
    if (this.#callAt === underWay) return;
    let at = Infinity;
    for (const { askAt } of this.#waiting) at = Math.min(at, askAt);
    const returnAt =
      this.#stopped || (this.#isReturning && !this.#hasScarce) ? Infinity : this.#returns.nextAt;
    // Nearly always, and without the clock: each request changes all of its limits.
    if (Math.min(at, returnAt) >= this.#callAt) return;
    const now = monotonicMs();
    at = Math.min(at, Math.max(now + leaseReturnMs, returnAt));
    if (at >= this.#callAt) return;
    clearTimeout(this.#timer);
    this.#callAt = at;
    if (at <= now) this.#callDue();
    else this.#timer = setTimeout(() => this.#callDue(), at - now);
  }

  /** Whether something of a small limit is to be returned, for which requests at other replicas may wait. */
  get #hasScarce(): boolean {
    return this.#returns.nextAt === -Infinity;
  }

  /** Calls at once for requests that wait here or elsewhere, and for other returns among the calls of other tenants. */
  #callDue(): void {
    const now = monotonicMs();
    if (this.#hasScarce || this.#waiting.some(({ askAt }) => askAt <= now)) {
      void this.#work();
      return;
    }
    this.#callAt = Infinity;
    this.#isReturning = true;
    this.#returnCalls.add(async () => {
      this.#isReturning = false;
      clearTimeout(this.#timer);
      if (this.#callAt !== underWay) await this.#work();
    });
    this.#schedule();
  }

  async #work(): Promise<void> {
    this.#callAt = underWay;
    // One turn of the event loop, so requests arriving together ask together.
    await new Promise(setImmediate);
    const asking = this.#takeDue();
    const now = monotonicMs();
    const limits = new Set(asking.flatMap(({ needs }) => needs.map(({ limit }) => limit)));
    for (const waiter of asking) waiter.hold(now);
    try {
      await this.#call(asking, asking.length > 0 ? [] : this.#returns.take(now, maxReturned));
      this.#answer(asking);
    } catch (error) {
      // Returns of the failed call are sent again a second later.
      for (const waiter of asking) {
        waiter.putBack();
        waiter.reject(error);
      }
    }
    // Grants end, and what was held for a request that waits on is free again.
    for (const limit of limits) this.#returns.add(limit);
    this.#callAt = Infinity;
    this.#schedule();
  }

  /** Takes the requests asked for now off the list. */
  #takeDue(): WaitingRequest[] {
    const now = monotonicMs();
    const asking: WaitingRequest[] = [];
    const others: WaitingRequest[] = [];
    const claimed = new Set<LeasedLimit>();
    let needs = 0;
    for (const waiter of this.#waiting) {
      const isNext = !isBehind(waiter.needs, claimed) || this.#isLate(waiter, now);
      const isDue = waiter.askAt <= now && asking.length < maxAsked && needs < maxAskedNeeds;
      if (isDue && !isNext) waiter.askAt = nextRetry(now);
      if (isDue && isNext) needs += waiter.needs.length;
      (isDue && isNext ? asking : others).push(waiter);
      waiter.claim(claimed, now);
    }
    this.#waiting = others;
    return asking;
  }

  #isLate({ since }: WaitingRequest, now: number): boolean {
    return now - since >= this.#reservedWaitMs;
  }

  /** Budgets a request has waited for so long that it is next. */
  #claimed(now: number): ReadonlySet<LeasedLimit> {
    const claimed = new Set<LeasedLimit>();
    for (const waiter of this.#waiting) waiter.claim(claimed, now);
    return claimed;
  }

  async #call(asking: readonly WaitingRequest[], returning: readonly LeasedLimit[]): Promise<void> {
    const { byLimit, demands } = askedLimits(asking, returning);
    if (byLimit.size === 0) return;
    const asks = [...byLimit].map(([limit, { amounts }]) => ({ limit, ask: limit.ask(amounts) }));
    const sentAt = monotonicMs();
    const holderId = this.#holderId;
    try {
      const grants = await this.#lease(
        asks.map(({ ask }) => ask),
        demands,
      );
      // Granted to an id since declared dead: waiting requests ask again.
      if (holderId !== this.#holderId) return;
      const answeredAt = monotonicMs();
      for (const [index, { limit }] of asks.entries()) {
        const grant = grants[index];
        if (grant !== undefined) limit.apply(grant, sentAt, answeredAt);
      }
    } catch (error) {
      const now = monotonicMs();
      for (const { limit, ask } of asks) limit.failed(ask, now);
      throw error;
    } finally {
      for (const limit of returning) this.#returns.add(limit);
    }
  }

  #answer(asking: readonly WaitingRequest[]): void {
    const now = monotonicMs();
    for (const waiter of asking) if (!waiter.admit(now)) this.#refuse(waiter, now);
    // Requests arrived meanwhile need no call of their own if this one brought enough.
    const claimed = new Set<LeasedLimit>();
    this.#waiting = this.#waiting.filter((waiter) => {
      if (!isBehind(waiter.needs, claimed) && waiter.admit(now)) return false;
      waiter.claim(claimed, now);
      return true;
    });
  }

  #refuse(waiter: WaitingRequest, now: number): void {
    waiter.putBack();
    const { needs } = waiter;
    const isFresh = areKnown(needs, now);
    const short = needs.filter(({ limit, amount }) => limit.isShort(amount, now));
    const barring = short.find(({ limit }) => waiter.demand.isRefusedAt?.(limit) === true);
    const first = decisiveOf(short, waiter.demand);
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
  #waitsOn(waiter: WaitingRequest, now: number, mayWait: boolean): boolean {
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
