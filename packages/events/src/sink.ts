/** Events of one partition in order, each as CloudEvents JSON. */
export interface PartitionBatch {
  partition: number;
  events: readonly { key: string; json: string }[];
}

/**
 * The sink was reached and rejected a batch. `size`: a smaller batch may succeed. `partition`: other partitions may
 * succeed. Any other error of a sink means an outage.
 */
export class RejectedBatchError extends Error {
  readonly reason: 'size' | 'partition';

  constructor(reason: 'size' | 'partition', cause: unknown) {
    super(`the sink rejected events: ${(cause as Error).message}`, { cause });
    this.name = 'RejectedBatchError';
    this.reason = reason;
  }
}

/** The destination of an outbox relay. */
export interface EventSink {
  /**
   * Resolves when all events are stored durably. Throws `RejectedBatchError` when some were rejected. Events may have
   * been stored even if it throws. Without events, it resolves if the sink can be reached. `isFresh`: whether this
   * process has just written the events, so that a consumer inside it need not check their shapes.
   */
  publish(batches: readonly PartitionBatch[], options?: { isFresh?: boolean }): Promise<void>;
  close(): Promise<void>;
}
