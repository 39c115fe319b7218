import { describe, expect, it } from '@jest/globals';
import type { Blame } from './breaker.ts';
import { ProviderFailure, type FailureKind } from './provider-failure.ts';

const words = { message: 'their words', code: 'their_code', param: 'messages' };

interface Row {
  status: number;
  /** Status and code for the client. */
  told: string;
  /** Their message, code and param go through. */
  passes?: boolean;
  retryable?: boolean;
  fallback?: boolean;
  blame?: 'tenant';
}

const rows: Row[] = [
  { status: 400, told: '400 their_code', passes: true, fallback: false },
  { status: 404, told: '404 their_code', passes: true, fallback: false },
  { status: 413, told: '413 their_code', passes: true, fallback: false },
  { status: 422, told: '422 their_code', passes: true, fallback: false },
  { status: 401, told: '502 provider_authentication' },
  { status: 403, told: '502 provider_authentication' },
  { status: 402, told: '502 provider_error' },
  { status: 408, told: '502 provider_error', retryable: true },
  { status: 409, told: '502 provider_error', retryable: true },
  { status: 418, told: '502 provider_error' },
  { status: 429, told: '429 their_code', passes: true, retryable: true },
  { status: 500, told: '502 provider_error', retryable: true, blame: 'tenant' },
  { status: 503, told: '502 provider_error', retryable: true, blame: 'tenant' },
  { status: 529, told: '502 provider_error', retryable: true, blame: 'tenant' },
  { status: 301, told: '502 provider_error' },
  { status: 204, told: '502 provider_error' },
];

describe('a provider’s refusal', () => {
  it.each(rows)(
    'with $status is $told',
    ({ status, told, passes = false, retryable = false, fallback = true, blame = null }) => {
      const failure = new ProviderFailure('status', 'acme', { status, ...words });
      const error = failure.toAppError();
      expect(`${error.status} ${error.publicCode}`).toBe(told);
      expect([error.message === words.message, error.param === words.param]).toEqual([passes, passes]);
      expect(failure).toMatchObject({ retryable, fallbackHelps: fallback, blame });
      expect(error.cause).toBe(failure);
    },
  );

  it('without words gets ours, and our code', () => {
    const error = new ProviderFailure('status', 'acme', { status: 400 }).toAppError();
    expect(error).toMatchObject({ publicCode: 'provider_bad_request', param: null });
    expect(error.message).toContain('acme');
  });

  it('for its rate hands on how long to wait, and nothing if it did not say', () => {
    const limited = (retryAfterMs?: number): Record<string, string> =>
      new ProviderFailure('status', 'acme', { status: 429, retryAfterMs }).toAppError().headers;
    expect(limited(20_500)).toEqual({ 'retry-after': '21', 'retry-after-ms': '20500' });
    expect(limited(0)).toEqual({ 'retry-after': '0', 'retry-after-ms': '0' });
    expect(limited()).toEqual({});
  });

  it('of our credentials is told without their words, which may hold the key', () => {
    const error = new ProviderFailure('status', 'acme', {
      status: 401,
      message: 'Incorrect API key provided: sk-12',
    }).toAppError();
    expect(JSON.stringify([error.message, error.headers, error.publicCode])).not.toContain('sk-12');
  });
});

describe('a provider’s failure', () => {
  it.each<{
    kind: FailureKind;
    told: string;
    retryable: boolean;
    fallbackHelps: boolean;
    blame: Blame | null;
  }>([
    {
      kind: 'unreachable',
      told: '502 provider_unreachable',
      retryable: true,
      fallbackHelps: true,
      blame: 'everybody',
    },
    {
      kind: 'connection',
      told: '502 provider_unreachable',
      retryable: true,
      fallbackHelps: true,
      blame: 'tenant',
    },
    {
      kind: 'timeout',
      told: '504 provider_timeout',
      retryable: true,
      fallbackHelps: true,
      blame: 'tenant',
    },
    {
      kind: 'invalid',
      told: '502 provider_invalid_response',
      retryable: false,
      fallbackHelps: true,
      blame: 'tenant',
    },
    {
      kind: 'cut',
      told: '502 provider_error',
      retryable: false,
      fallbackHelps: true,
      blame: 'tenant',
    },
    {
      kind: 'aborted',
      told: '499 client_closed_request',
      retryable: false,
      fallbackHelps: false,
      blame: null,
    },
  ])('of kind $kind is $told', ({ kind, told, ...expected }) => {
    const failure = new ProviderFailure(kind, 'acme', { code: 'ECONNREFUSED' });
    const error = failure.toAppError();
    expect(`${error.status} ${error.publicCode}`).toBe(told);
    expect(failure).toMatchObject(expected);
  });

  it('by an error inside a stream is told in the provider’s words', () => {
    expect(new ProviderFailure('cut', 'acme', { message: 'overloaded' }).toAppError().message).toBe(
      'overloaded',
    );
    expect(new ProviderFailure('cut', 'acme').toAppError().message).toContain('acme');
  });
});
