import { cacheKey } from '@gatehouse/kit/cache-key';
import { atMost } from '@gatehouse/kit/recent-map';
import { SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { algorithm, importPrivateKey, type SigningKey } from './keys.ts';
import { LocalAssertion } from './local-assertion.ts';
import type { Delegation, Principal } from './principal.ts';

/** Lifetime of a token in seconds. Cached tokens are reused for the first two thirds: verifiers allow a minute more. */
export const tokenLifetimeS = 60;
const reuseMs = (tokenLifetimeS * 2_000) / 3;

/** The audience of a principal assertion: any service, because it is passed on with the request. */
export const assertionAudience = 'gatehouse';

/** The audience of a delegation: one service. Differs from the audience of service tokens, so neither passes as the other. */
export function delegationAudience(service: string): string {
  return `gatehouse/${service}`;
}

/** The only scope of a delegation. */
export const delegatedScope = 'chat';

interface Cached {
  token: Promise<string>;
  mintedAt: number;
}

/** Signs service tokens; at the edge, principal assertions; in chat, memory and webhook, delegations. */
export class Signer {
  readonly #key: SigningKey;
  readonly #cache = new LRUCache<string, Cached>(atMost(20_000));
  /** Cache keys of principals without a request-specific acting user: the edge asserts the same objects repeatedly. */
  readonly #names = new WeakMap<Principal, string>();

  private constructor(key: SigningKey) {
    this.#key = key;
  }

  static async create(privateKey: string): Promise<Signer> {
    return new Signer(await importPrivateKey(privateKey));
  }

  get service(): string {
    return this.#key.service;
  }

  /** A token identifying this service to `audience`. */
  serviceToken(audience: string): Promise<string> {
    return this.#cached(cacheKey('service', audience), () => this.#sign({}, audience));
  }

  /** A token with the principal of a request. Created by the edge; other services pass it on unchanged. */
  assertion(principal: Principal): Promise<string> {
    let name = this.#names.get(principal);
    if (name === undefined) {
      name = JSON.stringify(principal);
      // When the request names the acting user, the principal object is not reused.
      if (principal.userId === principal.boundUser) this.#names.set(principal, name);
    }
    return this.#cached(name, () => this.#sign({ principal }, assertionAudience));
  }

  /**
   * A token asking `service` to act for one agent, without a request behind it. Valid for chat if memory or webhook
   * signs it, and for agent and memory if chat does.
   */
  delegation({ tenantId, agentId, userId }: Delegation, service = 'chat'): Promise<string> {
    const delegation = { tenantId, agentId, userId, scopes: [delegatedScope] };
    return this.#cached(cacheKey('delegation', service, tenantId, agentId, userId), () =>
      this.#sign({ delegation }, delegationAudience(service)),
    );
  }

  /** A token for a request without a key, valid for one keyless route. Created by the edge. */
  anonymous(routeId: string): Promise<string> {
    return this.#cached(cacheKey('anonymous', routeId), () =>
      this.#sign({ anonymous: routeId }, assertionAudience),
    );
  }

  /** {@link assertion} for services in this process and, signed when it is needed, for others. */
  localAssertion(principal: Principal): LocalAssertion {
    return new LocalAssertion(this.service, { principal }, () => this.assertion(principal));
  }

  /** {@link anonymous}, likewise. */
  localAnonymous(routeId: string): LocalAssertion {
    return new LocalAssertion(this.service, { anonymousRoute: routeId }, () => this.anonymous(routeId));
  }

  #cached(name: string, mint: () => Promise<string>): Promise<string> {
    const now = Date.now();
    const known = this.#cache.get(name);
    if (known !== undefined && now - known.mintedAt < reuseMs) return known.token;
    const token = mint();
    this.#cache.set(name, { token, mintedAt: now });
    token.catch(() => this.#cache.delete(name));
    return token;
  }

  #sign(claims: Record<string, unknown>, audience: string): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: algorithm, kid: this.#key.kid })
      .setIssuer(this.#key.service)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(`${tokenLifetimeS}s`)
      .sign(this.#key.key);
  }
}
