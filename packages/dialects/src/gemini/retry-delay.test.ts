import { describe, expect, it } from '@jest/globals';
import { parseError } from './errors.ts';

const type = (name: string): string => `type.googleapis.com/google.rpc.${name}`;
const retry = (retryDelay: unknown) => ({ '@type': type('RetryInfo'), retryDelay });
const exhausted = (name: string, value: string) => ({
  '@type': type('ErrorInfo'),
  reason: 'QUOTA_EXHAUSTED',
  metadata: { [name]: value },
});

describe('the delay of an error', () => {
  it.each<[string, object, number | undefined]>([
    ['a RetryInfo', { details: [retry('45.5s')] }, 45_500],
    ['a limit', { details: [exhausted('quotaResetDelay', '373.8s')] }, 373_800],
    ['minutes', { details: [exhausted('quotaResetDelay', '1m2.5s')] }, 62_500],
    ['hours', { details: [exhausted('quotaResetDelay', '2h3m')] }, 7_380_000],
    ['milliseconds', { details: [exhausted('quotaResetDelay', '510.5ms')] }, 511],
    ['a RetryInfo before a limit', { details: [exhausted('quotaResetDelay', '9s'), retry('2s')] }, 2_000],
    ['a time that is over', { details: [exhausted('quotaResetTimeStamp', '2026-01-01T00:00:00Z')] }, 0],
    ['words', { message: 'Your quota will reset after 38s.' }, 38_000],
    ['words with spaces', { message: 'Please retry in 1h 2m.' }, 3_720_000],
    ['words with a fraction', { message: 'Quota exceeded. Please retry in 36.432188s.' }, 36_432],
    ['more than a week', { details: [retry('999999999s')] }, 7 * 86_400_000],
    ['other words', { message: 'The reset in 5 steps failed. Retry in a while, after 5 sec.' }, undefined],
    [
      'broken values',
      { details: [retry(5), retry('s'), exhausted('quotaResetDelay', '-1s'), null, exhausted('x', '')] },
      undefined,
    ],
  ])('is that of %s', (_what, fields, expected) => {
    const read = parseError({ error: { code: 429, status: 'RESOURCE_EXHAUSTED', ...fields } }, 429);
    expect(read.retryAfterMs).toBe(expected);
  });

  it('stands in the error of an array, and in the time of a limit', () => {
    const reset = new Date(Date.now() + 60_000).toISOString();
    const body = [{ error: { code: 429, details: [exhausted('quotaResetTimeStamp', reset)] } }];
    const { retryAfterMs = 0 } = parseError(body as never, 429);
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  it('is not in the words of an error that no repeat mends', () => {
    expect(parseError({ error: { code: 400, message: 'Retry in 5s.' } }, 400).retryAfterMs).toBeUndefined();
    expect(parseError({ error: { code: 503, message: 'Retry in 5s.' } }).retryAfterMs).toBe(5_000);
  });
});
