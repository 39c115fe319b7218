/** A row of a tenant. */
export interface Ref {
  tenantId: string;
  id: string;
}
