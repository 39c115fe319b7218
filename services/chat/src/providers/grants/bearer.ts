import type { Credentials } from '../credentials.ts';
import { grantedCredentials, Renewed, type Ask } from './renewed.ts';

const unauthorized = 401;

/** Tokens in the header `Authorization`, renewed ahead. */
export function bearer(ask: Ask<string>, onFailure: (error: Error) => void): Credentials {
  return inHeaders(new Renewed(ask, onFailure), (token) => ({ authorization: `Bearer ${token}` }));
}

/** A token in headers. */
export function inHeaders(
  token: Renewed<string>,
  headersOf: (token: string) => Record<string, string>,
): Credentials {
  return grantedCredentials(token, unauthorized, () => {
    const value = token.get();
    return typeof value === 'string' ? headersOf(value) : value.then(headersOf);
  });
}
