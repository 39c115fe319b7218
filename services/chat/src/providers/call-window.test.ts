import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CallWindow, quantile, sumOf, type EndedCall } from './call-window.ts';

const ok = { error: null, isCancelled: false, firstByteMs: 100, durationMs: 1_000, outputTokens: 50 };
const failed = { ...ok, error: 'provider_timeout', firstByteMs: null, outputTokens: null };

it('counts the calls of the last ten minutes, their errors, tokens and times', () => {
  let now = 0;
  const window = new CallWindow(() => now);
  window.ended(ok);
  now += 5 * 60_000;
  window.ended(failed);
  window.ended({ ...ok, outputTokens: 150 });
  expect(window.counts).toMatchObject({
    ...{ calls: 3, errors: { provider_timeout: 1 }, outputTokens: 200, answerMs: 2_000 },
  });
  now += 6 * 60_000;
  expect(window.counts).toMatchObject({ calls: 2, outputTokens: 150 });
  now += 60 * 60_000;
  expect(window.counts).toMatchObject({ calls: 0, errors: {}, duration: {} });
});

it('has quantiles of several windows together that are right within a fifth', () => {
  const durations = fc.array(fc.integer({ min: 1, max: 600_000 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(durations, durations, fc.constantFrom(0.5, 0.99), (some, others, share) => {
      const counts = [some, others].map((all) => {
        const window = new CallWindow(() => 0);
        for (const durationMs of all) window.ended({ ...(ok as EndedCall), durationMs });
        return window.counts;
      });
      const sorted = [...some, ...others].sort((a, b) => a - b);
      const exact = sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
      const found = quantile(sumOf(counts).duration, share) ?? 0;
      expect(found).toBeGreaterThanOrEqual(exact * 0.99 - 1);
      expect(found).toBeLessThanOrEqual(exact * 1.2 + 1);
    }),
  );
  expect(quantile({}, 0.5)).toBeNull();
});
