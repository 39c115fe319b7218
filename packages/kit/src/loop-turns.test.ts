import { expect, it } from '@jest/globals';
import { monotonicMs } from './clock.ts';
import { inLoopTurn } from './loop-turns.ts';

const order: string[] = [];
const piece = (name: string) => (): void => {
  const until = monotonicMs() + 5;
  while (monotonicMs() < until);
  order.push(name);
};

it('other work of the event loop is done between two pieces, and tenants share the time', async () => {
  const pieces = ['a', 'a', 'a', 'b', 'c'].map((name) => inLoopTurn(name, piece(name)));
  const ticks: number[] = [];
  const watch = setInterval(() => ticks.push(order.length), 1);
  await Promise.all(pieces);
  clearInterval(watch);
  expect(order).toEqual(['a', 'b', 'c', 'a', 'a']);
  expect(new Set(ticks).size).toBeGreaterThanOrEqual(4);
});

it('a piece that fails leaves its turn to the next', async () => {
  const failing = inLoopTurn('a', () => {
    throw new Error('no');
  });
  const next = inLoopTurn('a', () => 'done');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
});
