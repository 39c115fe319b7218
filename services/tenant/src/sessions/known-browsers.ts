import { hash } from 'node:crypto';
import { sessionCookie } from '@gatehouse/contract/sessions';
import { HostCookie } from '@gatehouse/kit/host-cookie';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { knownBrowserSeconds } from '../bounds.ts';
import type { Person } from '../keys/api-key.ts';

const context = 'tenant.known-browser';

/**
 * Browsers with a login of a person at an issuer within 30 days. Each has a sealed cookie with the hash of the person,
 * which gives no right. Logins by it have turns of their own: a network from which others send unproved answers of
 * issuers keeps none of these browsers out (OWASP: device cookies).
 */
export class KnownBrowsers {
  readonly #keyRing: KeyRing;
  readonly #cookie: HostCookie;

  constructor(keyRing: KeyRing, publicUrl: string) {
    this.#keyRing = keyRing;
    this.#cookie = new HostCookie(`${sessionCookie}-browser`, publicUrl);
  }

  /** The value of a `Set-Cookie` header for a browser in which a person has logged in. */
  cookieOf({ iss, sub }: Person): string {
    const person = hash('sha256', JSON.stringify([iss, sub]), 'base64url');
    const text = `${Date.now() + knownBrowserSeconds * 1_000} ${person}`;
    return this.#cookie.set(
      this.#keyRing.seal(Buffer.from(text), context).toString('base64url'),
      knownBrowserSeconds,
    );
  }

  /** The hash of the person in a `Cookie` header; null without a cookie sealed here. */
  personIn(header: string | undefined): string | null {
    const [value, another] = this.#cookie.valuesIn(header);
    if (value === undefined || another !== undefined) return null;
    try {
      const text = this.#keyRing.open(Buffer.from(value, 'base64url'), context).toString();
      const [until = '', person = ''] = text.split(' ');
      return Number(until) > Date.now() ? person : null;
    } catch {
      return null;
    }
  }
}
