import { monotonicMs } from '@gatehouse/kit/clock';
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
 * for the next one, so that many requests share a call.
 */
export class TenantQuota {
  readonly #lease: Lease;
  readonly #pools = new Map<string, Pool>();
  #waiting: Waiter[] = [];
  #busy = false;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = 0;
  #usedAt = monotonicMs();

  constructor(lease: Lease) {
    this.#lease = lease;
  }

  /** Since when nobody has asked for anything, and nothing lies here. Infinity while it is in use. */
  get idleSince(): number {
    const inUse =
      this.#busy || this.#timer !== null || [...this.#pools.values()].some((pool) => pool.isInUse);
    return inUse ? Infinity : this.#usedAt;
  }

  /** What is leased of a limit of the tenant or of one of its keys. */
  pool(subjectId: string, resource: Resource): Pool {
    const name = `${subjectId} ${resource}`;
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
    return new Promise((resolve, reject) => {
      this.#waiting.push({ needs, resolve, reject, tries: slotTries });
      this.#run();
    });
  }

  /** The tenant service has charged `amount` to a budget. */
  settled(subjectId: string, amount: bigint, windowStart: bigint): void {
    this.pool(subjectId, Resource.BUDGET).settled(amount, windowStart);
    this.#scheduleReturn();
  }

  /** Gives back what is free here. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#giveBack(true);
  }

  #take(needs: readonly Need[]): Admission {
    this.#scheduleReturn();
    return new Admission(needs, () => this.#scheduleReturn());
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
      else this.#scheduleReturn();
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
    const grants = await this.#lease(asks);
    for (const [index, pool] of pools.entries()) {
      const grant = grants[index];
      if (grant !== undefined) pool.apply(grant, sentAt);
    }
  }

  #refuse(waiter: Waiter, now: number): void {
    const short = waiter.needs.filter(({ pool, amount }) => !pool.fits(amount, now));
    const [first] = short;
    // What was leased lapsed before it could be used, or it is slots alone that are short: ask again.
    const mayCome = first === undefined || short.every(({ pool }) => pool.resource === Resource.CONCURRENCY);
    if (!mayCome || waiter.tries <= 1) {
      waiter.reject(refusal(first ?? waiter.needs[0], waiter.needs, now));
      return;
    }
    waiter.tries -= 1;
    setTimeout(() => {
      this.#waiting.push(waiter);
      this.#run();
    }, slotRetryMs);
  }

  /** What lies unused goes back when its lease is over, and what there is little of at once. */
  #scheduleReturn(): void {
    if (this.#busy) return;
    const excess = [...this.#pools.values()].filter((pool) => pool.hasExcess);
    if (excess.length === 0) return;
    const now = monotonicMs();
    const at = Math.max(now + returnMs, Math.min(...excess.map((pool) => pool.returnAt)));
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
    // What could not be given back lapses, and is counted as spent until its window or this replica ends.
    await this.#exchange(
      pools,
      pools.map((pool) => pool.ask([])),
    ).catch(() => undefined);
  }
}

function fitsAll(needs: readonly Need[], now: number): boolean {
  return needs.every(({ pool, amount }) => pool.fits(amount, now));
}
