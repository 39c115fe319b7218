import { describe, expect, it } from '@jest/globals';
import { retryAfterS, targetOf, verdictOf, type Attempt } from './delivery.ts';

const attempt = (fields: Partial<Attempt> = {}): Attempt => ({
  at: new Date(),
  durationMs: 1,
  status: 500,
  error: null,
  retryAfterS: null,
  exceedsHops: false,
  ...fields,
});

describe('what follows an attempt', () => {
  it.each([200, 201, 204, 299])('%i is delivered', (status) => {
    expect(verdictOf(attempt({ status }), { attempts: 0 })).toEqual({ kind: 'delivered' });
  });

  it.each([100, 301, 302, 400, 404, 429, 500, 503])('%i is tried again', (status) => {
    expect(verdictOf(attempt({ status }), { attempts: 0 })).toMatchObject({ kind: 'retry' });
  });

  it('no response is tried again; 410 ends it', () => {
    expect(verdictOf(attempt({ status: null, error: 'x' }), { attempts: 0 })).toMatchObject({
      kind: 'retry',
    });
    const gone = { kind: 'failed', because: 'gone' };
    expect(verdictOf(attempt({ status: 410 }), { attempts: 0 })).toEqual(gone);
  });

  it('a gateway that refuses a further hop ends it, which is no failure of the receiver', () => {
    const refused = attempt({ status: 403, exceedsHops: true });
    expect(verdictOf(refused, { attempts: 0 })).toEqual({ kind: 'failed', because: 'hops' });
    expect(verdictOf(attempt({ status: 403 }), { attempts: 0 })).toMatchObject({ kind: 'retry' });
  });

  it('is by Svix’s schedule, up to a fifth later', () => {
    const delays = (random: number) =>
      Array.from({ length: 8 }, (_, attempts) => verdictOf(attempt(), { attempts }, () => random)).map(
        (verdict) => (verdict.kind === 'retry' ? Math.round(verdict.afterS) : verdict.kind),
      );
    expect(delays(0)).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 36_000, 'failed']);
    expect(delays(1)).toEqual([6, 360, 2_160, 8_640, 21_600, 43_200, 43_200, 'failed']);
  });

  it('heeds Retry-After up to a day, and never comes earlier for it', () => {
    const after = (seconds: number) => {
      const verdict = verdictOf(attempt({ retryAfterS: seconds }), { attempts: 1 }, () => 0);
      return verdict.kind === 'retry' ? verdict.afterS : null;
    };
    expect([0, 299, 4_000, 10 ** 9].map(after)).toEqual([300, 300, 4_000, 86_400]);
  });
});

it('reads Retry-After as seconds or a date', () => {
  const now = new Date('2026-01-10T09:00:00Z');
  expect(retryAfterS('120', now)).toBe(120);
  expect(retryAfterS('Sat, 10 Jan 2026 09:01:00 GMT', now)).toBe(60);
  expect(retryAfterS('Sat, 10 Jan 2026 08:00:00 GMT', now)).toBe(0);
  for (const odd of [undefined, '', 'soon', '-5', '1e3']) expect(retryAfterS(odd, now) ?? null).toBeNull();
});

it('takes an origin as one target', () => {
  expect(targetOf('https://a.example/x?y')).toBe(targetOf('https://a.example:443/z'));
  expect(targetOf('https://a.example/')).not.toBe(targetOf('https://a.example:8443/'));
});
