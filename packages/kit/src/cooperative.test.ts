import { expect, it } from '@jest/globals';
import { monotonicMs } from './clock.ts';
import { runCooperatively } from './cooperative.ts';

const order: string[] = [];
const busy = (ms: number): void => {
  const until = monotonicMs() + ms;
  while (monotonicMs() < until);
};
const piece = (name: string) => (): void => {
  busy(5);
  order.push(name);
};

it('other work of the event loop is done between two pieces, and tenants share the time', async () => {
  const pieces = ['a', 'a', 'a', 'b', 'c'].map((name) => runCooperatively(name, piece(name)));
  const ticks: number[] = [];
  const watch = setInterval(() => ticks.push(order.length), 1);
  await Promise.all(pieces);
  clearInterval(watch);
  expect(order).toEqual(['a', 'b', 'c', 'a', 'a']);
  expect(new Set(ticks).size).toBeGreaterThanOrEqual(3);
});

it('a piece that fails leaves its turn to the next', async () => {
  const failing = runCooperatively('a', () => {
    throw new Error('no');
  });
  const next = runCooperatively('a', () => 'done');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
});

it('pieces leave three quarters of the time to other work once they have taken 200 ms', async () => {
  const began = monotonicMs();
  await Promise.all(Array.from({ length: 12 }, (_, n) => runCooperatively(`t${n}`, () => busy(30))));
  // Nothing rests behind the last one's result.
  expect(monotonicMs() - began).toBeGreaterThan((11 * 30 - 200) / 0.25);
  await runCooperatively('a', () => undefined);
});

it('a piece whose caller leaves is not begun', async () => {
  const leaving = new AbortController();
  const first = runCooperatively('a', () => busy(30));
  let begun = false;
  const late = runCooperatively('a', () => (begun = true), leaving.signal);
  leaving.abort(new Error('left'));
  await expect(late).rejects.toThrow('left');
  await first;
  expect(begun).toBe(false);
});

it('a process that stood still in a piece does large pieces again within a second', async () => {
  await runCooperatively('a', () => busy(2_000));
  const began = monotonicMs();
  await runCooperatively('b', () => undefined);
  expect(monotonicMs() - began).toBeLessThan(2_000);
});
