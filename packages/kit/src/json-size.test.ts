import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isLarger, isLongAsJson } from './json-size.ts';

it.each([
  ['[[],[[]]]', 5, 3, false],
  ['[[],[[]]]', 4, 3, true],
  ['[[],[[]]]', 5, 2, true],
  ['{"a":"[[[[[[[[,,,,,,,"}', 1, 1, false],
  ['[[[[[[', 9, 5, true],
])('finds what is too large or too deep: %s', (text, values, depth, expected) => {
  expect(isLarger(Buffer.from(text), { values, depth })).toBe(expected);
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
