/** The holder of a policy or a guardrail: a tenant, or the owner with a null. Conditions have its tenant as `$1`. */

/** The holder, null for the owner, and an id or a name. */
export interface HeldName {
  tenantId: string | null;
  idOrName: string;
}

/** The holder's own rows, for both roles. */
export const isHolders = '(tenant_id = $1 or tenant_id is null and $1::uuid is null)';

/** The holder's own rows; for a tenant also the owner's, which the policy of rows limits to those for it. */
export const shownToHolder = '(tenant_id = $1 or tenant_id is null)';

/** The row with the id or name `$2`. */
export const hasName = '(id::text = $2 or name = $2)';

/** The same by the name shown to the holder. */
export const hasShownName = `(id::text = $2
  or case when $1::uuid is not null and tenant_id is null then 'owner:' || name else name end = $2)`;

/** A name for a tenant. */
export function nameForTenant({ name, fromOwner }: { name: string; fromOwner: boolean }): string {
  return fromOwner ? `owner:${name}` : name;
}
