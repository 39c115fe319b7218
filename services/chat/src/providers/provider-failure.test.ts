import { describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import type { Blame } from './breaker.ts';
import { ProviderFailure, type FailureKind } from './provider-failure.ts';

const words = { message: 'their words', code: 'their_code', param: 'messages' };

interface Row {
  status: number;
  /** Status and code for the client. */
  answer: string;
  /** Their message, code and param go through. */
  passes?: boolean;
  retryable?: boolean;
  fallback?: boolean;
  blame?: 'tenant';
}

const rows: Row[] = [
  { status: 400, answer: '400 their_code', passes: true, fallback: false },
  { status: 404, answer: '404 their_code', passes: true, fallback: false },
  { status: 413, answer: '413 their_code', passes: true, fallback: false },
  { status: 422, answer: '422 their_code', passes: true, fallback: false },
  { status: 401, answer: '502 provider_authentication' },
  { status: 403, answer: '502 provider_authentication' },
  { status: 402, answer: '429 provider_rate_limited' },
  { status: 408, answer: '502 provider_error', retryable: true },
  { status: 409, answer: '502 provider_error', retryable: true },
  { status: 418, answer: '502 provider_error' },
  { status: 429, answer: '429 provider_rate_limited', retryable: true },
  { status: 500, answer: '502 provider_error', retryable: true, blame: 'tenant' },
  { status: 503, answer: '502 provider_error', retryable: true, blame: 'tenant' },
  { status: 529, answer: '503 provider_overloaded', retryable: true, blame: 'tenant' },
  { status: 301, answer: '502 provider_error' },
  { status: 204, answer: '502 provider_error' },
];

describe('a provider’s refusal', () => {
  it.each(rows)(
    'with $status is answered with $answer',
    ({ status, answer, passes = false, retryable = false, fallback = true, blame = null }) => {
      const failure = new ProviderFailure('status', 'acme', { status, ...words });
      const error = failure.toAppError();
      expect(`${error.status} ${error.publicCode}`).toBe(answer);
      expect([error.message === words.message, error.param === words.param]).toEqual([passes, passes]);
      expect(failure).toMatchObject({ retryable, fallbackHelps: fallback, blame });
      expect(error.cause).toBe(failure);
    },
  );

  it.each([
    [{ message: 'm', param: 'messages' }, 400, false],
    [{ message: 'm', param: '', code: 'do_request_failed' }, 502, true],
    [{ message: 'm', param: 'model', code: 'model_not_found' }, 502, true],
    [{ message: 'm' }, 502, true],
    [{ message: 'System role not supported' }, 400, true],
    [{ message: 'System role not supported', status: 500 }, 400, true],
    [{ message: 'System role not supported', status: 400 }, 400, false],
  ])('inside an answer, %j, counts as %i', (error, status, fallback) => {
    const failure = ProviderFailure.inAnswer('acme', error);
    expect([failure.details.status, failure.fallbackHelps]).toEqual([status, fallback]);
  });

  it.each([
    [404, 'certain', 'missing'],
    [404, 'likely', 'tenant'],
    [410, 'certain', 'missing'],
    [400, 'likely', 'tenant'],
  ] as const)(
    'with %d for a deployment that is %s to be missing helps by a fallback',
    (status, absence, blame) => {
      const failure = new ProviderFailure('status', 'acme', { status, absence });
      expect(failure).toMatchObject({ retryable: false, fallbackHelps: true, blame });
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

  it('of our credentials is reported without the provider’s message, which may hold the key', () => {
    const error = new ProviderFailure('status', 'acme', {
      status: 401,
      message: 'Incorrect API key provided: sk-12',
    }).toAppError();
    expect(JSON.stringify([error.message, error.headers, error.publicCode])).not.toContain('sk-12');
  });
});

describe('a provider’s failure', () => {
  it('is logged without the words and the body of its provider, which may repeat a prompt', () => {
    const lines: string[] = [];
    const log = createLogger('test', 'info', { write: (line) => void lines.push(line) });
    const body = Buffer.from('{"error":{"message":"the prompt was hello"}}');
    const details = { status: 400, message: 'the prompt was hello', body };
    const failure = new ProviderFailure('status', 'acme', details);
    const error = new AppError('internal', 'Failed.', { cause: failure, body });
    for (const err of [failure, error, new Error('outer', { cause: failure })]) log.warn({ err }, 'failed');
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      expect(line).toContain('provider acme: status 400');
      expect(line).not.toMatch(/hello|Buffer|"data"/);
    }
    expect(failure.details).toBe(details);
    expect(error.body).toBe(body);
  });

  it.each<{
    kind: FailureKind;
    answer: string;
    retryable: boolean;
    fallbackHelps: boolean;
    blame: Blame | null;
  }>([
    {
      kind: 'unreachable',
      answer: '502 provider_unreachable',
      retryable: true,
      fallbackHelps: true,
      blame: 'all',
    },
    {
      kind: 'connection',
      answer: '502 provider_unreachable',
      retryable: true,
      fallbackHelps: true,
      blame: 'tenant',
    },
    {
      kind: 'timeout',
      answer: '504 provider_timeout',
      retryable: true,
      fallbackHelps: true,
      blame: 'tenant',
    },
    {
      kind: 'invalid',
      answer: '502 provider_invalid_response',
      retryable: false,
      fallbackHelps: true,
      blame: 'tenant',
    },
    {
      kind: 'cut',
      answer: '502 provider_error',
      retryable: false,
      fallbackHelps: true,
      blame: 'tenant',
    },
    {
      kind: 'aborted',
      answer: '499 client_closed_request',
      retryable: false,
      fallbackHelps: false,
      blame: null,
    },
    {
      kind: 'interrupted',
      answer: '503 service_unavailable',
      retryable: false,
      fallbackHelps: false,
      blame: null,
    },
  ])('of kind $kind is answered with $answer', ({ kind, answer, ...expected }) => {
    const failure = new ProviderFailure(kind, 'acme', { code: 'ECONNREFUSED' });
    const error = failure.toAppError();
    expect(`${error.status} ${error.publicCode}`).toBe(answer);
    expect(failure).toMatchObject(expected);
  });

  it('by an error inside a stream is reported with the provider’s message', () => {
    expect(new ProviderFailure('cut', 'acme', { message: 'overloaded' }).toAppError().message).toBe(
      'overloaded',
    );
    expect(new ProviderFailure('cut', 'acme').toAppError().message).toContain('acme');
  });

  it.each([
    [{ status: 529, message: 'acct-1' }, '503 provider_overloaded'],
    [{ status: 503, isOverload: true, message: 'acct-1' }, '503 provider_overloaded'],
    [{ status: 429, message: 'acct-1', retryAfterMs: 2_000 }, '429 provider_rate_limited'],
    [{ status: 500, message: 'acct-1' }, '502 provider_error'],
    [{ status: 401, message: 'acct-1' }, '502 provider_error'],
  ])('by the error %j inside a stream is answered with %s, in our words', (inside, answer) => {
    const failure = ProviderFailure.cut('acme', inside);
    const error = failure.toAppError();
    expect(`${error.status} ${error.publicCode}`).toBe(answer);
    expect(error.message).not.toContain('acct-1');
    expect(failure).toMatchObject({ kind: 'cut', retryable: false, fallbackHelps: true, blame: 'tenant' });
  });
});
