import type { TenantPrincipal } from '@gatehouse/identity/principal';

/** Whose eyes a tenant's agents are seen with (contract §3, agents). */
export interface Viewer {
  tenantId: string;
  /** An admin key that acts for nobody in particular sees every agent. */
  seesAll: boolean;
  /** Others see the agents for the whole tenant, and the private ones of this user if there is one. */
  user: string | null;
}

export function viewerOf({ tenantId, role, actingUser }: TenantPrincipal): Viewer {
  return { tenantId, seesAll: role === 'admin' && actingUser === null, user: actingUser };
}
