import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from './dialect.ts';
import { concernsRequest, errorIn, parseError } from './provider-errors.ts';

/** The words of an error that concerns the request; of others its status alone, since they may name the platform's account. */
export function parsePublicError(body: Fields): ProviderError {
  return withoutAccount(parseError(body));
}

/** The error in a body or an event that came with status 200, or null. */
export function publicErrorIn(fields: Fields): ProviderError | null {
  const error = errorIn(fields);
  return error === null ? null : withoutAccount(error);
}

/** The same of an error that has been read. */
export function withoutAccount(error: ProviderError): ProviderError {
  const { status, message: _message, code: _code, param: _param, ...others } = error;
  return status !== undefined && concernsRequest(status)
    ? error
    : { ...others, ...(status !== undefined && { status }) };
}
