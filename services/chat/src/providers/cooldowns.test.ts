import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Cooldowns, type CooldownReason } from './cooldowns.ts';

const call = { operation: 'chat', model: 'm', tenantId: 'a' };
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

let now = 0;
let rests: Cooldowns;
beforeEach(() => {
  now = 0;
  rests = new Cooldowns(() => now);
});

/** How long the key rests from now on. */
function pause(of = call): number {
  const rest = rests.cooldownOf(of);
  return rest === null ? 0 : rest.until - now;
}

/** The pauses after as many refusals, each at the end of the one before. */
function pausesOf(reason: CooldownReason, times: number, retryAfterMs?: number): number[] {
  return Array.from({ length: times }, () => {
    rests.refused(call, reason, retryAfterMs);
    const ms = pause();
    now += ms;
    return ms;
  });
}

describe('a key that is limited', () => {
  it('rests as long as the provider asks for, at most an hour', () => {
    expect(pausesOf('limited', 2, 7 * second)).toEqual([7 * second, 7 * second]);
    expect(pausesOf('limited', 1, 100 * hour)).toEqual([hour]);
  });

  it('rests from a second up to a minute where the provider does not say, until it is accepted', () => {
    expect(pausesOf('limited', 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * second));
    rests.accepted(call);
    expect(pausesOf('limited', 1)).toEqual([second]);
  });

  it('is limited once by calls that were under way together', () => {
    for (let n = 0; n < 50; n += 1) rests.refused(call, 'limited');
    expect(pause()).toBe(second);
    // One of them got through, and the others have not.
    rests.accepted(call);
    expect(pause()).toBe(second);
  });
});

describe('a key that is refused', () => {
  it('rests from a minute up to an hour, until it is accepted', () => {
    const minutes = [1, 2, 4, 8, 16, 32, 60, 60].map((count) => count * minute);
    expect(pausesOf('refused', 8, second)).toEqual(minutes);
    rests.accepted(call);
    expect(pausesOf('refused', 1)).toEqual([minute]);
  });
});

describe.each<CooldownReason>(['limited', 'refused'])('a key that is %s', (reason) => {
  const others = { operation: 'embeddings', model: 'other', tenantId: 'd' };
  const refused = (tenantId: string): void => rests.refused({ ...call, tenantId }, reason, minute);

  it('rests for the operation, the model and the tenant of the call', () => {
    for (let n = 0; n < 100; n += 1) refused('a');
    refused('b');
    expect(pause()).toBe(minute);
    for (const field of ['operation', 'model', 'tenantId'] as const)
      expect(pause({ ...call, [field]: others[field] })).toBe(0);
  });

  it('rests for all tenants once three are within half a minute, for the same calls', () => {
    for (const tenant of ['a', 'b', 'c']) refused(tenant);
    expect(pause({ ...call, tenantId: 'd' })).toBe(minute);
    expect(pause({ ...call, tenantId: 'd', operation: 'embeddings' })).toBe(0);
    expect(pause({ ...call, tenantId: 'd', model: 'other' })).toBe(0);
  });

  it('rests for none but them when that takes longer, or one of them was accepted meanwhile', () => {
    refused('a');
    now += 15 * second;
    refused('b');
    now += 15 * second;
    refused('c');
    expect(pause({ ...call, tenantId: 'd' })).toBe(0);
    rests = new Cooldowns(() => now);
    rests.refused(call, 'limited', second);
    now += second;
    rests.accepted(call);
    refused('b');
    refused('c');
    expect(pause({ ...call, tenantId: 'd' })).toBe(0);
  });
});

describe('a key that three tenants are refused', () => {
  const refused = (tenantId: string, reason: CooldownReason, retryAfterMs?: number): void =>
    rests.refused({ ...call, tenantId }, reason, retryAfterMs);
  const other = { ...call, tenantId: 'd' };

  it('rests for all as long as the shortest of their rests, whichever came last', () => {
    refused('a', 'limited', second);
    refused('b', 'limited', 2 * second);
    refused('c', 'limited', hour);
    expect([pause(other), pause({ ...call, tenantId: 'c' })]).toEqual([second, hour]);
    now += minute;
    refused('a', 'limited', hour);
    refused('b', 'limited', 3 * second);
    refused('c', 'limited');
    expect(pause(other)).toBe(3 * second);
  });

  it('rests for none but them where they are refused for different reasons', () => {
    refused('a', 'limited', second);
    refused('b', 'limited', second);
    refused('c', 'refused');
    expect([pause(other), pause({ ...call, tenantId: 'c' })]).toEqual([0, minute]);
    refused('e', 'limited', 2 * second);
    expect(rests.cooldownOf(other)).toMatchObject({ reason: 'limited', until: now + second });
  });

  it('rests for as long as a tenant’s refusal says, whatever its limits are', () => {
    refused('a', 'refused');
    refused('a', 'limited', second);
    expect(rests.cooldownOf(call)).toMatchObject({ reason: 'refused', until: now + minute });
    refused('a', 'limited', hour);
    expect(rests.cooldownOf(call)).toMatchObject({ reason: 'limited', until: now + hour });
  });
});

it('never rests for longer than an hour, and keeps a bounded number of models and tenants', () => {
  const reasons = fc.constantFrom<CooldownReason>('limited', 'refused');
  const waits = fc.option(fc.nat({ max: 10 * hour }), { nil: undefined });
  const calls = fc.record({
    operation: fc.constantFrom('chat', 'count'),
    model: fc.constantFrom('m', 'n'),
    tenantId: fc.constantFrom('a', 'b', 'c', 'd'),
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(calls, reasons, waits, fc.nat({ max: hour }))), (refusals) => {
      const some = new Cooldowns(() => now);
      for (const [of, reason, retryAfterMs, later] of refusals) {
        some.refused(of, reason, retryAfterMs);
        const rest = some.cooldownOf(of);
        expect((rest?.until ?? now) - now).toBeLessThanOrEqual(hour);
        expect(some.modelCooldown(of.model)?.until ?? 0).toBeGreaterThanOrEqual(rest?.until ?? 0);
        now += later;
      }
    }),
  );
  for (let n = 0; n < 3_000; n += 1) {
    rests.refused({ ...call, model: `m${n}` }, 'refused');
    rests.refused({ ...call, tenantId: `t${n}` }, 'refused');
  }
  expect(pause({ ...call, model: 'm0' })).toBe(0);
  expect(pause({ ...call, model: 'm2999' })).toBe(minute);
});
