import type { Role, Scope } from '@gatehouse/contract/scopes';
import { cacheKey } from '@gatehouse/kit/cache-key';

/** The identity behind a request: the API key authenticated by the edge, and the acting user. */
export interface Principal {
  keyId: string;
  /** Null for owner keys only. */
  tenantId: string | null;
  tenantSlug: string | null;
  role: Role;
  scopes: readonly Scope[];
  /** The user the key is bound to. */
  boundUser: string | null;
  /** The user this request acts for: the bound user, or the one named by `X-Service-User-Id`. */
  userId: string | null;
  /** The session of a browser, in place of a key. */
  sessionId?: string;
  /** Set for a key made by a person for themselves, or given to a program: `keyId` is the key it was made with. */
  isConfirmed?: true;
  /** Names of the toolsets usable by the key. Absent: all with the visibility `tenant`. */
  toolsets?: readonly string[];
  /** Set if the tenant has a directory of users: names of users were looked up there. */
  hasUsers?: true;
}

/** A principal of a tenant; every tenant route needs one. */
export type TenantPrincipal = Principal & { tenantId: string; tenantSlug: string };

export function isTenantPrincipal(principal: Principal): principal is TenantPrincipal {
  return principal.tenantId !== null && principal.tenantSlug !== null;
}

/** Names of the toolsets usable by a caller; null for all with the visibility `tenant`. */
export function toolsetsOf({ toolsets }: Pick<Principal, 'toolsets'>): string[] | null {
  return toolsets === undefined ? null : [...toolsets];
}

/** Stands for the missing principal of a request without a key. It grants nothing. */
export const anonymous: Principal = Object.freeze({
  keyId: '',
  tenantId: null,
  tenantSlug: null,
  role: 'user',
  scopes: [],
  boundUser: null,
  userId: null,
});

/** Callers with the same key see the same agents. */
export function visibilityKey({ tenantId, role, userId }: TenantPrincipal): string {
  return cacheKey(tenantId, userId === null ? role : null, userId);
}

/**
 * Rights a service may assert to another for work without a request: memory and webhook to chat for a model call for
 * one agent of a tenant, and chat to agent and memory for the needs of this call. It grants the scope `chat` and
 * nothing else.
 */
export interface Delegation {
  tenantId: string;
  /** The id of the only agent it is valid for. */
  agentId: string;
  /** The user with the data of the call. */
  userId: string | null;
}
