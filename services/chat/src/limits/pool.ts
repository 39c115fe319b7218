import { Resource, type Ask, type Grant } from '@gatehouse/proto/tenant/v1/tenant';

/** How long the answer that nothing is limited any more is believed. */
const unlimitedMs = 1_000;
/** After a call that failed, what it should have told is told again. */
const retryMs = 1_000;
/** What is free of limits up to this is given back at once: another replica may wait for it. */
const smallLimit = 600n;

/** One window of one life of this replica: what was taken in it is settled in it, or concerns nobody any more. */
export interface Term {
  readonly windowStart: bigint;
}

/**
 * What this replica has leased of one limit and not spent. Times are of the monotonic clock, so that a wall clock that
 * is wrong changes nothing.
 */
export class Pool {
  readonly subjectId: string;
  readonly resource: Resource;
  /** Null: unlimited, as far as is known. */
  limit: bigint | null = null;
  term: Term = { windowStart: 0n };
  resetsAt = 0;
  /** To be spent here; negative when more was spent than leased. */
  #free = 0n;
  /** Of concurrency and budgets: taken by requests under way and by runs that have not been settled. */
  #taken = 0n;
  /** What was left for others when it was leased. */
  #remaining = 0n;
  #validUntil = -Infinity;
  /** Whether the tenant service may count more for us than we need, for what it was told last was lost or overtaken. */
  #stale = false;
  #retryAt = -Infinity;

  constructor(subjectId: string, resource: Resource) {
    this.subjectId = subjectId;
    this.resource = resource;
  }

  /** Of the window: what is left here and was left for others. */
  get remaining(): bigint {
    const left = this.#remaining + this.#free;
    return left > 0n ? left : 0n;
  }

  /** Whether the tenant service counts more or less for this replica than it should. */
  get hasExcess(): boolean {
    return this.#free !== 0n || this.#stale;
  }

  /** Whether requests under way, or runs that are not settled, count here. */
  get isInUse(): boolean {
    return this.#taken !== 0n;
  }

  /** When the tenant service should be told what is free. */
  get returnAt(): number {
    const isScarce = this.limit !== null && this.limit <= smallLimit;
    // What was spent beyond the lease is told at once, too.
    const at = isScarce || this.#free < 0n ? -Infinity : this.#validUntil;
    return Math.max(at, this.#retryAt);
  }

  /** Whether what is known of the limit is recent enough to let in and to refuse by. */
  isFresh(now: number): boolean {
    return now < this.#validUntil;
  }

  fits(amount: bigint, now: number): boolean {
    return this.isFresh(now) && (this.limit === null || amount <= this.#free);
  }

  /** Spends `amount`, which fits. */
  take(amount: bigint): void {
    if (this.limit === null) return;
    this.#free -= amount;
    if (this.#isHeld) this.#taken += amount;
  }

  /** Takes note that of `reserved` only `spent` was used; a run's money stays taken until it is settled. */
  spend(reserved: bigint, spent: bigint, term: Term): void {
    if (term !== this.term) return;
    this.#free += reserved - spent;
    if (this.#isHeld) this.#taken += spent - reserved;
  }

  /** The tenant service has charged `amount` to the budget. */
  settled(amount: bigint, windowStart: bigint): void {
    if (windowStart !== this.term.windowStart) return;
    this.#taken -= amount;
    // It may have crossed a call that still counted this as held.
    this.#stale = true;
  }

  /** Gives back what is free, and says what is needed. Until it is answered, nothing is free here. */
  ask(needs: bigint[]): Ask {
    const { subjectId, resource } = this;
    const { windowStart } = this.term;
    const free = this.#free;
    this.#free = 0n;
    this.#validUntil = -Infinity;
    this.#stale = false;
    const taken = this.#taken > 0n ? this.#taken : 0n;
    return this.#isHeld
      ? { subjectId, resource, windowStart, returned: 0n, holding: taken, needs }
      : { subjectId, resource, windowStart, returned: free, holding: 0n, needs };
  }

  /**
   * `sentAt` is when the request for this grant was sent, `answeredAt` when the grant came. What it allows ends before it
   * could be over, and a new window begins after it has: nobody is told to come again too early.
   */
  apply(grant: Grant, sentAt: number, answeredAt: number): void {
    this.limit = grant.limit ?? null;
    if (grant.windowStart !== this.term.windowStart) {
      this.term = { windowStart: grant.windowStart };
      this.#free = 0n;
      this.#taken = 0n;
    }
    this.#free += grant.granted;
    this.#remaining = grant.remaining;
    this.#validUntil = sentAt + (this.limit === null ? unlimitedMs : Number(grant.validForMs));
    this.resetsAt = answeredAt + Number(grant.resetsInMs);
  }

  /** Nobody knows whether `ask` arrived. What was given back counts as spent; what else it told is told again. */
  failed(ask: Ask, now: number): void {
    if (this.#isHeld) this.#stale = true;
    else if (ask.returned < 0n && ask.windowStart === this.term.windowStart) this.#free += ask.returned;
    this.#retryAt = now + retryMs;
  }

  /**
   * This replica was taken for dead and begins anew: its money is settled by whoever ends its runs, while requests that
   * are still under way keep their slots.
   */
  renewed(): void {
    if (this.resource === Resource.CONCURRENCY) {
      this.#stale = true;
    } else {
      this.term = { windowStart: 0n };
      this.#taken = 0n;
    }
    this.#free = 0n;
    this.#validUntil = -Infinity;
  }

  get #isHeld(): boolean {
    return this.resource === Resource.CONCURRENCY || this.resource === Resource.BUDGET;
  }
}
