import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { endOfSlice } from './first-groups.ts';

describe('a slice of values', () => {
  it('has at least one value, no more than it needs, and runs without a value by themselves', () => {
    const input = fc.record({
      requests: fc.array(fc.nat(50), { minLength: 1, maxLength: 20 }),
      hasOthers: fc.boolean(),
      wanted: fc.integer({ min: 1, max: 100 }),
    });
    fc.assert(
      fc.property(input, ({ requests, hasOthers, wanted }) => {
        const all = hasOthers ? [...requests, Infinity] : requests;
        const ends: number[] = [];
        for (let from = 0; from < all.length; from = ends.at(-1) ?? 0) {
          const to = endOfSlice(all, from, wanted);
          const slice = all.slice(from, to);
          expect(slice.length).toBeGreaterThan(0);
          expect(slice.includes(Infinity) ? slice : []).toEqual(slice.includes(Infinity) ? [Infinity] : []);
          const withoutLast = slice.slice(0, -1).reduce((sum, own) => sum + own, 0);
          expect(withoutLast).toBeLessThan(wanted);
          ends.push(to);
        }
        expect(ends.at(-1)).toBe(all.length);
      }),
    );
  });
});
