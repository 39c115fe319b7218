import { describe, expect, it } from '@jest/globals';
import { anthropicErrorBody, errorBody, googleErrorBody } from '@gatehouse/contract/error-body';
import { AppError, type ErrorCode } from '@gatehouse/kit/errors';
import { errorEvent, writeError } from './dialect-error.ts';

const error = (code: ErrorCode, headers?: Record<string, string>): AppError =>
  new AppError(code, 'Something is wrong.', { param: 'messages[0].role', headers });

describe('errors of messages', () => {
  it.each([
    ['invalid_value', 'invalid_request_error'],
    ['invalid_api_key', 'authentication_error'],
    ['scope_missing', 'permission_error'],
    ['model_not_found', 'not_found_error'],
    ['method_not_allowed', 'invalid_request_error'],
    ['payload_too_large', 'request_too_large'],
    ['rate_limit_exceeded', 'rate_limit_error'],
    ['insufficient_quota', 'billing_error'],
    ['internal', 'api_error'],
    ['provider_error', 'api_error'],
    ['service_unavailable', 'api_error'],
    ['provider_timeout', 'timeout_error'],
  ] as const)('have Anthropic’s type, code and parameter: %s', (code, type) => {
    expect(writeError('messages', error(code), 'r-1').body).toEqual({
      type: 'error',
      error: {
        type,
        message: 'Something is wrong. (messages[0].role)',
        details: { error_code: code, param: 'messages[0].role' },
      },
      request_id: 'r-1',
    });
  });

  it('stop clients that would try again without a key', () => {
    const { headers } = writeError('messages', error('invalid_api_key'), 'r');
    expect(headers).toEqual({ 'x-should-retry': 'false' });
    expect(writeError('messages', error('rate_limit_exceeded'), 'r').headers).toEqual({});
  });

  it('stop clients whose budget is spent until it begins again', () => {
    const now = Math.ceil(Date.now() / 1_000);
    const spent = error('insufficient_quota', { 'retry-after': '3600' });
    const { 'anthropic-ratelimit-unified-reset': reset, ...others } = writeError(
      'messages',
      spent,
      'r',
    ).headers;
    expect(others).toEqual({
      'x-should-retry': 'false',
      'anthropic-ratelimit-unified-status': 'rejected',
    });
    expect(Number(reset)).toBeGreaterThanOrEqual(now + 3_600);
    expect(Number(reset)).toBeLessThan(now + 3_610);
  });

  it('end a stream as an event of that name', () => {
    expect(errorEvent('messages', error('provider_error'), 'r')).toMatch(
      /^event: error\ndata: \{"type":"error",.*"error_code":"provider_error".*\}\n\n$/,
    );
  });
});

it.each([
  ['Invalid value for messages[0].role.', 'messages[0].role', ''],
  ['Unknown field: n.', 'n', ''],
  ['X-Service-User-Id must be sent once.', 'X-Service-User-Id', ''],
  ['It cannot be read.', 'n', ' (n)'],
  ['There is no such model.', 'models', ' (models)'],
])('a message names the parameter once: %s of %s', (text, param, added) => {
  for (const dialect of ['messages', 'gemini'] as const)
    expect(writeError(dialect, new AppError('invalid_value', text, { param }), 'r').body).toMatchObject({
      error: { message: text + added },
    });
});

describe('errors of gemini', () => {
  it.each([
    ['invalid_value', 400, 'INVALID_ARGUMENT'],
    ['invalid_api_key', 401, 'UNAUTHENTICATED'],
    ['scope_missing', 403, 'PERMISSION_DENIED'],
    ['route_not_found', 404, 'NOT_FOUND'],
    ['request_timeout', 408, 'DEADLINE_EXCEEDED'],
    ['resource_locked', 409, 'ABORTED'],
    ['payload_too_large', 413, 'INVALID_ARGUMENT'],
    ['internal', 500, 'INTERNAL'],
    ['provider_timeout', 504, 'DEADLINE_EXCEEDED'],
  ] as const)('have Google’s status, reason and request id: %s', (code, status, name) => {
    expect(writeError('gemini', error(code), 'r-1')).toEqual({
      status,
      body: {
        error: {
          code: status,
          message: 'Something is wrong. (messages[0].role)',
          status: name,
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: code.toUpperCase(),
              metadata: { param: 'messages[0].role' },
            },
            { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId: 'r-1' },
          ],
        },
      },
      headers: {},
    });
  });

  it.each([
    ['rate_limit_exceeded', '7', 'RESOURCE_EXHAUSTED', '7s'],
    ['service_unavailable', undefined, 'UNAVAILABLE', '1s'],
  ] as const)('say after what time to try again: %s', (code, after, status, retryDelay) => {
    const headers = after === undefined ? {} : { 'retry-after': after };
    expect(writeError('gemini', error(code, headers), 'r').body).toMatchObject({
      error: {
        status,
        details: [{}, {}, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
      },
    });
  });

  it('end a stream as data with a numeric code', () => {
    const [data = ''] = errorEvent('gemini', error('provider_error'), 'r').split('\n\n');
    expect(JSON.parse(data.replace(/^data: /, ''))).toEqual({
      error: { code: 502, message: 'Something is wrong. (messages[0].role)', status: 'UNAVAILABLE' },
    });
  });
});

it('every error is as the OpenAPI document has it', () => {
  for (const code of ['invalid_value', 'insufficient_quota', 'rate_limit_exceeded', 'internal'] as const)
    for (const known of [error(code), new AppError(code, 'No.')])
      for (const [dialect, shape] of [
        ['chat', errorBody],
        ['responses', errorBody],
        ['messages', anthropicErrorBody],
        ['gemini', googleErrorBody],
      ] as const)
        expect(shape.safeParse(writeError(dialect, known, 'r').body)).toMatchObject({ success: true });
});
