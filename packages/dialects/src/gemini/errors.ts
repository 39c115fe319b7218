import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { isTooLong } from '../translation/too-long.ts';

const statuses: ReadonlyMap<number, string> = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [413, 'INVALID_ARGUMENT'],
  [422, 'INVALID_ARGUMENT'],
  [429, 'RESOURCE_EXHAUSTED'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
  [529, 'UNAVAILABLE'],
]);

const overloaded = 529;

/** The body of an error in Google's shape. */
export function writeError(error: ProviderError): Fields {
  const { status = 500, message = 'The provider failed.' } = formatError(error);
  const code = status === overloaded ? 503 : status;
  return { error: { code, message, status: statuses.get(status) ?? 'INTERNAL' } };
}

/** Google's words for a conversation that is too long. */
const tooLong = 'The input token count exceeds the maximum number of tokens allowed';

export function formatError(error: ProviderError): ProviderError {
  const { message = '' } = error;
  return isTooLong(error) && !/^the input token count/i.test(message)
    ? { ...error, message: `${tooLong}: ${message}` }
    : error;
}
