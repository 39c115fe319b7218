import type { Document } from '@gatehouse/contract/memory';
import { grants, type Role, type Scope } from '@gatehouse/contract/scopes';

/** Rights for a view or a button. The API decides; what it would refuse is not offered. */
export type Needs =
  // Any open session.
  'session' | { role: 'owner' | 'admin' } | { scope: Scope } | { anyScope: readonly Scope[] };

/** The rights of a session. */
export interface Rights {
  role: Role;
  scopes: readonly Scope[];
}

export function may({ role, scopes }: Rights, needs: Needs): boolean {
  if (needs === 'session') return true;
  if ('role' in needs) return role === needs.role;
  const wanted = 'scope' in needs ? [needs.scope] : needs.anyScope;
  return role !== 'owner' && wanted.some((scope) => grants(scopes, scope));
}

/** The scope of the documents written by a person: with a user only their own, without one the agent's. */
export function scopeOfDocuments({ user_id: user }: { user_id: string | null }): Document['scope'] {
  return user === null ? 'agent' : 'user';
}
