import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { picoOf, usdOf } from './money.ts';

describe('amounts', () => {
  it.each([
    [0n, '0.000000000000'],
    [1n, '0.000000000001'],
    [123_000_000n, '0.000123000000'],
    [1_000_000_000_000n, '1.000000000000'],
    [98_765_432_109_876_543_210n, '98765432.109876543210'],
  ])('%s pico-USD are %s', (pico, text) => {
    expect(usdOf(pico)).toBe(text);
  });

  it('lose no digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), (pico) => {
        expect(BigInt(usdOf(pico).replace('.', ''))).toBe(pico);
        expect(picoOf(usdOf(pico))).toBe(pico);
      }),
    );
  });

  it.each([
    ['12', 12_000_000_000_000n],
    ['12.5', 12_500_000_000_000n],
    ['0.000000000001', 1n],
  ])('are read from %s', (text, pico) => {
    expect(picoOf(text)).toBe(pico);
  });
});
