/** Events of one partition in their order, each as CloudEvents JSON. */
export interface PartitionBatch {
  partition: number;
  events: readonly { key: string; json: string }[];
}

/**
 * The other side answered, and refused. `size`: it may take fewer events. `partition`: it may take those of another
 * partition. Any other error of a sink concerns all that it publishes.
 */
export class RefusedBatchError extends Error {
  readonly reason: 'size' | 'partition';

  constructor(reason: 'size' | 'partition', cause: unknown) {
    super(`events were refused: ${(cause as Error).message}`, { cause });
    this.name = 'RefusedBatchError';
    this.reason = reason;
  }
}

/** Where a relay publishes to. */
export interface EventSink {
  /**
   * Resolves when everything is stored durably on the other side. Throws a `RefusedBatchError` when the other side
   * refused some of it. What was sent may arrive even if it throws.
   */
  publish(batches: readonly PartitionBatch[]): Promise<void>;
  close(): Promise<void>;
}
