export interface TenantRows {
  tenantId: string;
  /** The age of the oldest one; of a trace by the time in its id. */
  oldestDays: number;
}

export interface Batch {
  tenantId: string;
  /** The age since the start of the run, by the time in its id. */
  olderThanDays: number;
  /** The number of rows one transaction reads. */
  limit: number;
}

export interface Blanked {
  rows: number;
  /** The last trace read; null when no more are left, or when another replica does the same work. */
  last: string | null;
}

/** Expired traces, refused requests and dead letters, of all tenants. */
export interface RetentionStore {
  /** The next tenants with traces after this one, `limit` at most; empty after the last. */
  nextTenants(after: string, limit: number): Promise<TenantRows[]>;

  /** The same of refused requests. */
  nextTenantsOfRefusals(after: string, limit: number): Promise<TenantRows[]>;

  /**
   * Deletes the oldest traces of a tenant and returns how many; fewer than `limit` when no more are left, or when
   * another replica does the same work. Skips rows an event is changing, and runs missing from the roll-ups, until the
   * next call.
   */
  deleteTraces(batch: Batch): Promise<number>;

  /** The same of refused requests. */
  deleteRefusals(batch: Batch): Promise<number>;

  /**
   * Removes the texts from a tenant's traces, starting after the trace `after`. `traces/follow` doesn't show this as a
   * change. Spans stay: they hold codes and numbers only.
   */
  blankTraces(batch: Batch & { after: string }): Promise<Blanked>;

  /** Deletes the oldest dead letters and returns how many. */
  deleteDeadLetters(batch: Omit<Batch, 'tenantId'>): Promise<number>;

  /** Drops one partition older than any retention, and returns its name; null without one. */
  dropExpiredPartition(): Promise<string | null>;
}
