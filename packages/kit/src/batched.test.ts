import { expect, it } from '@jest/globals';
import { Batched, batchedFinder } from './batched.ts';

it('handles what comes during a call together in the next one, and gives each its result', async () => {
  const calls: (readonly number[])[] = [];
  const doubled = new Batched<number, number>(async (items) => {
    calls.push(items);
    await new Promise(setImmediate);
    return items.map((item) => item * 2);
  });
  const first = doubled.get(1);
  const others = Promise.all([2, 3, 3].map((item) => doubled.get(item)));
  expect([await first, await others]).toEqual([2, [4, 6, 6]]);
  expect(await doubled.get(4)).toBe(8);
  expect(calls).toEqual([[1], [2, 3, 3], [4]]);
});

it('rejects the items of a failed call alone', async () => {
  let failures = 1;
  const fragile = new Batched<string, string>(async (items) => {
    await new Promise(setImmediate);
    failures -= 1;
    if (failures === 0) throw new Error('once');
    return items;
  });
  const [first, second] = [fragile.get('a'), fragile.get('b')];
  await expect(first).rejects.toThrow('once');
  expect(await second).toBe('b');
});

it('finds each key once per call, and null for what is not there', async () => {
  const calls: (readonly string[])[] = [];
  const find = batchedFinder(
    async (keys) => {
      calls.push(keys);
      await new Promise(setImmediate);
      return keys.filter((key) => key !== 'none').map((key) => ({ key }));
    },
    ({ key }) => key,
  );
  expect(await Promise.all(['a', 'b', 'none', 'b'].map(find))).toEqual([
    { key: 'a' },
    { key: 'b' },
    null,
    { key: 'b' },
  ]);
  expect(calls).toEqual([['a'], ['b', 'none']]);
});
