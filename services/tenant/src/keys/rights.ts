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
  const sorted = ({ scopes }: Rights): string => scopes.toSorted().join(' ');
  return (
    one.tenantId === other.tenantId &&
    one.role === other.role &&
    one.userId === other.userId &&
    sorted(one) === sorted(other)
  );
}
