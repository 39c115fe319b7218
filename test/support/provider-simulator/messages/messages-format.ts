import type { AnswerFormat } from '../answer-format.ts';
import { RefusedRequest } from '../errors.ts';
import type { WireError } from '../errors.ts';

/** Anthropic's types of errors and default texts, by status. */
const errorsByStatus: Record<number, { type: string; message: string }> = {
  400: { type: 'invalid_request_error', message: 'The simulator is set to answer 400.' },
  401: { type: 'authentication_error', message: 'invalid x-api-key' },
  402: { type: 'billing_error', message: 'Your credit balance is too low to access the API.' },
  403: { type: 'permission_error', message: 'Your API key does not have permission to use this resource.' },
  404: { type: 'not_found_error', message: 'Not found' },
  409: { type: 'conflict_error', message: 'The request conflicts with the state of the resource.' },
  413: { type: 'request_too_large', message: 'Request exceeds the maximum size' },
  429: { type: 'rate_limit_error', message: 'This request would exceed your rate limit.' },
  504: { type: 'timeout_error', message: 'Request timed out' },
  529: { type: 'overloaded_error', message: 'Overloaded' },
};

/** The shapes of Anthropic's Messages API; every answer carries the request id, and errors repeat it. */
export function messagesFormat(requestId: string): AnswerFormat {
  const errorBody = (error: WireError): string =>
    JSON.stringify({ type: 'error', error: errorObject(error), request_id: requestId });
  return {
    keyHeaders: ['x-api-key', 'authorization'],
    headers: { 'request-id': requestId },
    wrongKey: () => new RefusedRequest('invalid x-api-key', { status: 401 }),
    defaultError,
    refusal: ({ status, message, code }) => ({ ...defaultError(status), message, code }),
    errorBody,
    errorEvents: (error) => [{ event: 'error', data: errorBody(error) }],
  };
}

function defaultError(status: number): WireError {
  const { type, message } = errorsByStatus[status] ?? otherError(status);
  return { type, message, param: null, code: null };
}

function otherError(status: number): { type: string; message: string } {
  if (status >= 500) return { type: 'api_error', message: 'Internal server error' };
  return { type: 'invalid_request_error', message: `The simulator is set to answer ${status}.` };
}

/** The code of an error is in its details, and is absent for most. */
function errorObject({ type, message, code }: WireError): object {
  return code === null ? { type, message } : { type, message, details: { error_code: code } };
}
