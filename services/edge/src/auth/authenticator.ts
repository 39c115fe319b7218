import type { Socket } from 'node:net';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError, assertTenantActive } from '@gatehouse/kit/errors';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import { KeyReader, type CarriedKey } from './key-reader.ts';
import { invalidSession, type CarriedSession } from './session-reader.ts';

/** A key or session as the tenant service returns it; null for an unknown, expired or revoked one. */
export type Checked = { principal: Principal; tenantStatus: string; expiresAtMs: number } | null;

/** The ids of the request that carries a key or session. */
export interface RequestIds {
  requestId: string;
  trace: TraceContext;
}

/** The service that has the keys and sessions. */
export interface KeySource {
  readonly reachable: boolean;
  checkKey(key: CarriedKey, ids: RequestIds): Promise<Checked>;
  checkSession(session: CarriedSession, ids: RequestIds): Promise<Checked>;
  isOutage(error: unknown): boolean;
}

/**
 * Authenticates API keys and sessions with the tenant service. Results are cached for 3 s, so that a revocation takes
 * effect within 5 s. During an outage of the tenant service or its database, those authenticated in the last 5 min stay
 * valid and others get 503, never 401.
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
    const checked =
      this.#cache.peek(key.fingerprint) ??
      (await this.#cache.get(key.fingerprint, () => this.#source.checkKey(key, ids)));
    return principalOf(checked, invalidKey);
  }

  /** The principal behind a session. Throws `invalid_session`, `tenant_suspended` or a 503. */
  async authenticateSession(session: CarriedSession, ids: RequestIds): Promise<Principal> {
    const check = (): Promise<Checked> => this.#source.checkSession(session, ids);
    return principalOf(await this.#cache.get(session.fingerprint, check), invalidSession);
  }
}

function principalOf(checked: Checked, invalid: () => AppError): Principal {
  if (checked === null || checked.expiresAtMs <= Date.now()) throw invalid();
  assertTenantActive(checked.tenantStatus);
  return checked.principal;
}

function invalidKey(): AppError {
  return new AppError('invalid_api_key', 'The API key is missing, malformed, unknown, expired or revoked.');
}
