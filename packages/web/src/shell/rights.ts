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

/**
 * The scope of what a person writes to the memory of an agent: with a user only their own, without one the agent's. Null
 * without the right.
 */
export function writtenScope(person: Rights & { user_id: string | null }): Document['scope'] | null {
  if (!may(person, { scope: 'memory.write' })) return null;
  if (person.user_id !== null) return 'user';
  return may(person, { scope: 'agents.write' }) ? 'agent' : null;
}
