/** Counts of refused requests by day, of all tenants. */
export interface RefusedDaysStore {
  /** The next tenants with refused requests due to be counted by day; empty after the last. */
  nextTenantsOfRefusals(after: string, limit: number): Promise<string[]>;

  /**
   * Adds some of a tenant's counts up by day, code, model, agent, channel and API key, and returns how many; fewer than
   * `refusedBatch` when no more are due. Rows cross midnight neither in UTC nor in the time zone, so days stay exact.
   */
  addUpRefusals(tenantId: string, zone: string): Promise<number>;
}
