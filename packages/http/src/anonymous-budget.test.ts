import { describe, expect, it } from '@jest/globals';
import type { AppError } from '@gatehouse/kit/errors';
import { AnonymousBudget } from './anonymous-budget.ts';

const kiB = 1024;
const half = 512 * kiB;
const refusal = (code: string): unknown =>
  expect.objectContaining({ code, headers: { 'retry-after': '1', 'retry-after-ms': '1000' } });
const networkFull = refusal('rate_limit_exceeded');
const allFull = refusal('service_unavailable');

/** An address of a network of its own. */
const foreign = (index: number): string => `2001:db8:0:${index.toString(16)}::1`;

/** Opens shares from one address after the other until one is refused; returns how many were open. */
function openUntilRefused(budget: AnonymousBudget, addressOf: (index: number) => string): number {
  for (let opened = 0; ; opened += 1) {
    try {
      budget.open(addressOf(opened), null);
    } catch (error) {
      expect(error).toEqual(networkFull);
      return opened;
    }
  }
}

describe('an anonymous budget', () => {
  it('limits the requests of an address, of its /64 and of an IPv4 address, whatever their bodies', () => {
    const budget = new AnonymousBudget();
    expect(openUntilRefused(budget, () => '2001:db8::1')).toBe(128);
    expect(openUntilRefused(budget, (index) => `2001:db8::2:${index.toString(16)}`)).toBe(128);
    expect(openUntilRefused(budget, () => '192.0.2.1')).toBe(256);
    expect(() => budget.open(foreign(1), null)).not.toThrow();
  });

  it('limits the bytes of a /64, and refuses an announced body that does not fit', () => {
    const budget = new AnonymousBudget();
    for (let index = 0; index < 7; index += 1) budget.open(`2001:db8::${index}`, half).grow(half);
    expect(() => budget.open('2001:db8::8', half)).toThrow(networkFull);
    const last = budget.open('2001:db8::8', null);
    last.grow(300 * kiB);
    expect(() => last.grow(half)).toThrow(networkFull);
    expect(() => budget.open(foreign(1), half)).not.toThrow();
  });

  it('lets the body make room that has been arriving for the longest time', () => {
    const budget = new AnonymousBudget();
    const dropped: [number, AppError][] = [];
    for (let index = 0; index < 62; index += 1) {
      const share = budget.open(foreign(index), null);
      const arrived = share.arriving((error) => {
        arrived();
        dropped.push([index, error]);
      });
      share.grow(half);
      // The first one has all of its body.
      if (index === 0) arrived();
    }
    expect(dropped).toEqual([]);
    const genuine = budget.open(foreign(100), half);
    genuine.grow(half);
    expect(dropped).toEqual([[1, allFull]]);
    expect(budget.inUse.bytes).toBeLessThanOrEqual(32 * 1024 * kiB);
  });

  it('refuses what does not fit while no body is arriving, and takes nothing for it', () => {
    const budget = new AnonymousBudget();
    const shares = Array.from({ length: 62 }, (_, index) => budget.open(foreign(index), null));
    for (const share of shares) share.grow(half);
    const late = budget.open(foreign(100), null);
    expect(() => late.grow(half)).toThrow(allFull);
    for (const share of [...shares, late]) {
      share.release();
      share.release();
      share.grow(half);
    }
    expect(budget.inUse).toEqual({ bytes: 0, payers: 0 });
  });
});
