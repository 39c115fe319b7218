import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from './dialect.ts';
import { concernsRequest, errorIn, errorWords } from './error-words.ts';

/** The words of an error that concerns the request; of others its status alone, since they may name the platform's account. */
export function publicWords(body: Fields): ProviderError {
  return withoutAccount(errorWords(body));
}

/** The error in a body or an event that came with status 200, or null. */
export function publicErrorIn(fields: Fields): ProviderError | null {
  const error = errorIn(fields);
  return error === null ? null : withoutAccount(error);
}

function withoutAccount(error: ProviderError): ProviderError {
  const { status } = error;
  if (status === undefined) return {};
  return concernsRequest(status) ? error : { status };
}
