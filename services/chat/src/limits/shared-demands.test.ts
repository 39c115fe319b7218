import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Resource, type Ask, type Demand, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { Admission } from './admission.ts';
import { LimitRefusal } from './refusal.ts';
import { TenantLimits } from './tenant-limits.ts';

/** Requests with needs in several limits get all of them, or nothing. */

/** Limits of tokens, as the tenant service grants them: each demand whole or not at all, in order. */
class GrantedLimits {
  readonly calls: { asks: Ask[]; demands: Demand[] }[] = [];
  readonly left: Map<string, bigint>;
  readonly #limits: ReadonlyMap<string, bigint>;

  constructor(limits: Readonly<Record<string, bigint>>) {
    this.#limits = new Map(Object.entries(limits));
    this.left = new Map(this.#limits);
  }

  beforeAnswer: () => void = () => undefined;

  readonly lease = async (asks: Ask[], demands: Demand[]): Promise<Grant[]> => {
    this.calls.push({ asks, demands });
    this.beforeAnswer();
    const granted = asks.map(() => 0n);
    const room = (index: number): bigint => this.left.get(asks[index]?.subjectId ?? '') ?? 0n;
    for (const { subjectId, returned } of asks)
      this.left.set(subjectId, (this.left.get(subjectId) ?? 0n) + returned);
    for (const { needs } of demands) {
      if (needs.some(({ ask, amount }) => amount > room(ask))) continue;
      for (const { ask, amount } of needs) {
        granted[ask] = (granted[ask] ?? 0n) + amount;
        this.left.set(asks[ask]?.subjectId ?? '', room(ask) - amount);
      }
    }
    return asks.map(({ subjectId }, index) => ({
      ...{ limit: this.#limits.get(subjectId) ?? 0n, windowStart: 60_000n, granted: granted[index] ?? 0n },
      ...{ remaining: room(index), resetsInMs: 9_000n, validForMs: 60_000n },
    }));
  };
}

const all: TenantLimits[] = [];
afterEach(async () => {
  await Promise.all(all.splice(0).map((limits) => limits.stop()));
});

function setUp(largest: Readonly<Record<string, bigint>>) {
  const source = new GrantedLimits(largest);
  const limits = new TenantLimits(source.lease, 'here');
  all.push(limits);
  const admit = async (
    amounts: Readonly<Record<string, bigint>>,
    signal?: AbortSignal,
  ): Promise<Admission> => {
    const admission = new Admission();
    const needs = Object.entries(amounts).map(([subjectId, amount]) => ({
      limit: limits.limit(subjectId, Resource.TOKENS),
      amount,
    }));
    await limits.admit(admission, { needs }, signal);
    return admission;
  };
  return { source, limits, admit };
}

/** The subjects of the refusing limits; null for an admitted request. */
async function refusedBy(admissions: readonly Promise<unknown>[]): Promise<(string | null)[]> {
  const settled = await Promise.allSettled(admissions);
  return settled.map((each) => {
    if (each.status === 'fulfilled') return null;
    if (each.reason instanceof LimitRefusal) return each.reason.limit.subjectId;
    throw each.reason;
  });
}

describe('a request that needs several limits', () => {
  it('is refused by the one that is short, and leaves the others to those that wait with it', async () => {
    const { source, admit } = setUp({ tenant: 10n, group: 4n, user: 100n });
    const outcome = await refusedBy([
      admit({ tenant: 6n, group: 5n, user: 90n }),
      admit({ tenant: 10n, user: 100n }),
      admit({ tenant: 1n }),
    ]);
    expect(outcome).toEqual(['group', null, 'tenant']);
    expect(source.calls).toHaveLength(1);
    expect(source.calls[0]?.asks.map(({ needs }) => needs)).toEqual([[6n, 10n, 1n], [5n], [90n, 100n]]);
    expect(source.left).toEqual(
      new Map([
        ['tenant', 0n],
        ['group', 4n],
        ['user', 0n],
      ]),
    );
  });

  it('asks for what is not leased here alone', async () => {
    const { source, admit } = setUp({ tenant: 1_000n, user: 50n });
    (await admit({ tenant: 100n })).release();
    await admit({ tenant: 80n, user: 20n });
    expect(source.calls).toHaveLength(2);
    expect(source.calls[1]?.asks.map(({ subjectId }) => subjectId)).toEqual(['user']);
    expect(source.calls[1]?.demands).toEqual([{ needs: [{ ask: 0, amount: 20n }] }]);
    // 20 of the 100 are left here.
    await admit({ tenant: 20n });
    expect(source.calls).toHaveLength(2);
    await admit({ tenant: 1n });
    expect(source.calls).toHaveLength(3);
  });

  it('gives back what it has taken here when another limit refuses it', async () => {
    const { source, admit } = setUp({ tenant: 1_000n, user: 50n });
    (await admit({ tenant: 100n })).release();
    expect(await refusedBy([admit({ tenant: 80n, user: 60n })])).toEqual(['user']);
    await admit({ tenant: 100n });
    expect(source.calls).toHaveLength(2);
  });

  it('gives it back when its client leaves during the call', async () => {
    const { source, admit } = setUp({ tenant: 1_000n, user: 50n });
    (await admit({ tenant: 100n })).release();
    const leaving = new AbortController();
    source.beforeAnswer = () => leaving.abort(new Error('left'));
    await expect(admit({ tenant: 100n, user: 20n }, leaving.signal)).rejects.toThrow('left');
    source.beforeAnswer = () => undefined;
    await new Promise(setImmediate);
    await admit({ tenant: 100n });
    expect(source.calls).toHaveLength(2);
  });

  it('gives it back when the call fails', async () => {
    const { source, admit } = setUp({ tenant: 1_000n, user: 50n });
    (await admit({ tenant: 100n })).release();
    source.beforeAnswer = () => {
      throw new Error('away');
    };
    await expect(admit({ tenant: 100n, user: 20n })).rejects.toThrow('away');
    source.beforeAnswer = () => undefined;
    await admit({ tenant: 100n });
    expect(source.calls).toHaveLength(2);
  });

  it('spends nothing leased to an id since declared dead', async () => {
    const { source, limits, admit } = setUp({ user: 50n });
    source.beforeAnswer = () => {
      if (source.calls.length === 1) limits.renew('there');
    };
    await admit({ user: 20n });
    expect(source.calls).toHaveLength(2);
  });

  it('is admitted exactly where the tenant service grants it, and loses nothing', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const amount = fc.bigInt({ min: 0n, max: 60n });
    const request = fc.dictionary(fc.constantFrom(...names), amount, { minKeys: 1 });
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(...names.map(() => fc.bigInt({ min: 0n, max: 200n }))),
        fc.array(fc.array(request, { maxLength: 8 }), { maxLength: 5 }),
        async (max, rounds) => {
          const amounts = Object.fromEntries(names.map((name, index) => [name, max[index] ?? 0n]));
          const { source, limits, admit } = setUp(amounts);
          for (const round of rounds) {
            const room = { ...amounts };
            const expected = round.map((needs) => {
              const fits = Object.entries(needs).every(([name, need]) => need <= (room[name] ?? 0n));
              for (const [name, need] of Object.entries(needs))
                if (fits) room[name] = (room[name] ?? 0n) - need;
              return fits;
            });
            const admissions = round.map((needs) => admit(needs));
            const outcome = await refusedBy(admissions);
            expect(outcome.map((refused) => refused === null)).toEqual(expected);
            for (const [index, refused] of outcome.entries())
              if (refused !== null)
                expect((round[index]?.[refused] ?? 0n) > (room[refused] ?? 0n)).toBe(true);
            for (const each of await Promise.allSettled(admissions))
              if (each.status === 'fulfilled') each.value.release();
            await limits.stop();
            expect(Object.fromEntries(source.left)).toEqual(amounts);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
