/** Events of one partition in their order, each as CloudEvents JSON. */
export interface PartitionBatch {
  partition: number;
  events: readonly { key: string; json: string }[];
}

/** Where a relay publishes to. */
export interface EventSink {
  /** Resolves when everything is stored durably on the other side. What was sent may arrive even if it throws. */
  publish(batches: readonly PartitionBatch[]): Promise<void>;
  close(): Promise<void>;
}
