import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import { roles, scopes as allScopes, type Role, type Scope } from '@gatehouse/contract/scopes';
import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';
import type { AuthenticatedKey, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Checked, KeySource, RequestIds } from './authenticator.ts';
import type { CarriedKey } from './key-reader.ts';
import type { CarriedSession } from './session-reader.ts';

/** The tenant service, which has the keys and sessions. */
export class KeyClient implements KeySource {
  readonly isOutage = isOutage;
  readonly #peer: RpcClient<TenantServiceClient>;

  constructor(peer: RpcClient<TenantServiceClient>) {
    this.#peer = peer;
  }

  get reachable(): boolean {
    return this.#peer.reachable;
  }

  async checkKey(
    { keyId, secretSha256 }: CarriedKey,
    known: boolean,
    { requestId, trace }: RequestIds,
  ): Promise<Checked> {
    const { result, rejectedKey } = await this.#peer
      .call(
        'authenticate',
        { keyId, secretSha256, known },
        { deadlineMs: lookupDeadlineMs, requestId, trace },
      )
      .catch(hangIsOutage);
    if (result?.$case === 'key') return toChecked(result.value, subjectsOf(keyId, result.value));
    if (rejectedKey === undefined) return null;
    return { rejected: { keyId: rejectedKey.id, tenantId: rejectedKey.tenantId } };
  }

  async checkSession(
    { tokenSha256 }: CarriedSession,
    known: boolean,
    { requestId, trace }: RequestIds,
  ): Promise<Checked> {
    const { key } = await this.#peer
      .call('authenticateSession', { tokenSha256, known }, { deadlineMs: lookupDeadlineMs, requestId, trace })
      .catch(hangIsOutage);
    return key === undefined ? null : toChecked(key, null);
  }
}

/** Null for a key as the previous release of the tenant service sends it, which lists no changes of directories. */
function subjectsOf(keyId: string, { tenantId, hasUsers }: AuthenticatedKey): readonly string[] | null {
  return hasUsers === undefined ? null : [keyId, tenantId];
}

function toChecked(key: AuthenticatedKey, subjects: readonly string[] | null): Checked {
  return {
    principal: {
      keyId: key.id,
      tenantId: key.tenantId === '' ? null : key.tenantId,
      tenantSlug: key.tenantSlug === '' ? null : key.tenantSlug,
      role: roles.find((role) => role === key.role) ?? unknown('role', key.role),
      // A scope opens no route here if a newer tenant service knows it and this edge does not.
      scopes: key.scopes.filter((scope): scope is Scope => allScopes.some((known) => known === scope)),
      boundUser: key.userId ?? null,
      userId: key.userId ?? null,
      ...(key.sessionId !== undefined && { sessionId: key.sessionId }),
      ...(key.confirmed === true && { isConfirmed: true }),
      ...(key.toolsets !== undefined && { toolsets: key.toolsets.names }),
      ...(key.hasUsers === true && { hasUsers: true }),
    },
    tenantStatus: key.tenantId === '' ? 'active' : key.tenantStatus,
    expiresAtMs: key.expiresAt?.getTime() ?? Infinity,
    subjects,
  };
}

function unknown(what: string, value: string): Role {
  throw new Error(`the tenant service answered with the unknown ${what} ${value}`);
}
