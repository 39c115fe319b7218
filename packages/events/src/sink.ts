/** An event as CloudEvents JSON. Events with the same key keep their order. */
export interface EventText {
  readonly key: string;
  readonly json: string;
}

/** An event for a consumer of the same process, which gets it as it is and never writes to it. JSON is made at need. */
export interface EventObject extends EventText {
  readonly type: string;
  readonly source: string;
  readonly data: unknown;
  /** The size of its data as JSON. */
  readonly bytes: number;
}

/** Events of one partition in order. */
export interface PartitionBatch {
  partition: number;
  events: readonly (EventText | EventObject)[];
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
  /** Whether it passes objects on, so their JSON is not made. */
  readonly takesObjects?: boolean;
  /**
   * Resolves when all events are stored durably. Throws `RejectedBatchError` when some were rejected. Events may have
   * been stored even if it throws. Without events, it resolves if the sink can be reached. `isFresh`: whether this
   * process has just written the events, so that a consumer inside it need not check their shapes.
   */
  publish(batches: readonly PartitionBatch[], options?: { isFresh?: boolean }): Promise<void>;
  close(): Promise<void>;
}
