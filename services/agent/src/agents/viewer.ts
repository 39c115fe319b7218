import type { TenantPrincipal } from '@gatehouse/identity/principal';

/** The caller of a request, as far as it decides which of the tenant's agents are visible. */
export interface Viewer {
  tenantId: string;
  /** True for an admin key without an acting user: it sees every agent. */
  seesAll: boolean;
  /** Other callers see agents shared with the tenant, and the private agents of this user, if one is set. */
  user: string | null;
}

export function viewerOf({ tenantId, role, userId }: TenantPrincipal): Viewer {
  return { tenantId, seesAll: role === 'admin' && userId === null, user: userId };
}
