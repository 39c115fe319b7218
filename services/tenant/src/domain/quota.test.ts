import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lease, spent, thresholdsReached, validForMs, type Ask, type Quota } from './quota.ts';

const minute = { start: 60_000, end: 120_000 };

function quota(fields: Partial<Quota> = {}): Quota {
  return { limit: 60n, window: minute, used: 0n, usedIn: minute.start, othersHold: 0n, ...fields };
}

function ask(needs: readonly number[], fields: Partial<Ask> = {}): Ask {
  return { windowStart: minute.start, returned: 0n, holding: 0n, needs: needs.map(BigInt), ...fields };
}

describe('a lease of what is counted', () => {
  it('grants what fits, in order, and no more of a small limit', () => {
    expect(lease('requests', quota({ used: 58n }), ask([1, 1, 1]), 1)).toMatchObject({
      granted: 2n,
      used: 60n,
      remaining: 0n,
    });
    expect(lease('tokens', quota({ used: 30n }), ask([40, 20, 10]), 1)).toMatchObject({
      granted: 30n,
      used: 60n,
    });
  });

  it('takes back what was leased in the same window, and nothing of another one', () => {
    expect(lease('requests', quota({ used: 60n }), ask([1, 1], { returned: 1n }), 1)).toMatchObject({
      granted: 1n,
      used: 60n,
    });
    const old = ask([1], { returned: 5n, windowStart: 0 });
    expect(lease('requests', quota({ used: 60n }), old, 1)).toMatchObject({ granted: 0n, used: 60n });
  });

  it('begins anew with the minute', () => {
    expect(lease('requests', quota({ used: 60n, usedIn: 0 }), ask([1]), 1)).toMatchObject({
      granted: 1n,
      used: 1n,
      window: minute,
    });
  });

  it('never goes back to a minute that is over, whatever clock it was read by', () => {
    const later = quota({ used: 60n, usedIn: 120_000 });
    expect(lease('requests', later, ask([1], { windowStart: 120_000 }), 1)).toMatchObject({
      granted: 0n,
      window: { start: 120_000, end: 180_000 },
    });
  });

  it('adds a slice of a large limit: an eighth of what is left, shared by the replicas', () => {
    expect(lease('requests', quota({ limit: 16_001n }), ask([1]), 2).granted).toBe(1_001n);
    expect(lease('requests', quota({ limit: 16_001n }), ask([]), 2).granted).toBe(0n);
    // Too few for the requests to come.
    expect(lease('tokens', quota({ limit: 16_000n }), ask([1_000]), 2).granted).toBe(1_000n);
  });
});

describe('a lease of what is held', () => {
  const money = (fields: Partial<Quota> = {}): Quota => quota({ limit: 600n, ...fields });

  it('counts what others hold, and sets what the replica keeps', () => {
    const asked = ask([100, 100], { holding: 150n });
    expect(lease('budget', money({ used: 200n, othersHold: 100n }), asked, 1)).toMatchObject({
      granted: 100n,
      hold: 250n,
      used: 200n,
      remaining: 50n,
    });
  });

  it('forgets at the end of a window what was held in it', () => {
    const asked = ask([100], { holding: 600n, windowStart: 0 });
    expect(lease('budget', money({ used: 500n, usedIn: 0, othersHold: 500n }), asked, 1)).toMatchObject({
      granted: 100n,
      hold: 100n,
      used: 0n,
    });
  });

  it('keeps slots over the minutes', () => {
    const slots = quota({ limit: 10n, window: { start: 0, end: null }, usedIn: 0, othersHold: 4n });
    expect(lease('concurrency', slots, ask([1, 1, 1], { windowStart: 0, holding: 5n }), 1)).toMatchObject({
      granted: 1n,
      hold: 6n,
      used: 0n,
    });
  });
});

it('grants no more than is left, whoever asks for what', () => {
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
        const state = quota({ limit, used, othersHold });
        const before = lease(resource, state, { ...ask([]), holding }, replicas);
        const leased = lease(resource, state, { ...ask([]), holding, needs }, replicas);
        expect(leased.granted).toBeLessThanOrEqual(before.remaining);
        expect(leased.granted + leased.remaining).toBe(before.remaining);
      },
    ),
  );
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

describe('what is spent', () => {
  it('includes what is held, and nothing of a window that is over', () => {
    expect(spent(quota({ used: 5n, othersHold: 7n }))).toBe(12n);
    expect(spent(quota({ used: 5n, othersHold: 7n, usedIn: 0 }))).toBe(0n);
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
  ])('%s of %s reaches, after %d percent, %j', (used, limit, told, reached) => {
    expect(thresholdsReached(used, limit, told)).toEqual(reached);
  });
});
