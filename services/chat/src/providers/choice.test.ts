import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Choices, weightedOrder, type Member } from './choice.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const member = fc.record({
  name: fc.string({ minLength: 1, maxLength: 20 }),
  weight: fc.integer({ min: 1, max: 50 }),
});
const members = fc.uniqueArray(member, { minLength: 2, maxLength: 8, selector: ({ name }) => name });

const sessions = Array.from({ length: 10_000 }, (_, n) => `session-${n}`);
const names = (order: readonly Member[]): string[] => order.map(({ name }) => name);

/** The share of each member among the first choices. */
function sharesOf(all: readonly Member[], affinities: readonly (string | null)[]): number[] {
  const counts = new Map<string, number>();
  for (const affinity of affinities) {
    const [first] = weightedOrder(all, affinity);
    if (first !== undefined) counts.set(first.name, (counts.get(first.name) ?? 0) + 1);
  }
  return all.map(({ name }) => (counts.get(name) ?? 0) / affinities.length);
}

function weightsOf(all: readonly Member[]): number[] {
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  return all.map(({ weight }) => weight / total);
}

describe('the order of members', () => {
  it.each([
    ['of sessions', sessions],
    ['of requests without one', sessions.map(() => null)],
  ])('has shares %s that are the weights, within 2 %', (_what, affinities) => {
    fc.assert(
      fc.property(members, (all) => {
        const weights = weightsOf(all);
        for (const [index, share] of sharesOf(all, affinities).entries())
          expect(Math.abs(share - (weights[index] ?? 0))).toBeLessThan(0.02);
      }),
      { numRuns: 4 },
    );
  });

  it('is the same for a session each time, whatever the order of the members', () => {
    fc.assert(
      fc.property(members, fc.string(), (all, session) => {
        const order = names(weightedOrder(all, session));
        expect(names(weightedOrder(all.toReversed(), session))).toEqual(order);
        expect(order.toSorted()).toEqual(names(all).toSorted());
      }),
    );
  });

  it('moves the sessions of a member that goes, and no others', () => {
    fc.assert(
      fc.property(members, fc.array(fc.string(), { maxLength: 50 }), (all, some) => {
        const [gone, ...rest] = all;
        for (const session of some) {
          const before = names(weightedOrder(all, session)).filter((name) => name !== gone?.name);
          expect(names(weightedOrder(rest, session))).toEqual(before);
        }
      }),
    );
  });

  it('divides the sessions of a member that fails by the weights of the others', () => {
    const all = [3, 1, 2].map((weight, n) => ({ name: `m${n}`, weight }));
    const moved = sessions
      .map((session) => names(weightedOrder(all, session)))
      .filter(([first]) => first === 'm0');
    const share = moved.filter(([, second]) => second === 'm2').length / moved.length;
    expect(Math.abs(share - 2 / 3)).toBeLessThan(0.02);
  });
});

describe('a session that was served by another member', () => {
  const all = ['a', 'b', 'c'].map((name) => ({ name, weight: 1 }));
  const first = (choices: Choices, affinity: string | null): string =>
    choices.order('group', all, affinity)[0]?.name ?? '';
  let now = 0;
  const made = (): Choices => new Choices(() => now);
  const minute = 60_000;

  it('stays with it for five minutes, renewed by each call', () => {
    const choices = made();
    const natural = first(choices, 's');
    const other = all.find(({ name }) => name !== natural)?.name ?? '';
    choices.served('group', other, { affinity: 's', wasFirst: false });
    now += 4 * minute;
    expect(first(choices, 's')).toBe(other);
    choices.served('group', other, { affinity: 's', wasFirst: true });
    now += 4 * minute;
    expect(first(choices, 's')).toBe(other);
    expect(choices.order('another group', all, 's')).toEqual(weightedOrder(all, 's'));
    now += 2 * minute;
    expect(first(choices, 's')).toBe(natural);
  });

  it('stays with none that is gone', () => {
    const choices = made();
    choices.served('group', 'gone', { affinity: 's', wasFirst: false });
    expect(choices.order('group', all, 's')).toEqual(weightedOrder(all, 's'));
  });

  it('takes no memory as long as its first member serves it', () => {
    const choices = made();
    for (const session of sessions)
      choices.served('group', first(choices, session), { affinity: session, wasFirst: true });
    expect(choices.size).toBe(0);
  });

  it('is forgotten with time, and takes bounded memory with 100,000 others', () => {
    const choices = made();
    const long = 'g'.repeat(10_000);
    const serve = (n: number): void =>
      choices.served(long, 'a', { affinity: `${n} ${'x'.repeat(1_000)}`, wasFirst: false });
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 110_000; n += 1) serve(n);
    collect();
    expect(choices.size).toBe(100_000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40 * 1024 * 1024);
    now += 6 * minute;
    serve(0);
    expect(choices.size).toBe(1);
  });
});
