import { PerformanceObserver, constants, type PerformanceEntry } from 'node:perf_hooks';
import { expect, it } from '@jest/globals';
import { collectingWhenIdle, collectYoung } from './idle-memory.ts';

it('collects once after a start, and once after each load, when the process is idle', () => {
  let [share, collections] = [0, 0];
  const look = collectingWhenIdle(
    () => (collections += 1),
    () => share,
  );
  const collectionsAt = (shares: number[]): number[] =>
    shares.map((each) => {
      share = each;
      look();
      return collections;
    });
  expect(collectionsAt([0.9, 0.1, 0.01, 0.01])).toEqual([0, 0, 1, 1]);
  expect(collectionsAt([0.19, 0.01])).toEqual([1, 1]);
  expect(collectionsAt([0.2, 0.05, 0.04, 0])).toEqual([1, 1, 2, 2]);
});

it('collects the young generation alone', async () => {
  const entry = Promise.withResolvers<PerformanceEntry>();
  const observer = new PerformanceObserver((list) => list.getEntries().forEach(entry.resolve));
  observer.observe({ entryTypes: ['gc'] });
  collectYoung();
  const collection = await entry.promise;
  observer.disconnect();
  expect(collection).toMatchObject({ detail: { kind: constants.NODE_PERFORMANCE_GC_MINOR } });
});
