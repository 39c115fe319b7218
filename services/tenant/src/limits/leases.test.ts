import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  lease as leaseTogether,
  moveWindow,
  taken,
  thresholdsReached,
  validForMs,
  type Ask,
  type AskedLimit,
  type Demand,
  type Lease,
  type LimitUse,
  type Resource,
} from './leases.ts';

const minute = { start: 60_000, end: 120_000 };

function limitUse(fields: Partial<LimitUse> = {}): LimitUse {
  return { limit: 60n, window: minute, name: minute.start, used: 0n, othersHold: 0n, inUse: 0n, ...fields };
}

/** An ask for one limit, and requests with needs in it alone. */
interface Needed extends Ask {
  needs: readonly bigint[];
}

function ask(needs: readonly number[], fields: Partial<Needed> = {}): Needed {
  return { windowStart: minute.start, returned: 0n, holding: 0n, needs: needs.map(BigInt), ...fields };
}

function lease(resource: Resource, state: LimitUse, { needs, ...rest }: Needed, replicas: number): Lease {
  const demands = needs.map((amount) => [{ ask: 0, amount }]);
  const [leased] = leaseTogether(
    [{ resource, limitUse: state, ask: rest, inAdvance: true, chargesOnly: false }],
    demands,
    replicas,
  );
  if (leased === undefined || leased === null) throw new Error('nothing was leased');
  return leased;
}

describe('a lease of what is counted', () => {
  it('grants what fits, in order, and no more of a small limit', () => {
    expect(lease('requests', limitUse({ used: 58n }), ask([1, 1, 1]), 1)).toMatchObject({
      granted: 2n,
      used: 60n,
      remaining: 0n,
    });
    expect(lease('tokens', limitUse({ used: 30n }), ask([40, 20, 10]), 1)).toMatchObject({
      granted: 30n,
      used: 60n,
    });
  });

  it('takes back what was leased in the same window, and nothing of another one', () => {
    expect(lease('requests', limitUse({ used: 60n }), ask([1, 1], { returned: 1n }), 1)).toMatchObject({
      granted: 1n,
      used: 60n,
    });
    const old = ask([1], { returned: 5n, windowStart: 0 });
    expect(lease('requests', limitUse({ used: 60n }), old, 1)).toMatchObject({ granted: 0n, used: 60n });
  });

  it('adds a slice of a large limit: an eighth of what is left, shared by the replicas', () => {
    expect(lease('requests', limitUse({ limit: 16_001n }), ask([1]), 2).granted).toBe(1_001n);
    expect(lease('requests', limitUse({ limit: 16_001n }), ask([]), 2).granted).toBe(0n);
    // Too few for a slice for later requests.
    expect(lease('tokens', limitUse({ limit: 16_000n }), ask([1_000]), 2).granted).toBe(1_000n);
  });
});

describe('a lease of what is held', () => {
  const money = (fields: Partial<LimitUse> = {}): LimitUse => limitUse({ limit: 600n, ...fields });

  it('counts what others hold, and sets what the replica keeps', () => {
    const asked = ask([100, 100], { holding: 150n });
    expect(lease('budget', money({ used: 200n, othersHold: 100n }), asked, 1)).toMatchObject({
      granted: 100n,
      hold: 250n,
      used: 200n,
      remaining: 50n,
    });
  });

  it('does not count what the replica held in another window', () => {
    const asked = ask([100], { holding: 600n, windowStart: 0 });
    expect(lease('budget', money(), asked, 1)).toMatchObject({ granted: 100n, hold: 100n, used: 0n });
  });

  it('keeps slots over the minutes', () => {
    const slots = limitUse({ limit: 10n, window: { start: 0, end: null }, name: 0, othersHold: 4n });
    expect(lease('concurrency', slots, ask([1, 1, 1], { windowStart: 0, holding: 5n }), 1)).toMatchObject({
      granted: 1n,
      hold: 6n,
      used: 0n,
    });
  });
});

it('grants no more than is left, for every sequence of asks', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 13n });
  fc.assert(
    fc.property(
      fc.record({
        limit: amount,
        used: amount,
        othersHold: amount,
        holding: amount,
        needs: fc.array(amount, { maxLength: 20 }),
        replicas: fc.integer({ min: 0, max: 20 }),
        resource: fc.constantFrom('requests', 'tokens', 'concurrency', 'budget'),
      }),
      ({ limit, used, othersHold, holding, needs, replicas, resource }) => {
        const state = limitUse({ limit, used, othersHold });
        const before = lease(resource, state, { ...ask([]), holding }, replicas);
        const leased = lease(resource, state, { ...ask([]), holding, needs }, replicas);
        expect(leased.granted).toBeLessThanOrEqual(before.remaining);
        expect(leased.granted + leased.remaining).toBe(before.remaining);
      },
    ),
  );
});

describe('demands of several limits', () => {
  const limitsOf = (limits: readonly bigint[], resource: Resource = 'budget'): AskedLimit[] =>
    limits.map((limit) => ({
      resource,
      limitUse: limitUse({ limit }),
      ask: ask([]),
      inAdvance: true,
      chargesOnly: false,
    }));
  const grantedOf = (limits: readonly bigint[], demands: readonly Demand[]) =>
    leaseTogether(limitsOf(limits), demands, 1).map((leased) => leased?.granted);

  it('are granted in order, each whole or not at all', () => {
    const demands = [
      [
        { ask: 0, amount: 6n },
        { ask: 1, amount: 5n },
      ],
      [
        { ask: 0, amount: 3n },
        { ask: 1, amount: 6n },
        { ask: 2, amount: 1n },
      ],
      [
        { ask: 0, amount: 4n },
        { ask: 2, amount: 2n },
      ],
    ];
    expect(grantedOf([10n, 10n, 10n], demands)).toEqual([10n, 5n, 2n]);
  });

  it('count a limit that they name twice twice', () => {
    const twice = [
      { ask: 0, amount: 6n },
      { ask: 0, amount: 5n },
    ];
    expect(grantedOf([10n], [twice])).toEqual([0n]);
    expect(grantedOf([11n], [twice])).toEqual([11n]);
  });

  it('need no room where nothing is limited', () => {
    const demand = [
      { ask: 0, amount: 6n },
      { ask: 1, amount: 7n },
    ];
    const leased = leaseTogether([null, ...limitsOf([7n])], [demand], 1);
    expect(leased).toMatchObject([null, { granted: 7n }]);
  });

  it('that one limit refuses get no slice of the others', () => {
    const demand = [
      { ask: 0, amount: 1n },
      { ask: 1, amount: 1n },
    ];
    expect(grantedOf([0n, 10n ** 6n], [demand])).toEqual([0n, 0n]);
    expect(grantedOf([1n, 10n ** 6n], [demand])[1]).toBeGreaterThan(1n);
  });

  it('never exceed a limit, and leave every limit as it was where they are refused', () => {
    const amount = fc.bigInt({ min: 0n, max: 1_000n });
    const limits = fc.array(
      fc.record({ limit: fc.bigInt({ min: 0n, max: 5_000n }), used: amount, othersHold: amount }),
      { minLength: 1, maxLength: 8 },
    );
    const demand = fc.array(fc.record({ ask: fc.nat(7), amount }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        limits,
        fc.array(demand, { maxLength: 12 }),
        fc.constantFrom<Resource>('requests', 'tokens', 'concurrency', 'budget'),
        (states, all, resource) => {
          const demands = all.map((each) => each.map((need) => ({ ...need, ask: need.ask % states.length })));
          const start = states.map((state) => ({
            ...{ resource, limitUse: limitUse(state), ask: ask([]), inAdvance: true, chargesOnly: false },
          }));
          const room = start.map(({ limitUse: { limit, used, othersHold } }) =>
            limit > used + othersHold ? limit - used - othersHold : 0n,
          );
          const granted = (some: readonly Demand[]) => leaseTogether(start, some, 1);
          // One after another, as if each came alone: a refused one changes nothing.
          const fitting: Demand[] = [];
          const left = [...room];
          for (const each of demands) {
            const needed = left.map((_, index) =>
              each.reduce((sum, need) => (need.ask === index ? sum + need.amount : sum), 0n),
            );
            if (needed.some((sum, index) => sum > (left[index] ?? 0n))) continue;
            fitting.push(each);
            for (const [index, sum] of needed.entries()) left[index] = (left[index] ?? 0n) - sum;
          }
          expect(granted(demands)).toEqual(granted(fitting));
          for (const [index, leased] of granted(demands).entries()) {
            expect((leased?.granted ?? 0n) + (leased?.remaining ?? 0n)).toBe(room[index]);
            expect(
              (leased?.granted ?? 0n) - (leased?.spare ?? 0n) >= (room[index] ?? 0n) - (left[index] ?? 0n),
            ).toBe(true);
          }
        },
      ),
    );
  });
});

describe('the window to count in', () => {
  const day = 86_400_000;
  const days = (from: number, to: number) => ({ start: from * day, end: to * day });
  const counted = (name: number, bounds: { start: number; end: number } | null) => ({
    name: name * day,
    bounds,
  });

  it.each([
    ['is kept while it lasts', days(5, 6), counted(5, days(5, 6)), [5, days(5, 6), 'kept']],
    ['is new where nothing was counted', days(5, 6), counted(0, null), [5, days(5, 6), 'zero']],
    ['is new when the one before is over', days(6, 7), counted(5, days(5, 6)), [6, days(6, 7), 'zero']],
    ['is new after a pause, too', days(9, 10), counted(5, days(5, 6)), [9, days(9, 10), 'zero']],
    [
      'does not go back to one that is over, whatever clock it was read by',
      days(4, 5),
      counted(5, days(5, 6)),
      [5, days(5, 6), 'kept'],
    ],
    [
      'is recalculated from a day to its month',
      days(1, 31),
      counted(5, days(5, 6)),
      [5, days(1, 31), 'recount'],
    ],
    [
      'is recalculated from a month to its day',
      days(5, 6),
      counted(1, days(1, 31)),
      [1, days(5, 6), 'recount'],
    ],
    [
      'is recalculated to where it was, under the same name',
      days(1, 31),
      counted(1, days(5, 6)),
      [1, days(1, 31), 'recount'],
    ],
    [
      'is recalculated to an earlier day',
      days(4.5, 5.5),
      counted(5, days(5, 6)),
      [5, days(4.5, 5.5), 'recount'],
    ],
    [
      'is recalculated to a later day',
      days(5.5, 6.5),
      counted(5, days(5, 6)),
      [5, days(5.5, 6.5), 'recount'],
    ],
    ['may end later with the same start', days(1, 31), counted(1, days(1, 2)), [1, days(1, 31), 'kept']],
    ['is adopted from the release before', days(5, 6), counted(5, null), [5, days(5, 6), 'kept']],
    [
      'of the release before may be over or recalculated',
      days(6, 7),
      counted(5, null),
      [6, days(6, 7), 'recount'],
    ],
  ] as const)('%s', (_what, now, before, [name, window, used]) => {
    expect(moveWindow(now, before)).toEqual({ name: name * day, window, used });
  });

  it('of concurrency never ends', () => {
    const none = { start: 0, end: null };
    expect(moveWindow(none, counted(0, days(0, 1)))).toEqual({ name: 0, window: none, used: 'kept' });
  });

  it('has a name that no window before it had, however settings change', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            passed: fc.integer({ min: 0, max: 40 }),
            length: fc.constantFrom(1, 30),
            shift: fc.constantFrom(0, 0.25, 0.5, 0.75),
          }),
        ),
        (steps) => {
          let now = 100;
          let before = counted(0, null);
          const names: number[] = [];
          for (const { passed, length, shift } of steps) {
            now += passed / 4;
            const start = Math.floor((now - shift) / length) * length + shift;
            const move = moveWindow(days(start, start + length), before);
            if (move.used === 'zero') names.push(move.name);
            else expect(move.name).toBe(names.at(-1));
            before = { name: move.name, bounds: days(start, start + length) };
          }
          expect(names).toEqual([...new Set(names)].sort((a, b) => a - b));
        },
      ),
    );
  });
});

describe('the time of a lease', () => {
  it.each([
    [minute, 60_000, 2_000],
    [minute, 119_000, 1_000],
    [minute, 121_000, 0],
    [{ start: 0, end: null }, 5, 2_000],
  ])('in %j at %d is %d ms', (window, now, valid) => {
    expect(validForMs(window, now)).toBe(valid);
  });
});

describe('what is taken', () => {
  it('counts what requests hold as used, and not what is leased in advance', () => {
    expect(taken(limitUse({ used: 5n, othersHold: 90n, inUse: 7n }))).toBe(12n);
  });

  it.each([
    [0n, 100n, 0, []],
    [49n, 100n, 0, []],
    [50n, 100n, 0, [50]],
    [99n, 100n, 0, [50, 80]],
    [99n, 100n, 50, [80]],
    [100n, 100n, 80, [100]],
    [500n, 100n, 100, []],
    [0n, 0n, 0, []],
  ])('%s of %s reaches, after %d percent, %j', (used, limit, published, reached) => {
    expect(thresholdsReached(used, limit, published)).toEqual(reached);
  });
});
