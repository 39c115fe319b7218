import type { Socket } from 'node:net';
import { scopes as allScopes, roles, type Role, type Scope } from '@gatehouse/contract/scopes';
import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';
import type { Peer } from '@gatehouse/grpc/client';
import type { RequestContext } from '@gatehouse/http/request-context';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError, tenantNotActive } from '@gatehouse/kit/errors';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { AuthenticatedKey, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { KeyReader, type CarriedKey } from './key-reader.ts';

/** A key as the tenant service returns it; null for an unknown, expired or revoked one. */
type Checked = { principal: Principal; tenantStatus: string; expiresAtMs: number } | null;

const deadlineMs = 2_000;

/**
 * Authenticates API keys with the tenant service. Results are cached for 3 s, so that a revocation takes effect within
 * 5 s. During an outage of the tenant service or its database, keys authenticated in the last 5 min stay valid and other
 * keys get 503, never 401.
 */
export class Authenticator {
  readonly #peer: Peer<TenantServiceClient>;
  readonly #keys = new KeyReader();
  readonly #cache = new OutageCache<Checked>({
    max: 50_000,
    freshMs: 3_000,
    outageMs: 5 * 60_000,
    isOutage,
    survivesOutage: (checked) => checked !== null,
  });

  constructor(peer: Peer<TenantServiceClient>) {
    this.#peer = peer;
  }

  /** Whether keys can be authenticated now, at least those in the cache. */
  get ready(): boolean {
    return this.#peer.reachable || this.#cache.coversOutage;
  }

  /**
   * The principal behind an `Authorization` header that came over `connection`. Throws `invalid_api_key`,
   * `tenant_suspended` or a 503.
   */
  async authenticate(
    authorization: string | undefined,
    connection: Socket,
    context: RequestContext,
  ): Promise<Principal> {
    const key = this.#keys.read(authorization, connection);
    if (key === null) throw invalidKey();
    const { fingerprint } = key;
    const checked =
      this.#cache.peek(fingerprint) ?? (await this.#cache.get(fingerprint, () => this.#check(key, context)));
    if (checked === null || checked.expiresAtMs <= Date.now()) throw invalidKey();
    if (checked.tenantStatus !== 'active') throw tenantNotActive(checked.tenantStatus);
    return checked.principal;
  }

  async #check(key: CarriedKey, context: RequestContext): Promise<Checked> {
    const request = { keyId: key.keyId, secretSha256: key.secretSha256 };
    const { requestId, trace } = context;
    const { result } = await this.#peer
      .call('authenticate', request, { deadlineMs, requestId, trace })
      .catch(hangIsOutage);
    return result?.$case === 'key' ? toChecked(result.value) : null;
  }
}

function invalidKey(): AppError {
  return new AppError('invalid_api_key', 'The API key is missing, malformed, unknown, expired or revoked.');
}

function toChecked(key: AuthenticatedKey): Checked {
  return {
    principal: {
      keyId: key.id,
      tenantId: key.tenantId === '' ? null : key.tenantId,
      tenantSlug: key.tenantSlug === '' ? null : key.tenantSlug,
      role: roles.find((role) => role === key.role) ?? unknown('role', key.role),
      // A scope that a newer tenant service knows and this edge does not opens no route here.
      scopes: key.scopes.filter((scope): scope is Scope => allScopes.some((known) => known === scope)),
      boundUser: key.userId ?? null,
      userId: key.userId ?? null,
    },
    tenantStatus: key.tenantId === '' ? 'active' : key.tenantStatus,
    expiresAtMs: key.expiresAt?.getTime() ?? Infinity,
  };
}

function unknown(what: string, value: string): Role {
  throw new Error(`the tenant service answered with the unknown ${what} ${value}`);
}
