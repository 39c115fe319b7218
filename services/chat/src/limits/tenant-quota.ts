import { cacheKey } from '@gatehouse/kit/cache-key';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { Resource, type Ask, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { Admission, type Need } from './admission.ts';
import { Pool } from './pool.ts';
import { refusal } from './refusal.ts';

/** Asks the tenant service for leases, in the order of the asks. */
export type Lease = (asks: Ask[]) => Promise<Grant[]>;

interface Waiter {
  needs: readonly Need[];
  resolve: (admission: Admission) => void;
  reject: (error: unknown) => void;
  /** How often it may still ask for a slot that is perhaps free elsewhere. */
  tries: number;
}

/** Requests that are asked for at once. */
const maxAsked = 500;

/**
 * A slot that just became free on another replica is given back there within `returnMs`, and so found here: a client
 * that sends one request after the other is never refused for its own last one.
 */
const slotTries = 3;
const slotRetryMs = 60;
const returnMs = 25;

/**
 * The limits of one tenant as this replica leases them. At most one call is under way; whoever comes meanwhile waits
 * for what it brings, and shares the next one if that is not enough.
 */
export class TenantQuota {
  readonly #lease: Lease;
  readonly #pools = new Map<string, Pool>();
  #waiting: Waiter[] = [];
  #busy = false;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = 0;
  #stopped = false;
  /** Requests that wait to be let in. */
  #pending = 0;
  #usedAt = monotonicMs();

  constructor(lease: Lease) {
    this.#lease = lease;
  }

  /** Since when nobody has asked for anything, and nothing lies here. Infinity while it is in use. */
  get idleSince(): number {
    const inUse =
      this.#pending > 0 ||
      this.#busy ||
      this.#timer !== null ||
      [...this.#pools.values()].some((pool) => pool.isInUse);
    return inUse ? Infinity : this.#usedAt;
  }

  /** What is leased of a limit of the tenant or of one of its keys. */
  pool(subjectId: string, resource: Resource): Pool {
    const name = cacheKey(subjectId, resource);
    const known = this.#pools.get(name);
    if (known !== undefined) return known;
    const pool = new Pool(subjectId, resource);
    this.#pools.set(name, pool);
    return pool;
  }

  /** Lets a request in, at once if enough is leased. Throws the refusal, or why nothing could be leased. */
  async admit(needs: readonly Need[]): Promise<Admission> {
    this.#usedAt = monotonicMs();
    if (this.#waiting.length === 0 && fitsAll(needs, this.#usedAt)) return this.#take(needs);
    this.#pending += 1;
    return new Promise<Admission>((resolve, reject) => {
      this.#waiting.push({ needs, resolve, reject, tries: slotTries });
      this.#run();
    }).finally(() => {
      this.#pending -= 1;
    });
  }

  /** The tenant service has charged `amount` to a budget. */
  settled(subjectId: string, amount: bigint, windowStart: bigint): void {
    const pool = this.pool(subjectId, Resource.BUDGET);
    pool.settled(amount, windowStart);
    this.#scheduleReturn([pool]);
  }

  /** Gives back what is free here. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#giveBack(true);
  }

  /** This replica was taken for dead and begins anew, under another id. */
  renew(): void {
    for (const pool of this.#pools.values()) pool.renewed();
    this.#scheduleReturn(this.#pools.values());
  }

  /** Forgets limits that nothing is known of any more, such as those of keys that are not used. */
  forgetIdle(): void {
    if (this.#pending > 0 || this.#busy) return;
    const now = monotonicMs();
    for (const [name, pool] of this.#pools)
      if (!pool.hasExcess && !pool.isInUse && !pool.isFresh(now)) this.#pools.delete(name);
  }

  #take(needs: readonly Need[]): Admission {
    const pools = needs.map(({ pool }) => pool);
    this.#scheduleReturn(pools);
    return new Admission(needs, () => this.#scheduleReturn(pools));
  }

  #run(): void {
    this.#start(() => this.#work());
  }

  /** One call at a time; after it, whatever there is to do next. */
  #start(work: () => Promise<void>): void {
    if (this.#busy) return;
    this.#busy = true;
    void work().finally(() => {
      this.#busy = false;
      if (this.#waiting.length > 0) this.#run();
      else this.#scheduleReturn(this.#pools.values());
    });
  }

  async #work(): Promise<void> {
    // One turn of the event loop, so that requests that arrived together ask together.
    await new Promise(setImmediate);
    const asking = this.#waiting.splice(0, maxAsked);
    try {
      await this.#ask(asking);
    } catch (error) {
      for (const { reject } of asking) reject(error);
      return;
    }
    const now = monotonicMs();
    for (const waiter of asking) {
      if (fitsAll(waiter.needs, now)) waiter.resolve(this.#take(waiter.needs));
      else this.#refuse(waiter, now);
    }
    // Who came meanwhile needs no call of its own if this one brought enough.
    this.#waiting = this.#waiting.filter((waiter) => {
      const fits = fitsAll(waiter.needs, now);
      if (fits) waiter.resolve(this.#take(waiter.needs));
      return !fits;
    });
  }

  async #ask(asking: readonly Waiter[]): Promise<void> {
    const pools = [...new Set(asking.flatMap(({ needs }) => needs.map(({ pool }) => pool)))];
    const asks = pools.map((pool) =>
      pool.ask(
        asking.flatMap(({ needs }) => needs.flatMap((need) => (need.pool === pool ? [need.amount] : []))),
      ),
    );
    await this.#exchange(pools, asks);
  }

  async #exchange(pools: readonly Pool[], asks: Ask[]): Promise<void> {
    const sentAt = monotonicMs();
    try {
      const grants = await this.#lease(asks);
      const answeredAt = monotonicMs();
      for (const [index, pool] of pools.entries()) {
        const grant = grants[index];
        if (grant !== undefined) pool.apply(grant, sentAt, answeredAt);
      }
    } catch (error) {
      const now = monotonicMs();
      for (const [index, pool] of pools.entries()) {
        const ask = asks[index];
        if (ask !== undefined) pool.failed(ask, now);
      }
      throw error;
    }
  }

  #refuse(waiter: Waiter, now: number): void {
    const { needs } = waiter;
    const isFresh = needs.every(({ pool }) => pool.isFresh(now));
    const short = needs.filter(({ pool, amount }) => pool.isFresh(now) && !pool.fits(amount, now));
    const [first] = short;
    // A lease that lapsed before it could be used says nothing, and a slot may be free in a moment: ask again.
    const mayCome = !isFresh || short.every(({ pool }) => pool.resource === Resource.CONCURRENCY);
    if (mayCome && waiter.tries > 1) {
      waiter.tries -= 1;
      setTimeout(
        () => {
          this.#waiting.push(waiter);
          this.#run();
        },
        isFresh ? slotRetryMs : 0,
      );
    } else if (first === undefined) {
      waiter.reject(new AppError('service_unavailable', 'The limits could not be read in time. Try again.'));
    } else {
      waiter.reject(refusal(first, needs, now));
    }
  }

  /** What lies unused goes back when its lease is over, and what there is little of at once. */
  #scheduleReturn(pools: Iterable<Pool>): void {
    if (this.#busy || this.#stopped) return;
    let first = Infinity;
    for (const pool of pools) if (pool.hasExcess) first = Math.min(first, pool.returnAt);
    if (first === Infinity) return;
    const now = monotonicMs();
    const at = Math.max(now + returnMs, first);
    if (this.#timer !== null && this.#timerAt <= at) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#start(() => this.#giveBack(false));
    }, at - now);
  }

  async #giveBack(all: boolean): Promise<void> {
    const now = monotonicMs();
    const pools = [...this.#pools.values()].filter((pool) => pool.hasExcess && (all || pool.returnAt <= now));
    if (pools.length === 0) return;
    // What could not be told is told again a second later.
    await this.#exchange(
      pools,
      pools.map((pool) => pool.ask([])),
    ).catch(() => undefined);
  }
}

function fitsAll(needs: readonly Need[], now: number): boolean {
  return needs.every(({ pool, amount }) => pool.fits(amount, now));
}
