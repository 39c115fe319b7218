import type { EventSink, PartitionBatch } from './sink.ts';

const deadlineMs = 10_000;

export interface DirectSinkOptions {
  /** Hands CloudEvents JSON, in order, to the service that takes them in; resolves when they are durable there. */
  send: (events: string[], options: { deadlineMs: number }) => Promise<unknown>;
  close: () => void;
}

/** Publishes straight to the service that takes the events in, where there is no Kafka. */
export class DirectSink implements EventSink {
  readonly #options: DirectSinkOptions;

  constructor(options: DirectSinkOptions) {
    this.#options = options;
  }

  async publish(batches: readonly PartitionBatch[]): Promise<void> {
    const events = batches.flatMap((batch) => batch.events.map(({ json }) => json));
    await this.#options.send(events, { deadlineMs });
  }

  close(): Promise<void> {
    this.#options.close();
    return Promise.resolve();
  }
}
