import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KeyRests } from './key-rests.ts';

const call = { model: 'm', tenantId: 'a' };
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

let now = 0;
let rests: KeyRests;
beforeEach(() => {
  now = 0;
  rests = new KeyRests(() => now);
});

/** How long the key rests from now on. */
function pause(of = call): number {
  const rest = rests.of(of);
  return rest === null ? 0 : rest.until - now;
}

/** The pauses after as many refusals, each at the end of the one before. */
function pausesOf(status: number, times: number, retryAfterMs?: number): number[] {
  return Array.from({ length: times }, () => {
    rests.refused(call, { status, retryAfterMs });
    const ms = pause();
    now += ms;
    return ms;
  });
}

describe('a key that is limited', () => {
  it('rests as long as the provider asks for, at most an hour', () => {
    expect(pausesOf(429, 2, 7 * second)).toEqual([7 * second, 7 * second]);
    expect(pausesOf(429, 1, 100 * hour)).toEqual([hour]);
  });

  it('rests from a second up to a minute where the provider does not say, until it is accepted', () => {
    expect(pausesOf(429, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * second));
    rests.accepted(call);
    expect(pausesOf(429, 1)).toEqual([second]);
  });

  it('is limited once by calls that were under way together', () => {
    for (let n = 0; n < 50; n += 1) rests.refused(call, { status: 429, retryAfterMs: undefined });
    expect(pause()).toBe(second);
    // One of them got through, and the others have not.
    rests.accepted(call);
    expect(pause()).toBe(second);
  });

  it('rests for that model and tenant, and for all tenants once three are limited', () => {
    const refused = (tenantId: string): void =>
      rests.refused({ ...call, tenantId }, { status: 429, retryAfterMs: minute });
    refused('a');
    refused('a');
    refused('b');
    expect([pause(), pause({ ...call, tenantId: 'c' }), pause({ ...call, model: 'other' })]).toEqual([
      minute,
      0,
      0,
    ]);
    refused('c');
    expect(pause({ ...call, tenantId: 'd' })).toBe(minute);
    expect(pause({ ...call, model: 'other' })).toBe(0);
  });
});

describe('a key that is refused', () => {
  it('rests from a minute up to an hour, until it is accepted', () => {
    const minutes = [1, 2, 4, 8, 16, 32, 60, 60].map((count) => count * minute);
    expect(pausesOf(401, 8, second)).toEqual(minutes);
    rests.accepted(call);
    expect(pausesOf(403, 8, second)).toEqual(minutes);
  });

  it('rests for all models and tenants by a 401, and for one by a 403', () => {
    const other = { model: 'other', tenantId: 'b' };
    rests.refused(call, { status: 403, retryAfterMs: undefined });
    expect([pause(), pause(other)]).toEqual([minute, 0]);
    rests.refused(call, { status: 401, retryAfterMs: undefined });
    expect(pause(other)).toBe(minute);
    rests.clear();
    expect([pause(), pause(other)]).toEqual([0, 0]);
  });
});

it('never rests for longer than an hour, and keeps a bounded number of models and tenants', () => {
  const statuses = fc.constantFrom(401, 403, 429);
  const waits = fc.option(fc.nat({ max: 10 * hour }), { nil: undefined });
  const calls = fc.record({
    model: fc.constantFrom('m', 'n'),
    tenantId: fc.constantFrom('a', 'b', 'c', 'd'),
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(calls, statuses, waits, fc.nat({ max: hour }))), (refusals) => {
      const some = new KeyRests(() => now);
      for (const [of, status, retryAfterMs, later] of refusals) {
        some.refused(of, { status, retryAfterMs });
        const rest = some.of(of);
        expect((rest?.until ?? now) - now).toBeLessThanOrEqual(hour);
        expect(some.ofAny(of.model)?.until ?? 0).toBeGreaterThanOrEqual(rest?.until ?? 0);
        now += later;
      }
    }),
  );
  for (let n = 0; n < 3_000; n += 1) {
    rests.refused({ model: `m${n}`, tenantId: 'a' }, { status: 403, retryAfterMs: undefined });
    rests.refused({ model: 'm', tenantId: `t${n}` }, { status: 403, retryAfterMs: undefined });
  }
  expect(pause({ model: 'm0', tenantId: 'a' })).toBe(0);
  expect(pause({ model: 'm2999', tenantId: 'a' })).toBe(minute);
});
