import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { estimateTokens, sampleOf } from './token-estimate.ts';

it('other work comes between estimates that take long, whose samples are made in its turn', async () => {
  const sample = sampleOf('the gate of the house');
  const tokens = await estimateTokens(sample, 'tenant');
  let turn = 0;
  const over = new AbortController();
  const others = (async () => {
    while (!over.signal.aborted) {
      await setImmediate();
      turn += 1;
    }
  })();
  const turns: number[] = [];
  const estimates = Array.from({ length: 20 }, () =>
    estimateTokens(() => {
      turns.push(turn);
      const end = performance.now() + 6;
      while (performance.now() < end);
      return sample;
    }, 'tenant'),
  );
  expect(await Promise.all(estimates)).toEqual(estimates.map(() => tokens));
  over.abort();
  await others;
  expect(new Set(turns).size).toBe(20);
});
