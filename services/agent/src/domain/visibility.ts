import type { Principal } from '@gatehouse/identity/principal';

/** Which agents of the tenant a caller may see (contract §3, agents). */
export type Visibility =
  /** Every one: an admin key that acts for nobody in particular. */
  | { kind: 'all' }
  /** Those for the whole tenant, and the private ones of `user` if there is one. */
  | { kind: 'shared'; user: string | null };

export function visibilityOf(principal: Pick<Principal, 'role' | 'actingUser'>): Visibility {
  if (principal.actingUser === null && principal.role === 'admin') return { kind: 'all' };
  return { kind: 'shared', user: principal.actingUser };
}
