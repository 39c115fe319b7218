import { RejectedBatchError, type EventSink, type PartitionBatch } from './sink.ts';

const deadlineMs = 10_000;

export interface DirectSinkOptions {
  /** Sends CloudEvents JSON, in order, to the consuming service; resolves when they are stored durably. */
  send: (events: string[], options: { deadlineMs: number; isFresh: boolean }) => Promise<unknown>;
  /** Whether an error of `send` says the message was too large. */
  isTooLarge: (error: unknown) => boolean;
}

/** Publishes directly to the consuming service, for installations without Kafka. */
export class DirectSink implements EventSink {
  readonly #options: DirectSinkOptions;

  constructor(options: DirectSinkOptions) {
    this.#options = options;
  }

  async publish(batches: readonly PartitionBatch[], { isFresh = false } = {}): Promise<void> {
    const { send, isTooLarge } = this.#options;
    const events = batches.flatMap((batch) => batch.events.map(({ json }) => json));
    await send(events, { deadlineMs, isFresh }).catch((error: unknown) => {
      throw isTooLarge(error) ? new RejectedBatchError('size', error) : error;
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
