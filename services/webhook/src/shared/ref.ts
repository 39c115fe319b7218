/** A row of a tenant. */
export interface Ref {
  tenantId: string;
  id: string;
}

/** Stands for the tenant in rows of the owner. */
export const platformId = '00000000-0000-0000-0000-000000000000';
