import type { Role, Scope } from '@gatehouse/contract/scopes';

/** The rights of a key. */
export interface Rights {
  /** Null for an owner. */
  tenantId: string | null;
  role: Role;
  scopes: readonly Scope[];
  userId: string | null;
}

export function haveSameRights(one: Rights, other: Rights): boolean {
  return includeRights(one, other) && includeRights(other, one);
}

/** Whether rights are in the same place as those of a key, for the same user, and have all of its scopes. */
export function includeRights(held: Rights, key: Rights): boolean {
  return (
    held.tenantId === key.tenantId &&
    held.role === key.role &&
    held.userId === key.userId &&
    key.scopes.every((scope) => held.scopes.includes(scope))
  );
}
