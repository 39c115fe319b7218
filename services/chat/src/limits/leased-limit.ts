import type { AppError } from '@gatehouse/kit/errors';
import { cappedPico } from '@gatehouse/kit/money';
import { Resource, type Ask, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import type { PolicyCounter } from '../policies/policy.ts';
import { smallLimit, unlimitedLeaseMs, shortRetryMs } from '../bounds.ts';

/** Generation of slots taken without a lease. */
const unleased = -1;

/** Amount of a limit needed by a request. */
export interface Need {
  limit: LeasedLimit;
  amount: bigint;
  /** The refusal of a request without a price, if the budget turns out to be set. */
  unpriced?: AppError;
}

/** Amount of a limit taken by a request. */
export interface Taken extends Need {
  windowStart: bigint;
  generation: number;
  /** The id under which this replica holds it. */
  holderId: string;
}

/**
 * Amount of one limit leased and not spent by this replica. Times are of the monotonic clock, so a wrong wall clock
 * changes nothing.
 */
export class LeasedLimit {
  readonly subjectId: string;
  readonly resource: Resource;
  /** The counter of a policy, as the last request named it; null for a limit of the tenant or of a key. */
  counter: PolicyCounter | null = null;
  /** The least amount set for the session by requests; null without one. */
  #requested: bigint | null = null;
  /** Whether the tenant service has opened no counter, since there are too many. */
  isFull = false;
  /** Null: unlimited, as far as is known. */
  max: bigint | null = null;
  resetsAt = 0;
  /** Amount requests under way may take without a lease. */
  allowance = 0n;
  readonly #onChange: (limit: LeasedLimit) => void;
  #holderId: string;
  #windowStart = 0n;
  /**
   * Grows with each window and with each life of this replica. Amounts taken by an earlier generation are settled
   * elsewhere.
   */
  #generation = 0;
  /** To be spent here; negative when more was spent than leased. */
  #free = 0n;
  /** For concurrency and budgets: taken by requests under way and by unsettled runs. */
  #held = 0n;
  /** Requests under way with something taken. */
  #users = 0;
  /** Taken without a lease. */
  #unleased = 0n;
  /** Amount left for other replicas at the last grant. */
  #remaining = 0n;
  /** Part of a budget spent at the last grant; null where it is not known. */
  #spent: bigint | null = null;
  #validUntil = -Infinity;
  /** Whether the tenant service may count more as held than it should, after a failed or overtaken call. */
  #stale = false;
  #retryAt = -Infinity;

  /** `onChange` is called when there may be something to return; see `returnAt`. */
  constructor(
    subjectId: string,
    resource: Resource,
    holderId: string,
    onChange: (limit: LeasedLimit) => void,
  ) {
    this.subjectId = subjectId;
    this.resource = resource;
    this.#holderId = holderId;
    this.#onChange = onChange;
  }

  /** Names the counter as the present request does, which may set or lower the budget of its session. */
  countFor(counter: PolicyCounter): void {
    this.counter = counter;
    const { requestedPico = null } = counter.policy;
    if (requestedPico !== null && (this.#requested === null || requestedPico < this.#requested))
      this.#requested = requestedPico;
  }

  /** Whether it is the budget of a session. */
  get isOfSession(): boolean {
    return this.counter?.policy.requestedPico !== undefined;
  }

  /** Whether it may refuse nothing: the budget of a session without one, or of a value without a maximum. */
  mayBeUnset(now: number): boolean {
    if (this.isOfSession) return this.#requested === null && this.max === null;
    return this.counter !== null && (this.max === null || !this.isFresh(now));
  }

  /** Whether the tenant service charges it, even without a maximum. */
  get #isCharged(): boolean {
    return this.max !== null || this.#windowStart !== 0n;
  }

  /** Whether the tenant service has to know the requested budget before anything is taken from it. */
  get #isToSet(): boolean {
    return this.#requested !== null && (this.max === null || this.#requested < this.max);
  }

  /** The rest of the window's amount, here and for other replicas. */
  get remaining(): bigint {
    const left = this.#remaining + this.#free;
    return left > 0n ? left : 0n;
  }

  /** Part of a budget not spent, though it may be reserved. Null where it is not known. */
  get unspent(): bigint | null {
    return this.max === null || this.#spent === null ? null : this.max - this.#spent;
  }

  /** When what is free should be returned; Infinity while the tenant service counts what it should. */
  get returnAt(): number {
    if (this.#free === 0n && !this.#stale) return Infinity;
    const isScarce = this.isOfSession || (this.max !== null && this.max <= smallLimit);
    // Amounts spent beyond the lease are reported at once, too.
    const at = isScarce || this.#free < 0n ? -Infinity : this.#validUntil;
    return Math.max(at, this.#retryAt);
  }

  /** Whether nothing is lost with this object. */
  isIdle(now: number): boolean {
    return this.#users === 0 && this.#held === 0n && this.returnAt === Infinity && !this.isFresh(now);
  }

  /** Whether the last grant is recent enough to admit and to refuse requests by. */
  isFresh(now: number): boolean {
    return now < this.#validUntil;
  }

  fits(amount: bigint, now: number): boolean {
    if (this.#isAllowed(amount)) return true;
    if (this.#isToSet) return false;
    return this.isFresh(now) && (this.max === null || amount <= this.#free);
  }

  /** Whether, by the last grant, `amount` is left neither here nor for other replicas. */
  isShort(amount: bigint, now: number): boolean {
    if (this.#isToSet || !this.isFresh(now)) return false;
    return !this.fits(amount, now) && amount > this.#remaining + this.#free;
  }

  /** Whether more of a budget was spent at the last grant than leaves `amount`. */
  isSpentFor(amount: bigint, now: number): boolean {
    const { unspent } = this;
    return unspent !== null && amount > unspent && !this.isFull && this.isShort(amount, now);
  }

  /** Takes `amount`, which fits. Returns null if there is no limit. */
  take(amount: bigint): Taken | null {
    if (this.#isAllowed(amount)) {
      this.#unleased += amount;
      return this.#taken(amount, unleased);
    }
    if (!this.#isCharged) return null;
    if (this.max === null) return this.#taken(0n, this.#generation);
    this.#free -= amount;
    if (this.#isHeld) this.#held += amount;
    return this.#taken(amount, this.#generation);
  }

  #taken(amount: bigint, generation: number): Taken {
    this.#users += 1;
    return { limit: this, amount, windowStart: this.#windowStart, generation, holderId: this.#holderId };
  }

  /** The amount of `taken` in the present window. */
  heldBy({ amount, generation }: Taken): bigint {
    return generation === this.#generation ? amount : 0n;
  }

  /** The request with `taken` is over and has used `spent`. A run's money stays held until it is settled. */
  spend(taken: Taken, spent: bigint): void {
    if (this.#leave(taken, spent)) this.#onChange(this);
  }

  /** The request with `taken` was not admitted. Waiting requests are left to their time: they ask in turns. */
  putBack(taken: Taken): void {
    this.#leave(taken, 0n);
  }

  /** Returns false for what an earlier generation has taken. */
  #leave({ amount, generation }: Taken, spent: bigint): boolean {
    this.#users -= 1;
    if (generation === unleased) this.#unleased -= amount;
    if (generation !== this.#generation) return false;
    this.#refund(amount - spent);
    return true;
  }

  /** The request goes on, and has spent `amount`, which may be more than it took. */
  lessen(taken: Taken, amount: bigint): Taken {
    if (taken.generation !== this.#generation) return taken;
    this.#refund(taken.amount - amount);
    this.#onChange(this);
    return { ...taken, amount };
  }

  #refund(amount: bigint): void {
    if (this.max !== null) this.#free += amount;
    if (this.#isHeld) this.#held -= amount;
  }

  /** The tenant service has charged `amount` to the budget. */
  settled(amount: bigint, windowStart: bigint): void {
    if (windowStart !== this.#windowStart) return;
    this.#held -= amount;
    // It may have crossed a call still counting this as held.
    this.#stale = true;
    this.#onChange(this);
  }

  /**
   * Returns what is free. Nothing is free until the answer comes. `needs`: those of the waiting requests, for a tenant
   * service of the previous release.
   */
  ask(needs: bigint[]): Ask {
    const returned = this.#isHeld ? 0n : cappedPico(this.#free);
    // Several runs at the highest cost exceed what the RPC can name, and any budget.
    const holding = this.#isHeld && this.#held > 0n ? cappedPico(this.#held) : 0n;
    this.#clear();
    this.#stale = false;
    const { subjectId, resource, counter } = this;
    const ask = { subjectId, resource, windowStart: this.#windowStart, returned, holding, needs };
    if (counter === null) return { ...ask, groups: [] };
    return { ...ask, ...counterAsk(counter), sessionBudget: this.#requested ?? undefined };
  }

  /**
   * `sentAt` and `answeredAt` are the times of the call. The lease ends early rather than late, and the window late
   * rather than early, so no `Retry-After` is too short.
   */
  apply(grant: Grant, sentAt: number, answeredAt: number): void {
    this.max = grant.limit ?? null;
    this.isFull = grant.tooManyCounters === true;
    if (grant.windowStart !== this.#windowStart) {
      this.#begin(grant.windowStart);
      this.#free = 0n;
    }
    this.#free += grant.granted;
    this.#remaining = grant.remaining;
    this.#spent = grant.spent ?? null;
    this.#validUntil = sentAt + (this.#isCharged ? Number(grant.validForMs) : unlimitedLeaseMs);
    this.resetsAt = answeredAt + Number(grant.resetsInMs);
  }

  /** Whether `ask` arrived is unknown. The amount it returned counts as spent; the rest of its report is sent again. */
  failed(ask: Ask, now: number): void {
    if (this.#isHeld) this.#stale = true;
    else if (ask.returned < 0n && ask.windowStart === this.#windowStart) this.#free += ask.returned;
    this.#retryAt = now + shortRetryMs;
  }

  /**
   * This replica was declared dead and starts over under another id: the instance ending its runs settles their money,
   * while requests under way keep their slots.
   */
  renewed(holderId: string): void {
    this.#holderId = holderId;
    if (this.resource === Resource.CONCURRENCY) this.#stale = true;
    else this.#begin(0n);
    this.#clear();
    this.#onChange(this);
  }

  #isAllowed(amount: bigint): boolean {
    return this.allowance > 0n && this.#unleased + amount <= this.allowance;
  }

  #begin(windowStart: bigint): void {
    this.#windowStart = windowStart;
    this.#generation += 1;
    this.#held = 0n;
  }

  #clear(): void {
    this.#free = 0n;
    this.#validUntil = -Infinity;
  }

  get #isHeld(): boolean {
    return this.resource === Resource.CONCURRENCY || this.resource === Resource.BUDGET;
  }
}

function counterAsk({ policy, value, user, apiKeyId }: PolicyCounter) {
  return {
    ...{ policyId: policy.id, value, groups: [...(user?.groups ?? [])] },
    ...{ userId: user?.id, apiKeyId: apiKeyId ?? undefined },
  };
}
