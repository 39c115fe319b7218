import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BodyBudget, type BodyShare } from './body-budget.ts';

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
    const budget = new BodyBudget({ perTenant: 100, perProcess: 150 });
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

describe('a body that arrives', () => {
  const tick = (): Promise<void> => new Promise(setImmediate);
  /** Resolves to whether a promise is fulfilled by now. */
  async function isDone(promise: Promise<void> | undefined): Promise<boolean> {
    let done = promise === undefined;
    promise?.then(
      () => (done = true),
      () => undefined,
    );
    await tick();
    return done;
  }

  it('waits for its turn, in the order of its tenant', async () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 1_000 });
    const first = budget.open('a', null);
    expect(first.take(90)).toBeUndefined();
    const [second, third] = [budget.open('a', null), budget.open('a', null)];
    const [large, small] = [second.take(60), third.take(5)];
    expect([await isDone(large), await isDone(small)]).toEqual([false, false]);
    expect(budget.open('b', null).take(100)).toBeUndefined();
    first.release();
    expect([await isDone(large), await isDone(small)]).toEqual([true, true]);
    expect(budget.inUse).toEqual({ bytes: 165, tenants: 2 });
  });

  it('goes on if it is the oldest: of bodies that have all begun, one gets done', async () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 150 });
    const [first, second, other] = [budget.open('a', null), budget.open('a', null), budget.open('b', null)];
    for (const share of [first, second, other]) expect(share.take(50)).toBeUndefined();
    const waits = [second.take(20), other.take(20)];
    expect(await Promise.all(waits.map(isDone))).toEqual([false, false]);
    expect(first.take(80)).toBeUndefined();
    first.release();
    expect(await Promise.all(waits.map(isDone))).toEqual([true, true]);
  });

  it('is refused when it has waited for long, or many others wait', async () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 1_000, waitMs: 200 });
    budget.open('a', 100).grow(100);
    const waits = Array.from({ length: 101 }, () => Promise.resolve(budget.open('a', null).take(1)));
    await expect(waits.pop()).rejects.toEqual(perTenantFull);
    expect(await isDone(waits[0])).toBe(false);
    const settled = await Promise.allSettled(waits);
    expect(settled.every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('that is given up while it waits takes nothing', async () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 1_000 });
    const first = budget.open('a', null);
    expect(first.take(100)).toBeUndefined();
    const second = budget.open('a', null);
    const wait = second.take(50);
    second.release();
    expect(await isDone(wait)).toBe(true);
    first.release();
    expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
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

it('lets all bodies that arrive together arrive, and exceeds each limit by one body at most', async () => {
  const body = fc.record({ tenant: fc.constantFrom('a', 'b', 'c'), pieces: fc.integer({ min: 1, max: 9 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(body, { maxLength: 60 }), async (bodies) => {
      const budget = new BodyBudget({ perTenant: 100, perProcess: 150 });
      let most = 0;
      const arrive = async ({ tenant, pieces }: { tenant: string; pieces: number }): Promise<void> => {
        const share = budget.open(tenant, null);
        for (let piece = 0; piece < pieces; piece += 1) {
          await share.take(10);
          most = Math.max(most, budget.inUse.bytes);
        }
        share.release();
      };
      await Promise.all(bodies.map(arrive));
      expect(most).toBeLessThanOrEqual(150 + 90);
      expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
    }),
  );
});
