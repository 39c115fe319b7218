import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseExact } from './exact-numbers.ts';

describe('integers in a payload', () => {
  it.each([
    ['{"id":12345678901234567890}', { id: '12345678901234567890' }],
    ['[-9007199254740993,9007199254740991]', ['-9007199254740993', 9007199254740991]],
    ['12345678901234567890', '12345678901234567890'],
    ['{"a":"12345678901234567890","b":"\\"1"}', { a: '12345678901234567890', b: '"1' }],
    ['[1234567890.12345678901234567890,1e400,0.1]', [1234567890.1234567, Infinity, 0.1]],
    ['{"1234567890123456789":1}', { '1234567890123456789': 1 }],
    ['no JSON', null],
  ])('that are not exact become texts: %s', (json, expected) => {
    expect(parseExact(json)).toEqual(expected);
  });

  it('keep all digits, and are numbers wherever JavaScript holds them', () => {
    const near = fc.bigInt({ min: -2n, max: 2n }).map((by) => 2n ** 53n + by);
    const integers = fc.array(fc.oneof(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), near));
    fc.assert(
      fc.property(integers, fc.constantFrom(',', ' ,\n'), (list, comma) => {
        const read = parseExact(`[${list.join(comma)}]`) as unknown[];
        expect(read.map(String)).toEqual(list.map(String));
        expect(read.map((each) => typeof each === 'number')).toEqual(
          list.map((each) => Number.isSafeInteger(Number(each))),
        );
      }),
    );
  });

  it('stay as they are for JavaScript in any JSON without such integers', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        fc.pre(!/\d{16}/.test(json));
        expect(parseExact(json)).toEqual(JSON.parse(json));
      }),
    );
  });
});
