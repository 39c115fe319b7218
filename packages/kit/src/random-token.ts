import { hash, randomBytes } from 'node:crypto';

/** Secret texts of cookies, links and codes: knowing one is the proof. Stores keep their hashes alone. */

/** 256 random bits, in 43 characters of a URL. */
export function newRandomToken(): string {
  return randomBytes(32).toString('base64url');
}

export function tokenSha256(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** The hash of a token; null for an impossible one. */
export function tokenSha256Of(text: string | undefined): Buffer | null {
  return text !== undefined && /^[\w-]{43}$/.test(text) ? tokenSha256(text) : null;
}
