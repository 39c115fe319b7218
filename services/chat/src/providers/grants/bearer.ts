import type { Credentials } from '../credentials.ts';
import { grantedCredentials, Renewed, type Ask } from './renewed.ts';

const unauthorized = 401;

/** Tokens in the header `Authorization`, renewed ahead. */
export function bearer(ask: Ask<string>, onFailure: (error: Error) => void): Credentials {
  const token = new Renewed(ask, onFailure);
  const headers = (value: string): Record<string, string> => ({ authorization: `Bearer ${value}` });
  return grantedCredentials(token, unauthorized, () => {
    const value = token.get();
    return typeof value === 'string' ? headers(value) : value.then(headers);
  });
}
