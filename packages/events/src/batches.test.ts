import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inBatches } from './batches.ts';

describe('a list in batches', () => {
  it('keeps its order and both limits, and fills batches as far as they go', () => {
    const sizes = fc.array(fc.nat(30), { maxLength: 100 });
    const limits = fc.record({ items: fc.integer({ min: 1, max: 10 }), bytes: fc.nat(50) });
    fc.assert(
      fc.property(sizes, limits, (items, { items: maxItems, bytes }) => {
        const batches = inBatches(items, (size) => size, { items: maxItems, bytes });
        const sum = (batch: readonly number[]) => batch.reduce((total, size) => total + size, 0);
        expect(batches.flat()).toEqual(items);
        for (const [index, batch] of batches.entries()) {
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(maxItems);
          if (batch.length > 1) expect(sum(batch)).toBeLessThanOrEqual(bytes);
          const next = batches[index + 1]?.[0];
          if (next !== undefined && batch.length < maxItems) expect(sum(batch) + next).toBeGreaterThan(bytes);
        }
      }),
    );
  });
});
