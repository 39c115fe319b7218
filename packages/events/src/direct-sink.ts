import { RefusedBatchError, type EventSink, type PartitionBatch } from './sink.ts';

const deadlineMs = 10_000;

export interface DirectSinkOptions {
  /** Hands CloudEvents JSON, in order, to the service that takes them in; resolves when they are durable there. */
  send: (events: string[], options: { deadlineMs: number }) => Promise<unknown>;
  /** Whether an error of `send` says that the message was too large. */
  isTooLarge: (error: unknown) => boolean;
}

/** Publishes straight to the service that takes the events in, where there is no Kafka. */
export class DirectSink implements EventSink {
  readonly #options: DirectSinkOptions;

  constructor(options: DirectSinkOptions) {
    this.#options = options;
  }

  async publish(batches: readonly PartitionBatch[]): Promise<void> {
    const { send, isTooLarge } = this.#options;
    const events = batches.flatMap((batch) => batch.events.map(({ json }) => json));
    await send(events, { deadlineMs }).catch((error: unknown) => {
      throw isTooLarge(error) ? new RefusedBatchError('size', error) : error;
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
