import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BodyBudget, type BodyShare, type TenantShare } from './body-budget.ts';

const refusal = (code: string): unknown =>
  expect.objectContaining({ code, headers: { 'retry-after': '1', 'retry-after-ms': '1000' } });
const perTenantFull = refusal('rate_limit_exceeded');
const perProcessFull = refusal('service_unavailable');

describe('a body budget', () => {
  it('refuses a body whose announced size does not fit the rest of its tenant’s limit', () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 1_000 });
    const first = budget.open('a', 60);
    first.grow(60);
    expect(() => budget.open('a', 41)).toThrow(perTenantFull);
    budget.open('a', 40).grow(40);
    budget.open('b', 100).grow(100);
    first.release();
    expect(() => budget.open('a', 41)).not.toThrow();
  });

  it('refuses a body that does not fit the rest of the process’s limit, whatever its tenant', () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 150 });
    budget.open('a', 100).grow(100);
    expect(() => budget.open('b', 51)).toThrow(perProcessFull);
    expect(() => budget.open('b', 50)).not.toThrow();
  });

  it('charges nothing for what is announced and does not come', () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 100 });
    for (let opened = 0; opened < 40; opened += 1) budget.open('a', 100);
    expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
    expect(() => budget.open('a', 100).grow(100)).not.toThrow();
  });

  it('refuses bytes past the limit that were not announced, and keeps what the share had', () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 160 });
    budget.open('a', null).grow(60);
    const second = budget.open('a', null);
    second.grow(40);
    expect(() => second.grow(1)).toThrow(perTenantFull);
    const other = budget.open('b', 1);
    other.grow(50);
    expect(() => other.grow(1)).toThrow(perProcessFull);
    expect(budget.inUse).toEqual({ bytes: 150, tenants: 2 });
  });

  it('takes a body that is larger than a limit when it is the only one', () => {
    const budget = new BodyBudget({ perTenant: 10, perProcess: 20 });
    const large = budget.open('a', 30);
    large.grow(15);
    large.grow(15);
    expect(() => budget.open('a', 1)).toThrow(perTenantFull);
    expect(() => budget.open('b', 1)).toThrow(perProcessFull);
  });

  it('counts copies of a body that has begun without refusing them, and lets others wait until they are gone', async () => {
    const budget = new BodyBudget({ perTenant: 100_000, perProcess: 200_000 });
    const first = budget.open('a', 90_000);
    first.grow(90_000);
    first.copied(120_000);
    first.copied(110_000);
    expect(budget.inUse.bytes).toBe(200_000);
    expect(() => budget.open('b', 70_000)).toThrow(perProcessFull);
    const waiting = budget.open('b', null);
    let mayRead = false;
    const turn = waiting.enter(70_000)?.then(() => (mayRead = true));
    expect(turn).toBeDefined();
    await Promise.resolve();
    expect(mayRead).toBe(false);
    first.copied(0);
    await turn;
    first.copied(50_000);
    first.release();
    first.copied(50_000);
    waiting.release();
    expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
  });

  it('lets small bodies come while copies exceed its limits, as far as bodies leave room', () => {
    const MiB = 1024 * 1024;
    const budget = new BodyBudget({ perTenant: 48 * MiB, perProcess: 96 * MiB });
    for (const tenantId of ['a', 'b']) {
      const share = budget.open(tenantId, 31 * MiB);
      share.grow(31 * MiB);
      share.copied(31 * MiB);
    }
    expect(budget.inUse.bytes).toBeGreaterThan(96 * MiB);
    for (const tenantId of ['a', 'b', 'c']) {
      expect(budget.open(tenantId, null).enter(500)).toBeUndefined();
      const chunked = budget.open(tenantId, null);
      for (let piece = 0; piece < 4; piece += 1) chunked.grow(16 * 1024);
      // From here on it is no small one.
      expect(() => chunked.grow(1)).toThrow(tenantId === 'c' ? perProcessFull : perTenantFull);
    }
    const others = Array.from({ length: 2_000 }, (_, n) => budget.open(`d${n % 4}`, null));
    expect(() => others.forEach((share) => share.grow(64 * 1024))).toThrow(perProcessFull);
    expect(budget.inUse.bytes).toBeLessThanOrEqual((96 + 62) * MiB);
  });

  it('gets back what a part of a share has before the share ends', () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 200 });
    const share = budget.open('a', null);
    share.grow(40);
    const part = share.part();
    part.grow(50);
    part.grow(5);
    expect(() => budget.open('a', 10)).toThrow(perTenantFull);
    part.release();
    part.release();
    expect(budget.inUse).toEqual({ bytes: 40, tenants: 1 });
    part.grow(60);
    share.release();
    part.release();
    part.grow(10);
    expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
  });

  it('refuses a part of a share that does not fit beside other bodies', () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 200 });
    budget.open('a', null).grow(40);
    const part = budget.open('a', null).part();
    expect(() => part.grow(61)).toThrow(perTenantFull);
    expect(budget.inUse.bytes).toBe(40);
  });

  it('gets everything back once, and charges a released share nothing more', () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 100 });
    const share = budget.open('a', 10);
    share.grow(10);
    share.release();
    share.release();
    share.grow(1_000);
    expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
  });
});

describe('a body that is announced', () => {
  const KiB = 1024;
  const budgetOf = (waitMs?: number): BodyBudget =>
    new BodyBudget({
      perTenant: 1_000 * KiB,
      perProcess: 2_000 * KiB,
      ...(waitMs && { waitMs, arrivalMs: waitMs }),
    });
  /** Whether a promise is fulfilled by now. */
  async function isIn(promise: Promise<void> | undefined): Promise<boolean> {
    let done = promise === undefined;
    promise?.then(
      () => (done = true),
      () => undefined,
    );
    await new Promise(setImmediate);
    return done;
  }

  it('counts before it has come, and waits for its turn in the order of its tenant', async () => {
    const budget = budgetOf();
    const [first, second, third] = [1, 2, 3].map(() => budget.open('a', null));
    expect(first?.enter(900 * KiB)).toBeUndefined();
    const [large, next] = [second?.enter(600 * KiB), third?.enter(70 * KiB)];
    expect([await isIn(large), await isIn(next)]).toEqual([false, false]);
    expect(budget.open('b', null).enter(400 * KiB)).toBeUndefined();
    first?.grow(900 * KiB);
    first?.release();
    expect([await isIn(large), await isIn(next)]).toEqual([true, true]);
    second?.grow(600 * KiB);
    expect(() => second?.grow(400 * KiB)).toThrow(perTenantFull);
  });

  it('does not wait behind a larger one if it is small', () => {
    const budget = budgetOf();
    budget
      .open('a', null)
      .enter(900 * KiB)
      ?.catch(() => undefined);
    budget
      .open('a', null)
      .enter(600 * KiB)
      ?.catch(() => undefined);
    expect(budget.open('a', null).enter(64 * KiB)).toBeUndefined();
  });

  it('is refused when it has waited for long, or many others wait, and then the next one goes on', async () => {
    const budget = budgetOf(200);
    budget.open('a', 900 * KiB).grow(900 * KiB);
    const waits = Array.from({ length: 101 }, () => Promise.resolve(budget.open('a', null).enter(200 * KiB)));
    await expect(waits.pop()).rejects.toEqual(perTenantFull);
    const settled = await Promise.allSettled(waits);
    expect(settled.every(({ status }) => status === 'rejected')).toBe(true);
    const leaving = budget.open('a', null);
    const left = leaving.enter(200 * KiB);
    const small = budget.open('a', null).enter(80 * KiB);
    expect([await isIn(left), await isIn(small)]).toEqual([false, false]);
    leaving.release();
    expect([await isIn(left), await isIn(small)]).toEqual([true, true]);
  });

  it('that is not sent takes nothing for long', async () => {
    const budget = budgetOf(100);
    const silent = budget.open('a', null);
    expect(silent.enter(900 * KiB)).toBeUndefined();
    const next = budget.open('a', null);
    const turn = next.enter(600 * KiB);
    expect(turn).toBeDefined();
    await turn;
    silent.release();
    next.release();
  });
});

describe('tenants whose bodies take much', () => {
  const MiB = 1024 * 1024;
  const limits = { perTenant: 48 * MiB, perProcess: 96 * MiB };
  const pieceBytes = 64 * 1024;
  /** In the pieces in which sockets hand it over. */
  function arrive(share: TenantShare, bytes: number): void {
    for (let come = 0; come < bytes; come += pieceBytes) share.grow(pieceBytes);
  }
  interface Kind {
    announced: number | null;
    arrives: number;
  }
  /** Bodies of a tenant, until the next one may not come at once. */
  function fill(budget: BodyBudget, tenantId: string, { announced, arrives }: Kind): TenantShare[] {
    for (const shares: TenantShare[] = []; ;) {
      const share = budget.open(tenantId, null);
      shares.push(share);
      if (share.enter(announced) !== undefined) return shares;
      try {
        arrive(share, arrives);
      } catch (error) {
        expect([perTenantFull, perProcessFull]).toContainEqual(error);
        return shares;
      }
    }
  }

  it.each<[string, Kind]>([
    ['are announced', { announced: MiB, arrives: 0 }],
    ['have come', { announced: MiB, arrives: MiB }],
    ['come without having been announced', { announced: null, arrives: MiB }],
    ['are small', { announced: pieceBytes, arrives: pieceBytes }],
  ])('leave room for one that has nothing, when they %s', (_how, kind) => {
    const budget = new BodyBudget(limits);
    const filled = ['a', 'b'].map((tenantId) => fill(budget, tenantId, kind));
    const third = budget.open('c', null);
    expect(third.enter(20 * MiB)).toBeUndefined();
    arrive(third, 20 * MiB);
    expect(budget.inUse.bytes).toBeLessThanOrEqual(limits.perProcess);
    for (const share of [...filled.flat(), third]) share.release();
    expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
  });

  it('get what is free after one that has less', async () => {
    const budget = new BodyBudget({ perTenant: 90 * MiB, perProcess: 96 * MiB });
    const [large, other] = ['a', 'b'].map((tenantId) => budget.open(tenantId, 40 * MiB));
    for (const share of [large, other]) share?.grow(40 * MiB);
    const order: string[] = [];
    for (const [tenantId, bytes] of [
      ['b', 1],
      ['c', 30],
      ['d', 17],
      ['c', 1],
    ] as const)
      void budget
        .open(tenantId, null)
        .enter(bytes * MiB)
        ?.then(
          () => order.push(`${tenantId} ${bytes}`),
          // Those that get nothing are refused after the test.
          () => undefined,
        );
    large?.release();
    await new Promise(setImmediate);
    // Those of `b` and the second of `c` would have more than is free then.
    expect(order).toEqual(['d 17', 'c 30']);
  });

  it('have no more of the places to wait than are free', async () => {
    let refusals = 0;
    const budget = new BodyBudget({ ...limits, waitMs: 50, onRefusal: () => (refusals += 1) });
    budget.open('x', 96 * MiB).grow(96 * MiB);
    const waits: Promise<void>[] = [];
    const placesOf = (tenantId: string): number => {
      refusals = 0;
      for (let places = 0; ; places += 1) {
        waits.push(Promise.resolve(budget.open(tenantId, null).enter(MiB)));
        if (refusals > 0) return places;
      }
    };
    expect(['a', 'b', 'c', 'd', 'e'].map(placesOf)).toEqual([100, 100, 100, 50, 25]);
    await Promise.allSettled(waits);
    expect(budget.inUse.tenants).toBe(1);
  });
});

const step = fc.record({
  kind: fc.constantFrom('open', 'grow', 'release'),
  tenant: fc.constantFrom('a', 'b', 'c'),
  share: fc.nat(20),
  bytes: fc.nat(60),
});

it('never exceeds a limit that more than one body is charged to, and ends empty', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const limits = { perTenant: 50, perProcess: 100 };
      const budget = new BodyBudget(limits);
      const shares: { tenant: string; share: BodyShare; bytes: number }[] = [];
      for (const { kind, tenant, share: index, bytes } of steps) {
        const chosen = shares[index % Math.max(shares.length, 1)];
        try {
          if (kind === 'open') shares.push({ tenant, share: budget.open(tenant, bytes), bytes: 0 });
          else if (kind === 'grow' && chosen !== undefined) {
            chosen.share.grow(bytes);
            chosen.bytes += bytes;
          } else if (chosen !== undefined) {
            chosen.share.release();
            shares.splice(shares.indexOf(chosen), 1);
          }
        } catch (error) {
          expect([perTenantFull, perProcessFull]).toContainEqual(error);
        }
        const held = shares.filter((each) => each.bytes > 0);
        const sum = (of: typeof held): number => of.reduce((total, each) => total + each.bytes, 0);
        expect(budget.inUse).toEqual({
          bytes: sum(held),
          tenants: new Set(held.map((each) => each.tenant)).size,
        });
        if (held.length > 1) expect(sum(held)).toBeLessThanOrEqual(limits.perProcess);
        for (const name of ['a', 'b', 'c']) {
          const own = held.filter((each) => each.tenant === name);
          if (own.length > 1) expect(sum(own)).toBeLessThanOrEqual(limits.perTenant);
        }
      }
      for (const { share } of shares) share.release();
      expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
    }),
  );
});

it('lets bodies of many tenants come whole or refuses them before they begin, and ends empty', async () => {
  const KiB = 1024;
  const limits = { perTenant: 500 * KiB, perProcess: 1_000 * KiB };
  const body = fc.record({
    tenant: fc.integer({ min: 0, max: 7 }),
    pieces: fc.integer({ min: 1, max: 9 }),
    leavesAfter: fc.option(fc.nat(8)),
    /** Turns of the event loop for which it is held after it has come. */
    heldFor: fc.nat(3),
  });
  type Coming = typeof body extends fc.Arbitrary<infer Value> ? Value : never;
  await fc.assert(
    fc.asyncProperty(fc.array(body, { maxLength: 80 }), async (bodies) => {
      const budget = new BodyBudget(limits);
      const held = new Map<number, number>();
      const begun = new Set<number>();
      const sum = (): number => [...held.values()].reduce((total, bytes) => total + bytes, 0);
      const change = (tenant: number, bytes: number): void => {
        held.set(tenant, (held.get(tenant) ?? 0) + bytes);
      };
      const come = async ({ tenant, pieces, leavesAfter, heldFor }: Coming): Promise<void> => {
        const bytes = pieces * 65 * KiB;
        const isFirst = !begun.has(tenant);
        begun.add(tenant);
        const free = limits.perProcess - sum();
        const share = budget.open(String(tenant), null);
        const turn = share.enter(bytes);
        // One with nothing waits for no other tenant while there is room.
        if (isFirst && bytes <= free) expect(turn).toBeUndefined();
        if (turn !== undefined && leavesAfter === 0) {
          share.release();
          return;
        }
        if (turn !== undefined) await turn;
        change(tenant, bytes);
        expect(sum()).toBeLessThanOrEqual(limits.perProcess);
        const isAlone = held.get(tenant) === bytes;
        if (!isAlone) expect(held.get(tenant)).toBeLessThanOrEqual(limits.perTenant);
        // A body that has begun is not broken off.
        for (let piece = 0; piece < pieces && piece !== leavesAfter; piece += 1) {
          await new Promise(setImmediate);
          share.grow(65 * KiB);
        }
        for (let turns = 0; turns < heldFor; turns += 1) await new Promise(setImmediate);
        change(tenant, -bytes);
        share.release();
      };
      await Promise.all(bodies.map(come));
      expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
    }),
    { numRuns: 200 },
  );
});
