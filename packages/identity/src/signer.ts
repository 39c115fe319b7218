import { cacheKey } from '@gatehouse/kit/cache-key';
import { SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { algorithm, importPrivateKey, type SigningKey } from './keys.ts';
import type { Principal } from './principal.ts';

/** Tokens live this long; they are handed out from the cache only while two thirds of it remain. */
export const tokenLifetimeS = 60;
const reuseMs = (tokenLifetimeS * 1_000) / 3;

/** The audience of a principal assertion: any service, since it travels along with the work. */
export const assertionAudience = 'gatehouse';

interface Cached {
  token: Promise<string>;
  mintedAt: number;
}

/** Signs what this service says of itself and, at the edge, of the callers it authenticated. */
export class Signer {
  readonly #key: SigningKey;
  readonly #cache = new LRUCache<string, Cached>({ max: 20_000 });
  /** What principals are called in the cache, of those that keys stand for: the edge asserts the same ones over and over. */
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

  /** "I am this service, calling `audience`." */
  serviceToken(audience: string): Promise<string> {
    return this.#cached(cacheKey('service', audience), () => this.#sign({}, audience));
  }

  /** "This request is for that principal." Minted by the edge; other services pass on the one they were given. */
  assertion(principal: Principal): Promise<string> {
    let name = this.#names.get(principal);
    if (name === undefined) {
      name = JSON.stringify(principal);
      // Where a request names the user, the principal is made for it and won't come again.
      if (principal.actingUser === principal.boundUser) this.#names.set(principal, name);
    }
    return this.#cached(name, () => this.#sign({ principal }, assertionAudience));
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
