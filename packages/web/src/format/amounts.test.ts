import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compareDecimals, count, milliseconds, shortUsd, usd } from './amounts.ts';

describe('amounts', () => {
  it.each([
    ['0.000000000000', '$0.00'],
    ['12.340500000000', '$12.3405'],
    ['0.000000000001', '$0.000000000001'],
    ['1234567.5', '$1,234,567.50'],
    ['9007199254740993.000000000001', '$9,007,199,254,740,993.000000000001'],
    ['50', '$50.00'],
  ])('writes %s as %s', (text, shown) => {
    expect(usd(text)).toBe(shown);
  });

  it('keeps every digit of every amount', () => {
    const decimal = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.stringMatching(/^\d{12}$/));
    fc.assert(
      fc.property(decimal, ([whole, decimals]) => {
        const digits = usd(`${whole}.${decimals}`).replace(/[$,]/g, '');
        expect(digits.split('.')[0]).toBe(String(whole));
        expect((digits.split('.')[1] ?? '').padEnd(12, '0')).toBe(decimals);
      }),
    );
  });

  it('separates thousands of counts', () => {
    expect([count(0), count(999), count(1_234_567), count(1290.5)]).toEqual([
      '0',
      '999',
      '1,234,567',
      '1,290.5',
    ]);
  });

  it('says durations in the unit that people use', () => {
    expect([null, 7, 162.25, 1_340, 42_000, 119_600, 192_000].map(milliseconds)).toEqual([
      ...['–', '7 ms', '162.3 ms', '1.34 s', '42.0 s', '2 min 0 s', '3 min 12 s'],
    ]);
  });

  it.each([
    ['0.000000000000', '$0.00'],
    ['0.000000000001', '<$0.000001'],
    ['0.000001000000', '$0.000001'],
    ['0.001234000000', '$0.0012'],
    ['0.016318260000', '$0.016'],
    ['0.337956420000', '$0.34'],
    ['0.999900000000', '$1.00'],
    ['0.100000000000', '$0.10'],
    ['1.005000000000', '$1.01'],
    ['1234.560000000000', '$1,234.56'],
    ['9007199254740993.994', '$9,007,199,254,740,993.99'],
  ])('shortens %s to %s', (text, shown) => {
    expect(shortUsd(text)).toBe(shown);
  });

  it('shortens no amount by more than half of its last digit', () => {
    const decimal = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.stringMatching(/^\d{12}$/));
    fc.assert(
      fc.property(decimal, ([whole, decimals]) => {
        const shown = shortUsd(`${whole}.${decimals}`).replace(/[$,]/g, '');
        if (shown.startsWith('<')) return;
        const [dollars = '', kept = ''] = shown.split('.');
        const difference = BigInt(`${whole}${decimals}`) - BigInt(dollars + kept.padEnd(12, '0'));
        const half = 10n ** BigInt(12 - kept.length) / 2n;
        expect(difference <= half && -difference <= half).toBe(true);
      }),
    );
  });

  it('orders decimal texts by their value, beyond the digits of a float', () => {
    const texts = [
      '10',
      '9.5',
      '9.500000000001',
      '0.1',
      '123456789012.000000000002',
      '123456789012.000000000001',
    ];
    expect(texts.toSorted(compareDecimals)).toEqual([
      '0.1',
      '9.5',
      '9.500000000001',
      '10',
      '123456789012.000000000001',
      '123456789012.000000000002',
    ]);
    expect(compareDecimals('1.10', '1.1')).toBe(0);
  });
});
