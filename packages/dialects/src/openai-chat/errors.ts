import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { isTooLong } from '../translation/too-long.ts';

const types: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'invalid_request_error'],
  [422, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [529, 'overloaded_error'],
]);

/** The body of an error in OpenAI's shape. */
export function writeError(error: ProviderError): Fields {
  const { status, message = 'The provider failed.', code, param } = formatError(error);
  return {
    error: {
      message,
      type: types.get(status ?? 500) ?? 'server_error',
      param: param ?? null,
      code: code ?? null,
    },
  };
}

/** Clients compact a conversation at this code. */
export function formatError(error: ProviderError): ProviderError {
  return isTooLong(error) ? { ...error, code: 'context_length_exceeded' } : error;
}
