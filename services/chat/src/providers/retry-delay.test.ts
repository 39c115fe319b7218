import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter, retryDelay } from './retry-delay.ts';

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
