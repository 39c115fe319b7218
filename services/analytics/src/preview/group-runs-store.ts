/** The properties by which runs may be grouped. */
export interface GroupedBy {
  user: boolean;
  groups: boolean;
  agent: boolean;
  apiKey: boolean;
  session: boolean;
  model: boolean;
}

export interface RunGrouping {
  days: number;
  by: GroupedBy;
  /** The length of the windows; null for one window. */
  period: string | null;
  timezone: string;
}

/** Runs with the same properties, which are null where runs are not grouped by them. */
export interface GroupedRuns {
  userId: string | null;
  groups: string[] | null;
  agentId: string | null;
  apiKeyId: string | null;
  sessionId: string | null;
  model: string | null;
  /** In milliseconds since the epoch; 0 without a window. */
  windowStart: number;
  runs: number;
  costPico: string;
}

export interface GroupBounds {
  maxRuns: number;
  maxGroups: number;
}

export interface GroupRunsStore {
  /**
   * The newest runs of a tenant in groups: one more than `maxGroups` if there are more. `isCut`: whether there are more
   * runs than `maxRuns`.
   */
  groupRuns(
    tenantId: string,
    grouping: RunGrouping,
    bounds: GroupBounds,
  ): Promise<{ groups: GroupedRuns[]; isCut: boolean }>;
}
