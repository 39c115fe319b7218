import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { amount, compareDecimals, count, milliseconds, usd } from './amounts.ts';

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

  it('separates thousands of counts, and writes unknown ones as such', () => {
    expect([count(0), count(999), count(1_234_567), count(1290.5)]).toEqual([
      '0',
      '999',
      '1,234,567',
      '1,290.5',
    ]);
    expect([amount('0.5'), amount(5_000), amount(null)]).toEqual(['$0.50', '5,000', 'unknown']);
    expect([milliseconds(1_340), milliseconds(null)]).toEqual(['1,340 ms', '–']);
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
