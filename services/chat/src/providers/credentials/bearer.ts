import type { Credentials } from '../credentials.ts';
import { wrongKey } from '../key-status.ts';
import { cachedCredentials, CredentialCache, type FetchCredential } from './credential-cache.ts';

/** Tokens in the header `Authorization`, renewed ahead. */
export function bearer(
  fetchCredential: FetchCredential<string>,
  onFailure: (error: Error) => void,
): Credentials {
  return inHeaders(new CredentialCache(fetchCredential, onFailure), (token) => ({
    authorization: `Bearer ${token}`,
  }));
}

/** A token in headers. */
export function inHeaders(
  cache: CredentialCache<string>,
  headersOf: (token: string) => Record<string, string>,
): Credentials {
  return cachedCredentials(cache, wrongKey, () => {
    const value = cache.get();
    return typeof value === 'string' ? headersOf(value) : value.then(headersOf);
  });
}
