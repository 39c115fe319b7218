import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cacheKey } from './cache-key.ts';

const part = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(' ', '","', '\\', 'null', '1', '\ud800'),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const parts = fc.array(part, { maxLength: 4 });

it('differs for any two lists of parts that differ', () => {
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const same = a.length === b.length && a.every((value, index) => value === b[index]);
      expect(cacheKey(...a) === cacheKey(...b)).toBe(same);
    }),
    { numRuns: 2_000 },
  );
});

it('is not fooled by separators within a part', () => {
  expect(cacheKey('alice', 'bob secret')).not.toBe(cacheKey('alice bob', 'secret'));
});
