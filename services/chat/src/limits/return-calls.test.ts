import { expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { ReturnCalls } from './return-calls.ts';

it('runs one call at a time, in the order in which they came', async () => {
  const calls = new ReturnCalls();
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<undefined>());
  for (const [index, { promise }] of ends.entries())
    calls.add(async () => {
      begun.push(index);
      await promise;
    });
  expect(begun).toEqual([0]);
  ends[1]?.resolve(undefined);
  await setImmediate();
  expect(begun).toEqual([0]);
  ends[0]?.resolve(undefined);
  await setImmediate();
  expect(begun).toEqual([0, 1, 2]);
  for (const { resolve } of ends) resolve(undefined);
  await setImmediate();
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});
