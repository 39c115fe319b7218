import { beforeEach, describe, expect, it } from '@jest/globals';
import { Breaker } from './breaker.ts';
import { parseRetryAfter, retryDelay } from './retry-delay.ts';

describe('a breaker', () => {
  let now = 0;
  let breaker: Breaker;
  beforeEach(() => {
    now = 1_000;
    breaker = new Breaker(() => now);
  });
  const fail = (times: number, everyMs = 0): void => {
    for (let time = 0; time < times; time += 1) {
      breaker.failed();
      now += everyMs;
    }
  };

  it('opens at the fifth failure in a row', () => {
    fail(4);
    expect([breaker.allow(), breaker.waitMs]).toEqual([true, 0]);
    fail(1);
    expect([breaker.allow(), breaker.waitMs]).toEqual([false, 5_000]);
  });

  it('counts only failures in a row and within half a minute', () => {
    fail(4);
    breaker.succeeded();
    fail(4);
    expect(breaker.allow()).toBe(true);
    breaker.succeeded();
    fail(10, 7_500);
    expect(breaker.allow()).toBe(true);
    breaker.succeeded();
    fail(4, 7_499);
    fail(1);
    expect(breaker.allow()).toBe(false);
  });

  it('lets one call through after five seconds, and all when that one succeeds', () => {
    fail(5);
    now += 4_999;
    expect(breaker.allow()).toBe(false);
    now += 1;
    expect([breaker.allow(), breaker.allow(), breaker.allow()]).toEqual([true, false, false]);
    breaker.succeeded();
    expect([breaker.allow(), breaker.allow()]).toEqual([true, true]);
    fail(4);
    expect(breaker.allow()).toBe(true);
  });

  it('waits again when that one fails', () => {
    fail(5);
    now += 5_000;
    breaker.allow();
    breaker.failed();
    expect([breaker.allow(), breaker.waitMs]).toEqual([false, 5_000]);
    now += 5_000;
    expect(breaker.allow()).toBe(true);
  });

  it('lets the next one through when that one came to nothing', () => {
    fail(5);
    now += 5_000;
    breaker.allow();
    breaker.unknown();
    expect([breaker.allow(), breaker.allow()]).toEqual([true, false]);
  });
});

describe('the wait before a retry', () => {
  it('doubles from a quarter second up to four, at random below that', () => {
    expect([0, 1, 2, 3, 4, 5, 9].map((retry) => retryDelay(retry, undefined, () => 1))).toEqual([
      250, 500, 1_000, 2_000, 4_000, 4_000, 4_000,
    ]);
    expect(retryDelay(3, undefined, () => 0.5)).toBe(1_000);
    expect(retryDelay(3, undefined, () => 0)).toBe(0);
    const delays = Array.from({ length: 100 }, () => retryDelay(0, undefined));
    expect(delays.every((delay) => delay !== null && delay >= 0 && delay < 250)).toBe(true);
    expect(new Set(delays).size).toBeGreaterThan(50);
  });

  it('is the provider’s up to five seconds, and past that there is none', () => {
    expect([0, 700, 5_000, 5_001, 60_000].map((ms) => retryDelay(0, ms))).toEqual([
      0,
      700,
      5_000,
      null,
      null,
    ]);
  });

  const now = Date.parse('2026-01-02T03:04:05Z');
  it.each<[string | undefined, string | undefined, number | undefined]>([
    [undefined, undefined, undefined],
    ['2', undefined, 2_000],
    ['0', undefined, 0],
    ['1.5', undefined, 1_500],
    ['2', '150', 150],
    ['2', '150.5', 150.5],
    ['2', 'soon', 2_000],
    [undefined, '150', 150],
    ['Fri, 02 Jan 2026 03:04:15 GMT', undefined, 10_000],
    ['Fri, 02 Jan 2026 03:04:00 GMT', undefined, 0],
    ['soon', undefined, undefined],
    ['', undefined, undefined],
  ])('retry-after %j and retry-after-ms %j are %p', (seconds, ms, expected) => {
    expect(parseRetryAfter(seconds, ms, now)).toBe(expected);
  });
});
