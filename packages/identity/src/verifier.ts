import { decodeJwt, jwtVerify, type CryptoKey, type JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import { algorithm, importPublicKeys, serviceOf } from './keys.ts';
import type { Principal } from './principal.ts';
import { assertionAudience } from './signer.ts';

/** The header, and gRPC metadata key, that carries a principal assertion. */
export const assertionHeader = 'x-gatehouse-assertion';

/** The only service whose word on callers counts. */
const assertionIssuers = new Set(['edge']);

/** Clocks of two nodes may differ by this much: a replica whose clock is wrong must not be shut out. */
const clockToleranceS = 60;

interface Verified {
  token: string;
  audience: string;
  payload: JWTPayload;
  expiresAtMs: number;
}

/** Checks tokens of peers against their public keys. Verified tokens are remembered until they expire. */
export class Verifier {
  readonly #keys: Map<string, CryptoKey>;
  /** By the end of the token, which is its signature's: of the whole it would be hashed anew for each request. */
  readonly #verified = new LRUCache<string, Verified>({ max: 20_000 });

  private constructor(keys: Map<string, CryptoKey>) {
    this.#keys = keys;
  }

  static async create(publicKeys: string): Promise<Verifier> {
    return new Verifier(await importPublicKeys(publicKeys));
  }

  /** The name of the calling service; throws when the token is not that service's, not for us, or out of date. */
  async callerOf(token: string, audience: string): Promise<string> {
    const payload = await this.#verify(token, audience);
    return payload.iss ?? '';
  }

  /**
   * The principal of an assertion; throws when it is not the edge's or out of date.
   *
   * With `anyAge` an expired assertion is accepted; everything else is checked. This is for calls between services
   * alone, whose caller proves itself with a fresh token of its own: the age was checked when the request arrived over
   * HTTP, and a request may last longer than its assertion (a slow upload, a long stream). An assertion that leaks can
   * not be used this way without the private key of a service, which could call with an assertion of its request too.
   */
  async principalOf(token: string, { anyAge = false } = {}): Promise<Principal> {
    const payload = await this.#verify(token, assertionAudience, anyAge);
    if (!assertionIssuers.has(payload.iss ?? ''))
      throw new Error(`${payload.iss ?? 'nobody'} may not assert principals`);
    const { principal } = payload;
    if (typeof principal !== 'object' || principal === null) throw new Error('the token asserts nobody');
    return principal as Principal;
  }

  async #verify(token: string, audience: string, anyAge = false): Promise<JWTPayload> {
    const cacheKey = token.slice(-48);
    const known = this.#verified.get(cacheKey);
    if (known?.token === token && known.audience === audience && (anyAge || Date.now() < known.expiresAtMs))
      return known.payload;
    const { payload, protectedHeader } = await jwtVerify(
      token,
      (header) => {
        const key = this.#keys.get(header.kid ?? '');
        if (key === undefined) throw new Error('unknown key id');
        return key;
      },
      {
        audience,
        algorithms: [algorithm],
        clockTolerance: clockToleranceS,
        requiredClaims: ['iss', 'exp'],
        currentDate: anyAge ? withinLife(token) : new Date(),
      },
    );
    // A service may speak for itself only: the key that signed names the issuer.
    if (serviceOf(protectedHeader.kid ?? '') !== payload.iss) throw new Error('issuer and key differ');
    const expiresAtMs = ((payload.exp ?? 0) + clockToleranceS) * 1_000;
    this.#verified.set(cacheKey, { token, audience, payload, expiresAtMs });
    return payload;
  }
}

/** Now, or for a token that has expired a time when it had not. */
function withinLife(token: string): Date {
  const { exp = 0 } = decodeJwt(token);
  return new Date(Math.min(Date.now(), (exp - 1) * 1_000));
}
