import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { isTooLong } from '../translation/too-long.ts';

const types: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [422, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

/** Clients compact a conversation at these words. */
const tooLong = 'prompt is too long';

/** The body of an error in Anthropic's shape. */
export function writeError(error: ProviderError): Fields {
  const { status, message = 'The provider failed.' } = formatError(error);
  return { type: 'error', error: { type: types.get(status ?? 500) ?? 'api_error', message } };
}

export function formatError(error: ProviderError): ProviderError {
  const { message = '' } = error;
  return isTooLong(error) && !message.toLowerCase().startsWith(tooLong)
    ? { ...error, message: `${tooLong}: ${message}` }
    : error;
}
