/** A past day of a tenant, from midnight UTC on. */
export interface TenantDay {
  tenantId: string;
  day: Date;
}

/** The numbers of rows of `usage` between which a day or a part of it is added up. */
export interface SettledSizes {
  /** Summaries of days with fewer rows gain little. */
  least: number;
  /** A part of a day, of whole hours, has no more; only a single hour may. */
  most: number;
}

export interface TenantRollUps {
  tenantId: string;
  /** Whether it has days with rows that may end at midnights of its time zone. */
  hasSettledDays: boolean;
}

/** Sums of past days, of all tenants. */
export interface DailyRollupStore {
  /** The start of the first day not over yet. */
  findOpenDay(): Promise<Date>;

  /** The next tenants with roll-ups after this one, `limit` at most; empty after the last. */
  nextTenants(after: string, limit: number): Promise<TenantRollUps[]>;

  /** Notes the days from `from` to `until` on which a tenant has roll-ups, and returns where to go on; null at the end. */
  noteDays(days: { tenantId: string; from: Date; until: Date }): Promise<Date | null>;

  /** The youngest day to settle of the next tenant with a due day; null after the last tenant. */
  nextDueDay(afterTenant: string): Promise<TenantDay | null>;

  /**
   * Changes settled days if their rows don't end at the midnights of the time zone, or if the release before added them
   * up.
   */
  changeCuts(tenantId: string, timezone: string): Promise<void>;

  /**
   * Does a part of the work on a day: deletes rows of a changed day, or adds up a part of an open one. Returns the
   * resulting state of the day; null if another replica works on it, or if it has changed meanwhile.
   */
  settlePart(day: TenantDay, options: SettledSizes & { timezone: string }): Promise<string | null>;

  /** Leaves a day to the roll-ups of quarters of an hour, until it changes. */
  leaveDay(day: TenantDay): Promise<void>;
}
