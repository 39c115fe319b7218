import type { Socket } from 'node:net';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError, tenantNotActive } from '@gatehouse/kit/errors';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import { KeyReader, type CarriedKey } from './key-reader.ts';

/** A key as the tenant service returns it; null for an unknown, expired or revoked one. */
export type Checked = { principal: Principal; tenantStatus: string; expiresAtMs: number } | null;

/** The ids of the request that carries a key. */
export interface RequestIds {
  requestId: string;
  trace: TraceContext;
}

/** The service that has the keys. */
export interface KeySource {
  readonly reachable: boolean;
  check(key: CarriedKey, ids: RequestIds): Promise<Checked>;
  isOutage(error: unknown): boolean;
}

/**
 * Authenticates API keys with the tenant service. Results are cached for 3 s, so that a revocation takes effect within
 * 5 s. During an outage of the tenant service or its database, keys authenticated in the last 5 min stay valid and other
 * keys get 503, never 401.
 */
export class Authenticator {
  readonly #source: KeySource;
  readonly #keys = new KeyReader();
  readonly #cache: OutageCache<Checked>;

  constructor(source: KeySource) {
    this.#source = source;
    this.#cache = new OutageCache<Checked>({
      max: 50_000,
      freshMs: 3_000,
      outageMs: 5 * 60_000,
      isOutage: (error) => source.isOutage(error),
      survivesOutage: (checked) => checked !== null,
    });
  }

  /** Whether keys can be authenticated now, at least those in the cache. */
  get ready(): boolean {
    return this.#source.reachable || this.#cache.coversOutage;
  }

  /**
   * The principal behind an `Authorization` header that came over `connection`. Throws `invalid_api_key`,
   * `tenant_suspended` or a 503.
   */
  async authenticate(
    authorization: string | undefined,
    connection: Socket,
    ids: RequestIds,
  ): Promise<Principal> {
    const key = this.#keys.read(authorization, connection);
    if (key === null) throw invalidKey();
    const { fingerprint } = key;
    const checked =
      this.#cache.peek(fingerprint) ??
      (await this.#cache.get(fingerprint, () => this.#source.check(key, ids)));
    if (checked === null || checked.expiresAtMs <= Date.now()) throw invalidKey();
    if (checked.tenantStatus !== 'active') throw tenantNotActive(checked.tenantStatus);
    return checked.principal;
  }
}

function invalidKey(): AppError {
  return new AppError('invalid_api_key', 'The API key is missing, malformed, unknown, expired or revoked.');
}
