/** The months with room for traces; `month` is the first day of one, `2026-11-01`. */
export interface PartitionStore {
  /** Creates the partition of a month. */
  ensurePartition(month: string): Promise<void>;

  /** Whether the partition of a month exists. */
  hasPartition(month: string): Promise<boolean>;
}
