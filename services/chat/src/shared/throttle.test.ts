import { expect, it } from '@jest/globals';
import { Throttle } from './throttle.ts';

it('lets each key pass once in its time', () => {
  const throttle = new Throttle(1_000);
  const passed = [0, 999, 1_000, 1_500].map((now) => throttle.passes('a', now));
  expect(passed).toEqual([true, false, true, false]);
  expect(throttle.passes('b', 1_500)).toBe(true);
});

it('forgets the key that passed longest ago', () => {
  const throttle = new Throttle(1_000_000);
  for (let n = 0; n <= 10_000; n += 1) throttle.passes(String(n), n);
  expect(throttle.passes('1', 20_000)).toBe(false);
  expect(throttle.passes('0', 20_000)).toBe(true);
});
