import { describe, expect, it } from '@jest/globals';
import { AppError, errorBody, errorType, isErrorCode, toAppError, type ErrorCode } from './errors.ts';

describe('an AppError', () => {
  it.each<[ErrorCode, number, string, number]>([
    ['invalid_json', 400, 'invalid_request_error', 3],
    ['unknown_parameter', 400, 'invalid_request_error', 3],
    ['invalid_api_key', 401, 'authentication_error', 16],
    ['scope_missing', 403, 'permission_error', 7],
    ['tenant_suspended', 403, 'permission_error', 7],
    ['model_not_found', 404, 'invalid_request_error', 5],
    ['method_not_allowed', 405, 'invalid_request_error', 12],
    ['request_timeout', 408, 'timeout_error', 4],
    ['agent_key_taken', 409, 'invalid_request_error', 6],
    ['idempotency_key_reused', 409, 'invalid_request_error', 6],
    ['idempotency_in_progress', 409, 'invalid_request_error', 10],
    ['payload_too_large', 413, 'invalid_request_error', 11],
    ['unsupported_media_type', 415, 'invalid_request_error', 3],
    ['provider_unprocessable', 422, 'invalid_request_error', 3],
    ['provider_rate_limited', 429, 'rate_limit_error', 8],
    ['client_closed_request', 499, 'invalid_request_error', 1],
    ['internal', 500, 'api_error', 13],
    ['provider_authentication', 502, 'api_error', 13],
    ['database_unavailable', 503, 'unavailable_error', 14],
    ['service_timeout', 504, 'timeout_error', 4],
  ])('%s answers %i with type %s, and %i over gRPC', (code, status, type, grpcStatus) => {
    const error = new AppError(code, 'm');
    expect(error).toMatchObject({ status, type, grpcStatus });
    expect(errorType(status)).toBe(type);
  });

  it('becomes a body with all keys, also those that are null', () => {
    expect(errorBody(new AppError('not_found', 'Gone.'), 'r-1')).toEqual({
      error: {
        message: 'Gone.',
        type: 'invalid_request_error',
        code: 'not_found',
        param: null,
        request_id: 'r-1',
      },
    });
    const full = new AppError('provider_bad_request', 'Too long.', {
      param: 'messages',
      publicCode: 'context_length_exceeded',
    });
    expect(errorBody(full, 'r-2').error).toMatchObject({
      param: 'messages',
      code: 'context_length_exceeded',
    });
    expect(full.code).toBe('provider_bad_request');
  });

  it('keeps its cause and headers', () => {
    const cause = new Error('why');
    const error = new AppError('internal', 'm', { cause, headers: { 'retry-after': '1' } });
    expect([error.cause, error.headers]).toEqual([cause, { 'retry-after': '1' }]);
    expect('cause' in new AppError('internal', 'm')).toBe(false);
  });
});

describe('what was caught', () => {
  it('passes through when it is an AppError', () => {
    const error = new AppError('not_found', 'm');
    expect(toAppError(error)).toBe(error);
  });

  it.each([[new Error('password is hunter2')], ['hunter2'], [undefined], [null], [{ message: 'hunter2' }]])(
    'becomes an internal error that hides its text: %p',
    (caught) => {
      const error = toAppError(caught);
      expect(error).toMatchObject({ code: 'internal', status: 500 });
      expect(JSON.stringify(errorBody(error, 'r'))).not.toContain('hunter2');
      expect(error.cause).toBe(caught);
    },
  );
});

it('knows its own codes from other words', () => {
  expect(isErrorCode('not_found')).toBe(true);
  for (const word of ['', 'NOT_FOUND', 'toString', '__proto__', 'constructor'])
    expect(isErrorCode(word)).toBe(false);
});
