import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { withExactIntegers } from './exact-numbers.ts';

const exact = (json: string): string => withExactIntegers(Buffer.from(json));

describe('integers in a payload', () => {
  it.each([
    ['{"id":12345678901234567890}', '{"id":"12345678901234567890"}'],
    [
      '[-9007199254740993,9007199254740991,9007199254740992]',
      '[-9007199254740993,9007199254740991,9007199254740992]',
    ],
    ['12345678901234567890', '"12345678901234567890"'],
    ['\ufeff{"id":12345678901234567890}', '{"id":"12345678901234567890"}'],
    ['\ufeff"\ufeff"', '"\ufeff"'],
  ])('that are not exact become texts: %s', (json, expected) => {
    expect(exact(json)).toBe(
      expected
        .replace('-9007199254740993', '"-9007199254740993"')
        .replace(',9007199254740992', ',"9007199254740992"'),
    );
  });

  it.each([
    '{"a":"12345678901234567890","b":"\\"12345678901234567890"}',
    '[1234567890.12345678901234567890,1e400,0.1,-0,9007199254740991]',
    '"ü 🦊 12345678901234567890 \\\\"',
    '{"1234567890123456789":1}',
  ])('and all others stay: %s', (json) => {
    expect(exact(json)).toBe(json);
  });

  it('keep all digits, and are numbers wherever JavaScript holds them', () => {
    const near = fc.bigInt({ min: -2n, max: 2n }).map((by) => 2n ** 53n + by);
    const integers = fc.array(fc.oneof(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), near));
    fc.assert(
      fc.property(integers, fc.constantFrom(',', ' ,\n'), (list, comma) => {
        const read = JSON.parse(exact(`[${list.join(comma)}]`)) as unknown[];
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
        expect(JSON.parse(exact(json))).toEqual(JSON.parse(json));
      }),
    );
  });
});
