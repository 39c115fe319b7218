import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hasMoreContainers, hasMoreTexts, hasMoreValues, isLarger, isLongAsJson } from './json-size.ts';

/** Counts commas and opening brackets outside strings. */
function structure(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  const commas = Math.max(0, members.length - 1);
  return 1 + commas + members.reduce((sum: number, member) => sum + structure(member), 0);
}

it('counts what is outside strings, whatever the strings hold', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\\', '"', '\\"', '","', '[{,', '\\\\"'),
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, text, fc.integer(), fc.constant(null), tie('list'), tie('map')),
    list: fc.array(tie('value'), { maxLength: 5 }),
    map: fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  })).value;
  fc.assert(
    fc.property(json, (value) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const count = structure(value);
      const isShort = bytes.length <= count - 1;
      expect([hasMoreValues(bytes, count), hasMoreValues(bytes, count - 1)]).toEqual([false, !isShort]);
    }),
    { numRuns: 500 },
  );
});

it.each(['"', '"\\', '{"a', '[[[', ',,,', ''])('ends on %j, which is no JSON', (text) => {
  expect(hasMoreValues(Buffer.from(text), 10)).toBe(false);
});

it('counts objects and arrays alone where only those matter', () => {
  const bytes = Buffer.from(`[${'1,'.repeat(100)}{"a":[]}]`);
  expect([hasMoreContainers(bytes, 3), hasMoreContainers(bytes, 2)]).toEqual([false, true]);
});

it.each([
  ['[[],[[]]]', 5, 3, false],
  ['[[],[[]]]', 4, 3, true],
  ['[[],[[]]]', 5, 2, true],
  ['{"a":"[[[[[[[[,,,,,,,"}', 1, 1, false],
  ['[[[[[[', 9, 5, true],
])('finds what is too large or too deep: %s', (text, values, depth, expected) => {
  expect(isLarger(Buffer.from(text), { values, depth })).toBe(expected);
});

it('counts texts and names of members, whatever is in them', () => {
  const bytes = Buffer.from(`{"a":["b\\"","","c,\\\\"],"d":{"e":1}}${' '.repeat(100)}`);
  expect([hasMoreTexts(bytes, 6), hasMoreTexts(bytes, 5)]).toEqual([false, true]);
});

it('knows a value that is long as JSON by about its length, and looks at no more of it than that', () => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: 'large' }), (value) => {
      const { length } = JSON.stringify(value);
      if (isLongAsJson(value, 1_000)) expect(length).toBeGreaterThan(200);
      else expect(length).toBeLessThan(20_000);
    }),
  );
  let seen = 0;
  const list = Array.from({ length: 1_000 }, () => ({
    get text() {
      seen += 1;
      return 'x'.repeat(100);
    },
  }));
  expect(isLongAsJson(list, 1_000)).toBe(true);
  expect(seen).toBeLessThan(12);
});
