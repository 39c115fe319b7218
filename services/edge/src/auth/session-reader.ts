import { takesSession } from '@gatehouse/contract/route';
import { pageHeader, sessionCookie } from '@gatehouse/contract/sessions';
import { HostCookie } from '@gatehouse/kit/host-cookie';
import { AppError } from '@gatehouse/kit/errors';
import { tokenSha256Of } from '@gatehouse/kit/random-token';
import type { RequestTarget } from '../shared/target.ts';

/** A session as a request carries it. */
export interface CarriedSession {
  tokenSha256: Buffer;
  /** Different for any two sessions and keys; it doesn't reveal the token. */
  fingerprint: string;
}

/**
 * Reads the session out of the cookie of a request. Browsers send cookies by themselves, so a session counts only for
 * requests sent for certain by a page of the gateway itself: no other page can set their headers without CORS, which
 * allows neither.
 */
export class SessionReader {
  readonly #cookie: HostCookie;

  constructor(publicUrl: string) {
    this.#cookie = new HostCookie(sessionCookie, publicUrl);
  }

  /**
   * Null if the request has no session, or its route takes no session. `hasKey`: whether it has a key too. Throws
   * `conflicting_credentials`, `cross_site_request` and, for a cookie of no session's form, `invalid_session`.
   */
  read({ route, headers }: Pick<RequestTarget, 'route' | 'headers'>, hasKey: boolean): CarriedSession | null {
    if (headers.cookie === undefined) return null;
    const values = this.#cookie.valuesIn(headers.cookie);
    const [token, another] = values;
    if (token === undefined || !takesSession(route)) return null;
    if (hasKey)
      throw new AppError('conflicting_credentials', 'The request carries a session and an API key.');
    if (headers['sec-fetch-site'] !== 'same-origin' || headers[pageHeader.name] !== pageHeader.value)
      throw new AppError('cross_site_request', 'Only pages of the gateway itself may use a session.');
    const tokenSha256 = another === undefined ? tokenSha256Of(token) : null;
    if (tokenSha256 === null) throw invalidSession();
    return { tokenSha256, fingerprint: `session ${tokenSha256.toString('base64')}` };
  }
}

export function invalidSession(): AppError {
  return new AppError('invalid_session', 'The session is missing, unknown or has ended. Log in again.');
}
