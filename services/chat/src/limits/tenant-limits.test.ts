import { afterEach, describe, expect, it } from '@jest/globals';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { maxPico } from '@gatehouse/kit/money';
import { Resource, type Ask, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { Admission, type Spent } from './admission.ts';
import type { LeasedLimit, Need } from './leased-limit.ts';
import { TenantLimits } from './tenant-limits.ts';

/** One limit, as the tenant service keeps it. */
class KeptLimit {
  readonly asks: Ask[][] = [];
  left: bigint;
  fails = false;
  answeredAt = 0;
  validForMs = 2_000n;
  /** Granted beyond what is needed. */
  slice = 0n;
  /** The part of a budget that is spent; it is not left. */
  spent = 0n;
  readonly #limit: bigint;
  readonly #resource: Resource;
  #held = 0n;

  constructor(resource: Resource, limit: bigint) {
    this.#resource = resource;
    this.#limit = limit;
    this.left = limit;
  }

  readonly lease = async (asks: Ask[]): Promise<Grant[]> => {
    this.asks.push(asks);
    const { fails } = this;
    await sleep(5);
    if (fails) throw new Error('away');
    this.answeredAt = monotonicMs();
    return asks.map((ask) => {
      const isHeld = this.#resource === Resource.CONCURRENCY || this.#resource === Resource.BUDGET;
      this.left += isHeld ? this.#held - ask.holding : ask.returned;
      let granted = 0n;
      for (const need of ask.needs) if (granted + need <= this.left) granted += need;
      granted += this.slice;
      this.left -= granted;
      this.#held = ask.holding + granted;
      const windowStart = isHeld ? 0n : 60_000n;
      return {
        limit: this.#limit,
        windowStart,
        granted,
        remaining: this.left,
        resetsInMs: 9_000n,
        validForMs: this.validForMs,
        ...(this.#resource === Resource.BUDGET && { spent: this.spent }),
      };
    });
  };
}

const all: TenantLimits[] = [];
// Its timers would keep the test process alive.
afterEach(async () => {
  await Promise.all(all.splice(0).map((limits) => limits.stop()));
});

async function admitted(limits: TenantLimits, needs: Need[]): Promise<Admission> {
  const admission = new Admission();
  await limits.admit(admission, { needs });
  return admission;
}

function setUp(resource: Resource, max: bigint) {
  const source = new KeptLimit(resource, max);
  const limits = new TenantLimits(source.lease, 'here');
  all.push(limits);
  const limit = limits.limit('tenant', resource);
  const admit = (amount = 1n): Promise<Admission> => admitted(limits, [{ limit, amount }]);
  return { source, limits, limit, admit };
}

/** A budget, and calls whose price is that of their tokens, from 100 on. */
function budgetOf(max: bigint, waitMs = 10_000) {
  const source = new KeptLimit(Resource.BUDGET, max);
  const limits = new TenantLimits(source.lease, 'here', { waitMs });
  all.push(limits);
  const limit = limits.limit('tenant', Resource.BUDGET);
  const call = async (tokens: bigint, signal?: AbortSignal) => {
    const admission = new Admission();
    const needs = [{ limit, amount: tokens }];
    const lowered = (left: (each: LeasedLimit) => bigint) => {
      const fits = left(limit);
      return tokens > 100n && fits >= 100n ? [{ limit, amount: fits < tokens ? fits : tokens }] : null;
    };
    const [taken] = await limits.admit(admission, { needs, lowered }, signal);
    return { admission, tokens: taken?.amount };
  };
  return { source, limits, limit, call };
}

/** The request is over, with its call. */
function end(admission: Admission, spent: Partial<Spent>): void {
  admission.reservation.spend({ tokens: 0, costPico: 0n, ...spent });
  admission.release();
}

async function codes(admissions: Promise<Admission>[]): Promise<string[]> {
  const settled = await Promise.allSettled(admissions);
  return settled.map((each) =>
    each.status === 'fulfilled' ? 'in' : String((each.reason as { code: unknown }).code),
  );
}

describe('a replica’s leases of a tenant’s limits', () => {
  it('are not needed for as many slots as need none, also while the tenant service is away', async () => {
    const { source, limit, admit } = setUp(Resource.CONCURRENCY, 1_000n);
    limit.allowance = 2n;
    source.fails = true;
    const [first] = [await admit(), await admit()];
    expect(source.asks).toEqual([]);
    expect(await codes([admit()])).toEqual(['undefined']);
    first.release();
    await admit();
    source.fails = false;
    expect(await codes([admit()])).toEqual(['in']);
    // A slot without a lease is nothing that the replica holds.
    expect(source.asks.at(-1)?.[0]).toMatchObject({ holding: 0n, needs: [1n] });
  });

  it('lets in as many as are granted, in one call for all that wait', async () => {
    const { source, admit } = setUp(Resource.REQUESTS, 3n);
    const outcome = await codes(Array.from({ length: 5 }, () => admit()));
    expect(outcome).toEqual(['in', 'in', 'in', 'rate_limit_exceeded', 'rate_limit_exceeded']);
    expect(source.asks).toHaveLength(1);
  });

  it('never has a Retry-After end before the window, however long the answer took', async () => {
    const { source, limit, admit } = setUp(Resource.REQUESTS, 3n);
    await admit();
    expect(limit.resetsAt).toBeGreaterThanOrEqual(source.answeredAt + 9_000);
  });

  it('serves requests that come during a call from its grant, and asks again for the others only', async () => {
    const { source, admit } = setUp(Resource.REQUESTS, 10n);
    source.slice = 2n;
    const first = admit();
    while (source.asks.length === 0) await new Promise(setImmediate);
    const outcome = await codes([first, ...Array.from({ length: 4 }, () => admit())]);
    expect(outcome).toEqual(['in', 'in', 'in', 'in', 'in']);
    expect(source.asks.map(([ask]) => ask?.needs)).toEqual([[1n], [1n, 1n]]);
  });

  it('asks again before it refuses, and not while what it has will do', async () => {
    const { source, admit } = setUp(Resource.TOKENS, 1_000n);
    const first = await admit(600n);
    end(first, { tokens: 100 });
    await admit(500n);
    expect(source.asks).toHaveLength(1);
    expect(await codes([admit(900n)])).toEqual(['rate_limit_exceeded']);
    expect(await codes([admit(400n)])).toEqual(['in']);
    expect(source.asks).toHaveLength(3);
  });

  it('gives back what was reserved and not spent, once', async () => {
    const { source, limits, admit } = setUp(Resource.BUDGET, 1_000n);
    const admission = await admit(1_000n);
    expect(admission.reservation.charges).toEqual([{ subjectId: 'tenant', windowStart: 0 }]);
    end(admission, { costPico: 300n });
    end(admission, { costPico: 1_000n });
    await limits.stop();
    expect(source.left).toBe(700n);
    // Until the tenant service has charged it.
    limits.settled('tenant', 300n, 0n);
    await limits.stop();
    expect(source.asks.at(-1)).toMatchObject([{ holding: 0n }]);
  });

  it('reports what was spent beyond the lease', async () => {
    const { source, limits, admit } = setUp(Resource.TOKENS, 1_000n);
    end(await admit(100n), { tokens: 400 });
    await limits.stop();
    expect(source.left).toBe(600n);
  });

  it('gives a slot back soon, and waits a moment for one before it refuses', async () => {
    const { source, admit } = setUp(Resource.CONCURRENCY, 1n);
    const first = await admit();
    const second = admit();
    await sleep(20);
    first.release();
    (await second).release();
    await eventually(() => expect(source.left).toBe(1n), 3_000);
    await admit();
    expect(await codes([admit()])).toEqual(['rate_limit_exceeded']);
  });

  it('refuses by nothing that has lapsed, and says 503 when every lease does', async () => {
    const { source, admit } = setUp(Resource.REQUESTS, 60n);
    source.validForMs = 1n;
    expect(await codes([admit()])).toEqual(['service_unavailable']);
    expect(source.asks.length).toBeGreaterThan(1);
    source.validForMs = 2_000n;
    expect(await codes([admit()])).toEqual(['in']);
  });

  it('gives back later what it could not give back at once', async () => {
    const { source, limits, admit } = setUp(Resource.CONCURRENCY, 1n);
    const admission = await admit();
    source.fails = true;
    admission.release();
    await eventually(() => expect(source.asks.length).toBeGreaterThan(1), 2_000);
    expect(source.left).toBe(0n);
    source.fails = false;
    await eventually(() => expect(source.left).toBe(1n));
    await limits.stop();
  });

  it('reports overspending again after a failed call', async () => {
    const { source, limits, admit } = setUp(Resource.TOKENS, 1_000n);
    const admission = await admit(100n);
    source.fails = true;
    end(admission, { tokens: 400 });
    await expect(admit(1n)).rejects.toThrow('away');
    expect(source.asks.at(-1)).toMatchObject([{ returned: -300n }]);
    source.fails = false;
    await limits.stop();
    expect(source.left).toBe(600n);
  });

  it('keeps the slots of its requests when it was taken for dead, and none of its money', async () => {
    const slots = setUp(Resource.CONCURRENCY, 10n);
    const first = await slots.admit();
    slots.limits.renew('there');
    await eventually(() => expect(slots.source.asks.at(-1)).toMatchObject([{ holding: 1n }]), 1_000);
    first.release();
    await slots.limits.stop();
    expect(slots.source.left).toBe(10n);

    const money = setUp(Resource.BUDGET, 1_000n);
    const paid = await money.admit(400n);
    money.limits.renew('there');
    const next = await money.admit(100n);
    expect([paid, next].map(({ reservation }) => reservation.holderId)).toEqual(['here', 'there']);
    end(paid, { costPico: 400n });
    end(next, { costPico: 50n });
    await money.limits.stop();
    expect(money.source.asks.at(-1)).toMatchObject([{ holding: 50n }]);
  });

  it('names no more than the RPC can hold, however much runs have cost', async () => {
    const money = setUp(Resource.BUDGET, maxPico);
    const runs = await Promise.all(Array.from({ length: 6 }, () => money.admit()));
    for (const run of runs) end(run, { costPico: maxPico });
    await money.limits.stop();
    expect(money.source.asks.flat().every(({ holding }) => holding <= maxPico)).toBe(true);
    expect(money.source.asks.flat().some(({ holding }) => holding === maxPico)).toBe(true);
  });

  it('passes on why nothing could be leased, and goes on when it can', async () => {
    const { source, limits, admit } = setUp(Resource.REQUESTS, 3n);
    source.fails = true;
    await expect(admit()).rejects.toThrow('away');
    source.fails = false;
    await admit();
    await limits.stop();
  });

  it('lets everything in when the limit was lifted', async () => {
    const grant = { windowStart: 0n, granted: 0n, remaining: 0n, resetsInMs: 0n, validForMs: 0n };
    const limits = new TenantLimits(async (asks) => asks.map(() => grant), 'here');
    const limit = limits.limit('tenant', Resource.REQUESTS);
    const admission = await admitted(limits, [{ limit, amount: 5n }]);
    expect(admission.reservation.charges).toBeNull();
    admission.release();
    await forgotten(limits);
  });

  it.each([
    ['slots', Resource.CONCURRENCY],
    ['tokens', Resource.TOKENS],
    ['money', Resource.BUDGET],
  ])('is not forgotten while a request holds %s', async (_name, resource) => {
    const { source, limits, admit } = setUp(resource, 700n);
    source.validForMs = 300n;
    const admission = await admit(100n);
    await sleep(600);
    expect(limits.forgetIdle()).toBe(false);
    end(admission, { tokens: 40 });
    await forgotten(limits);
    expect(source.left).toBe(resource === Resource.TOKENS ? 660n : 700n);
  });
});

describe('a budget that requests under way have reserved', () => {
  it('makes a request wait for its turn', async () => {
    const { call } = budgetOf(1_000n);
    const first = await call(900n);
    const second = call(800n);
    await sleep(50);
    end(first.admission, { costPico: 10n });
    expect((await second).tokens).toBe(800n);
  });

  it('lets in at once what fits beside them', async () => {
    const { call } = budgetOf(1_000n);
    await call(900n);
    expect((await call(100n)).tokens).toBe(100n);
  });

  it('lowers the call when the wait is over, and says when to try again where even that does not fit', async () => {
    const { call } = budgetOf(1_000n, 100);
    await call(700n);
    const second = await call(900n);
    expect(second.tokens).toBe(300n);
    await expect(call(900n)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      headers: { 'retry-after': '2' },
    });
  });

  it('lets no other request overtake one that has waited for a second', async () => {
    const { call } = budgetOf(1_000n);
    const first = await call(600n);
    const second = call(900n);
    expect((await call(100n)).tokens).toBe(100n);
    await sleep(1_300);
    const late = call(90n);
    let isIn = false;
    void late.then(() => (isIn = true));
    await sleep(400);
    expect(isIn).toBe(false);
    first.admission.release();
    const { tokens, admission } = await second;
    expect(tokens).toBe(900n);
    admission.release();
    expect((await late).tokens).toBe(90n);
  });

  it('forgets a request whose client leaves', async () => {
    const { call, source } = budgetOf(1_000n);
    const first = await call(900n);
    const leaving = new AbortController();
    const second = call(800n, leaving.signal);
    await sleep(20);
    leaving.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    first.admission.release();
    await eventually(() => expect(source.left).toBe(1_000n), 3_000);
  });

  it('is held by a run with further calls for what it has spent, and no longer for what it reserved', async () => {
    const { call, limits, limit, source } = budgetOf(1_000n);
    const first = await call(900n);
    first.admission.reservation.spend({ tokens: 0, costPico: 30n });
    first.admission.reservation.lessen();
    const other = await call(970n);
    expect(other.tokens).toBe(970n);
    other.admission.release();
    // Further calls of the same run, which all count.
    for (let calls = 1; calls <= 9; calls += 1) {
      await limits.admit(first.admission, { needs: [{ limit, amount: 100n }] });
      first.admission.reservation.spend({ tokens: 0, costPico: 100n });
      first.admission.reservation.lessen();
    }
    await limits.stop();
    expect(source.left).toBe(70n);
    first.admission.release();
    await limits.stop();
    expect(source.left).toBe(70n);
  });
});

describe('a budget of which little is left', () => {
  it('lowers a call at once that it could never hold', async () => {
    const { call, source } = budgetOf(1_000n);
    source.spent = 600n;
    source.left = 400n;
    expect((await call(5_000n)).tokens).toBe(400n);
  });

  it.each([
    [1_000n, 'The budget is spent.'],
    [950n, 'The request may cost more than what is left of the budget. Lower max_tokens'],
  ])('refuses what %d of 1,000 leave no room for, and does not wait', async (spent, message) => {
    const { call, source } = budgetOf(1_000n);
    source.spent = spent;
    source.left = 1_000n - spent;
    const refused = call(500n);
    await expect(refused).rejects.toMatchObject({ code: 'insufficient_quota' });
    await expect(refused).rejects.toThrow(message);
  });
});

async function forgotten(limits: TenantLimits): Promise<void> {
  const until = monotonicMs() + 5_000;
  while (!limits.forgetIdle()) {
    expect(monotonicMs()).toBeLessThan(until);
    await sleep(10);
  }
}
