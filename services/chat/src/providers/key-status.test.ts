import { describe, expect, it } from '@jest/globals';
import { keyStatus } from './key-status.ts';

const google = (status: string, reason: string, message = 'm') => ({
  error: {
    ...{ code: 400, message, status },
    details: [
      { '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en-US', message },
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' },
    ],
  },
});
const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message } });
const aws = (name: string) => ({ 'x-amzn-errortype': `${name}:http://internal.amazon.com/coral/` });

describe('the status of an error by what it says of its key', () => {
  it.each<[name: string, given: number, body: unknown, headers: Record<string, string>, status: number]>([
    ['Google, wrong', 400, google('INVALID_ARGUMENT', 'API_KEY_INVALID'), {}, 401],
    ['Google, in its OpenAI shape', 400, [google('INVALID_ARGUMENT', 'API_KEY_INVALID')], {}, 401],
    ['Google, without billing', 403, google('PERMISSION_DENIED', 'BILLING_DISABLED'), {}, 402],
    ['Bedrock, unknown access key', 403, { message: 'm' }, aws('UnrecognizedClientException'), 401],
    ['Bedrock, wrong secret', 403, { message: 'm' }, aws('InvalidSignatureException'), 401],
    ['Bedrock, expired', 403, { __type: 'com.amazon#ExpiredTokenException' }, {}, 401],
    [
      ...(['Bedrock, wrong API key', 403] as const),
      ...([
        { Message: 'Authentication failed: Please make sure your API Key is valid.' },
        aws('AccessDeniedException'),
        401,
      ] as const),
    ],
    [
      ...(['Bedrock, without a cache', 403] as const),
      ...([
        { message: 'You invoked an unsupported model or your request did not allow prompt caching.' },
        aws('AccessDeniedException'),
        400,
      ] as const),
    ],
    ['OpenAI, nothing left', 429, { error: { code: 'insufficient_quota', type: 'x' } }, {}, 402],
    ['OpenAI, by its type', 429, { error: { code: null, type: 'insufficient_quota' } }, {}, 402],
    ['OpenAI, a hard limit', 400, { error: { code: 'billing_hard_limit_reached' } }, {}, 402],
    ['Anthropic, billing', 402, anthropic('billing_error', 'm'), {}, 402],
    [
      ...(['Anthropic, no credit', 400] as const),
      ...([
        anthropic('invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'),
        {},
        402,
      ] as const),
    ],
    ['Azure and Vertex, wrong', 401, { error: { code: '401', message: 'Access denied' } }, {}, 401],
  ])('%s', (...[, given, body, headers, status]) => {
    expect(keyStatus(given, body, headers)).toBe(status);
  });

  it.each<[name: string, status: number, body: unknown, headers?: Record<string, string>]>([
    ['Google, a wrong request', 400, google('INVALID_ARGUMENT', 'x', 'API_KEY_INVALID')],
    ['Google, a field', 400, { error: { code: 400, details: [{ fieldViolations: [] }, null, 7] } }],
    ['Google, of another service', 403, google('PERMISSION_DENIED', 'API_KEY_SERVICE_BLOCKED')],
    ['Bedrock, no access to a model', 403, { message: 'm' }, aws('AccessDeniedException')],
    ['Bedrock, a wrong request', 400, { message: 'm' }, aws('ValidationException')],
    ['OpenAI, a rate', 429, { error: { code: 'rate_limit_exceeded' } }],
    [
      'Anthropic, words of the client',
      400,
      anthropic('invalid_request_error', 'model: Your credit balance is too low'),
    ],
    ['a server that failed', 500, { error: { code: 'insufficient_quota' } }],
    ['text', 400, 'API_KEY_INVALID'],
    ['nothing', 400, null],
    ['a list', 400, []],
  ])('leaves that of others: %s', (_name, status, body, headers = {}) => {
    expect(keyStatus(status, body, headers)).toBe(status);
  });
});
