import type { Credentials } from '../credentials.ts';
import { inHeaders } from './bearer.ts';
import { smallFile, tokenIn } from './issuer.ts';
import { CredentialCache } from './credential-cache.ts';

/** It is read again by calls after two thirds of this, and is used so long if it can't be read. */
const lifetimeMs = 15_000;

/** A key in a file, and a number that changes with it. Reading the number reads the file again, as a call does. */
export function fileKey(
  path: string,
  headersOf: (key: string) => Record<string, string>,
  onFailure: (error: Error) => void,
): { credentials: Credentials; version: () => number } {
  let [last, version] = ['', 0];
  const key = new CredentialCache(async () => {
    const value = tokenIn(await smallFile(path));
    if (value !== last) [last, version] = [value, version + 1];
    return { value, lifetimeMs };
  }, onFailure);
  return {
    credentials: inHeaders(key, headersOf),
    version: () => {
      // A failure is kept for the next call.
      Promise.resolve(key.get()).catch(() => undefined);
      return version;
    },
  };
}
