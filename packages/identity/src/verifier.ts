import { atMost } from '@gatehouse/kit/recent-map';
import { decodeJwt, jwtVerify, type CryptoKey, type JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import { algorithm, importPublicKeys, serviceOf } from './keys.ts';
import type { Assertion } from './local-assertion.ts';
import type { Delegation, Principal } from './principal.ts';
import { assertionAudience, delegatedScope, delegationAudience } from './signer.ts';

/** The header, and gRPC metadata key, of principal assertions. */
export const assertionHeader = 'x-gatehouse-assertion';

/** The issuers of principal assertions. */
const assertionIssuers = new Set(['edge']);

/** The issuers of delegations, by the service they are for. */
const delegationIssuers: ReadonlyMap<string, readonly string[]> = new Map([
  ['chat', ['memory', 'webhook']],
  ['agent', ['chat']],
  ['memory', ['chat']],
]);

/** Tolerated clock difference between nodes, so a replica with a wrong clock is not locked out. */
const clockToleranceS = 60;

interface VerifiedToken {
  token: string;
  audience: string;
  payload: JWTPayload;
  expiresAtMs: number;
}

/** Verifies tokens of peers with their public keys. Caches verified tokens until they expire. */
export class Verifier {
  readonly #keys: Map<string, CryptoKey>;
  /**
   * Keyed by the last characters of the token, part of its signature: hashing the whole token for each request would
   * cost more.
   */
  readonly #verified = new LRUCache<string, VerifiedToken>(atMost(20_000));

  private constructor(keys: Map<string, CryptoKey>) {
    this.#keys = keys;
  }

  static async create(publicKeys: string): Promise<Verifier> {
    return new Verifier(await importPublicKeys(publicKeys));
  }

  /** Returns the name of the calling service. Throws when the token is invalid, has another audience or has expired. */
  async callerOf(token: string, audience: string): Promise<string> {
    const payload = await this.#verify(token, audience);
    return payload.iss ?? '';
  }

  /**
   * Returns the principal of an assertion. Throws when it was not issued by the edge or, as a token, has expired.
   *
   * With `anyAge`, accepts an expired assertion but checks everything else. Only for calls between services, where the
   * caller authenticates with a fresh service token: the age was checked when the request arrived over HTTP, and a
   * request (a slow upload, a long stream) may outlast its assertion. A leaked assertion cannot be used this way
   * without the private key of a service.
   */
  async principalOf(assertion: Assertion, { anyAge = false } = {}): Promise<Principal> {
    if (typeof assertion !== 'string') {
      const { issuer, statement } = assertion;
      assertMayAssert(issuer);
      if (!('principal' in statement)) throw new Error('the assertion states no principal');
      return statement.principal;
    }
    const payload = await this.#verify(assertion, assertionAudience, anyAge);
    assertMayAssert(payload.iss);
    const { principal } = payload;
    if (typeof principal !== 'object' || principal === null)
      throw new Error('the token contains no principal');
    return principal as Principal;
  }

  /** Returns the route of an anonymous assertion. Throws when it was not issued by the edge or has expired. */
  async anonymousRouteOf(assertion: Assertion): Promise<string> {
    if (typeof assertion !== 'string') {
      const { issuer, statement } = assertion;
      assertMayAssert(issuer);
      if (!('anonymousRoute' in statement)) throw new Error('the assertion is no anonymous one');
      return statement.anonymousRoute;
    }
    const payload = await this.#verify(assertion, assertionAudience);
    const { anonymous } = payload;
    assertMayAssert(payload.iss);
    if (typeof anonymous !== 'string') throw new Error('the token is no anonymous assertion');
    return anonymous;
  }

  /**
   * Returns the delegation made by `issuer` for `service`. Throws when another service made it or it is for another
   * service, when it grants anything but the scope `chat`, or when it has expired.
   */
  async delegationOf(
    token: string,
    { issuer, service }: { issuer: string; service: string },
  ): Promise<Delegation> {
    const payload = await this.#verify(token, delegationAudience(service));
    if (payload.iss !== issuer || delegationIssuers.get(service)?.includes(issuer) !== true)
      throw new Error(`the issuer ${payload.iss ?? '(none)'} may not delegate as ${issuer}`);
    const claim = payload['delegation'] as Partial<Delegation & { scopes: unknown }> | undefined;
    const { tenantId, agentId, userId, scopes } = claim ?? {};
    if (JSON.stringify(scopes) !== JSON.stringify([delegatedScope]))
      throw new Error(`a delegation must have the scope ${delegatedScope} and no other`);
    if (typeof tenantId !== 'string' || typeof agentId !== 'string' || userId === undefined)
      throw new Error('the delegation is incomplete');
    return { tenantId, agentId, userId };
  }

  async #verify(token: string, audience: string, anyAge = false): Promise<JWTPayload> {
    const cacheKey = token.slice(-48);
    const known = this.#verified.get(cacheKey);
    // oxlint-disable-next-line house/secret-comparison -- who knows the end of a token, which is its key here, has all of it
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
    // A service may issue only its own tokens: the signing key determines the issuer.
    if (serviceOf(protectedHeader.kid ?? '') !== payload.iss)
      throw new Error('the issuer does not match the signing key');
    const expiresAtMs = ((payload.exp ?? 0) + clockToleranceS) * 1_000;
    this.#verified.set(cacheKey, { token, audience, payload, expiresAtMs });
    return payload;
  }
}

function assertMayAssert(issuer = '(none)'): void {
  if (!assertionIssuers.has(issuer)) throw new Error(`the issuer ${issuer} may not assert principals`);
}

/** The current time; for an expired token, a time before its expiry. */
function withinLife(token: string): Date {
  const { exp = 0 } = decodeJwt(token);
  return new Date(Math.min(Date.now(), (exp - 1) * 1_000));
}

/** Whether a token claims to be a delegation to `service`. Proves nothing: `delegationOf` verifies it. */
export function isDelegation(assertion: Assertion, service: string): assertion is string {
  try {
    return typeof assertion === 'string' && decodeJwt(assertion).aud === delegationAudience(service);
  } catch {
    return false;
  }
}
