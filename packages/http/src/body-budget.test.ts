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

describe('a body that is announced', () => {
  const KiB = 1024;
  const budgetOf = (waitMs?: number): BodyBudget =>
    new BodyBudget({ perTenant: 1_000 * KiB, perProcess: 1_500 * KiB, ...(waitMs && { waitMs }) });
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
    expect(budget.open('b', null).enter(1_000 * KiB)).toBeUndefined();
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

it('lets all bodies that come together come, and exceeds no limit of a tenant', async () => {
  const KiB = 1024;
  const body = fc.record({ tenant: fc.constantFrom('a', 'b'), pieces: fc.integer({ min: 1, max: 9 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(body, { maxLength: 60 }), async (bodies) => {
      const budget = new BodyBudget({ perTenant: 1_000 * KiB, perProcess: 10_000 * KiB });
      const held = { a: 0, b: 0 };
      const come = async ({ tenant, pieces }: { tenant: 'a' | 'b'; pieces: number }): Promise<void> => {
        const share = budget.open(tenant, null);
        await share.enter(pieces * 100 * KiB);
        for (let piece = 0; piece < pieces; piece += 1) {
          await Promise.resolve();
          share.grow(100 * KiB);
          held[tenant] += 100;
          expect(held[tenant]).toBeLessThanOrEqual(1_000);
        }
        held[tenant] -= pieces * 100;
        share.release();
      };
      await Promise.all(bodies.map(come));
      expect(budget.inUse).toEqual({ bytes: 0, tenants: 0 });
    }),
  );
});
