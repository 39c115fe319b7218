import { newRandomToken } from '@gatehouse/kit/random-token';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { z } from 'zod';
import { loginMinutes } from '../bounds.ts';

const shape = z.strictObject({
  issuer: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  /** By the clock of the database, since replicas' clocks differ. */
  expiresAt: z.number(),
});

/** The values in a browser while its person logs in at an issuer. */
export type LoginState = z.output<typeof shape>;

/** Browsers keep 4,096 bytes of a cookie with its name and attributes. */
const maxBytes = 3_800;
const context = 'tenant.login-state';

/** Random values for a login begun `now`. A verifier of PKCE has 43 characters at least (RFC 7636, 4.1). */
export function newLoginState(issuer: string, returnTo: string, now: Date): LoginState {
  const expiresAt = now.getTime() + loginMinutes * 60_000;
  return {
    issuer,
    returnTo,
    state: newRandomToken(),
    nonce: newRandomToken(),
    verifier: newRandomToken(),
    expiresAt,
  };
}

/**
 * Keeps the values of a login in a sealed cookie: a login costs no row before the issuer has confirmed it, and any
 * replica finishes it.
 */
export function loginStates(keyRing: KeyRing) {
  const sealed = (state: LoginState): string =>
    keyRing.seal(Buffer.from(JSON.stringify(state)), context).toString('base64url');
  return {
    /** The value of the cookie. A path too long for it is replaced by `fallback`. */
    seal(state: LoginState, fallback: string): string {
      const value = sealed(state);
      return value.length <= maxBytes ? value : sealed({ ...state, returnTo: fallback });
    },

    /** Null for a text not sealed here. */
    open(text: string): LoginState | null {
      try {
        const json = keyRing.open(Buffer.from(text, 'base64url'), context).toString();
        return shape.parse(JSON.parse(json));
      } catch {
        return null;
      }
    },
  };
}

export type LoginStates = ReturnType<typeof loginStates>;
