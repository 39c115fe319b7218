import { RejectedBatchError, type EventObject, type EventSink, type PartitionBatch } from './sink.ts';

const deadlineMs = 10_000;

export interface DirectSinkOptions {
  /**
   * Sends events, in order, to the consuming service; resolves when they are stored durably. They are CloudEvents JSON,
   * or objects as far as the sink takes these.
   */
  send: (
    events: (string | EventObject)[],
    options: { deadlineMs: number; isFresh: boolean },
  ) => Promise<unknown>;
  /** Whether an error of `send` says the message was too large. */
  isTooLarge: (error: unknown) => boolean;
  /** Default: false. */
  takesObjects?: boolean;
}

/** Publishes directly to the consuming service, for installations without Kafka. */
export class DirectSink implements EventSink {
  readonly #options: DirectSinkOptions;

  constructor(options: DirectSinkOptions) {
    this.#options = options;
  }

  get takesObjects(): boolean {
    return this.#options.takesObjects ?? false;
  }

  async publish(batches: readonly PartitionBatch[], { isFresh = false } = {}): Promise<void> {
    const { send, isTooLarge } = this.#options;
    const takes = this.takesObjects;
    const events = batches.flatMap((batch) =>
      batch.events.map((event) => (takes && 'data' in event ? event : event.json)),
    );
    await send(events, { deadlineMs, isFresh }).catch((error: unknown) => {
      throw isTooLarge(error) ? new RejectedBatchError('size', error) : error;
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
