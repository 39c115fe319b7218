import { describe, expect, it } from '@jest/globals';
import { storeBatchThenEach } from './store-batch.ts';

class Refusal extends Error {}

/** A store that refuses a group with a negative number in it, and is away for zero. */
function storing() {
  const stored: number[][] = [];
  const refused: number[] = [];
  const how = {
    store: (items: readonly number[]) => {
      if (items.includes(0)) return Promise.reject(new Error('away'));
      if (items.some((item) => item < 0)) return Promise.reject(new Refusal());
      stored.push([...items]);
      return Promise.resolve();
    },
    isRefusal: (error: unknown) => error instanceof Refusal,
    refuse: (item: number) => {
      refused.push(item);
      return Promise.resolve();
    },
  };
  return { how, stored, refused };
}

describe('storing together or alone', () => {
  it('stores all at once', async () => {
    const { how, stored } = storing();
    await storeBatchThenEach([1, 2, 3], how);
    expect(stored).toEqual([[1, 2, 3]]);
  });

  it('stores each alone when one is refused, which is reported', async () => {
    const { how, stored, refused } = storing();
    await storeBatchThenEach([1, -2, 3], how);
    expect(stored).toEqual([[1], [3]]);
    expect(refused).toEqual([-2]);
  });

  it('throws what is no refusal, and refuses nothing for it', async () => {
    const { how, stored, refused } = storing();
    await expect(storeBatchThenEach([1, 0], how)).rejects.toThrow('away');
    expect([stored, refused]).toEqual([[], []]);
  });
});
