import { inBatches } from './batches.ts';
import { RejectedBatchError, type EventSink } from './sink.ts';

/** An event in the order of its partition. */
export interface QueuedEvent {
  /** The id of the outbox row; null for a watermark, which has no row. */
  id: string | null;
  key: string;
  json: string;
}

interface QueuedBatch {
  partition: number;
  events: readonly QueuedEvent[];
}

export interface BatchPublisherOptions {
  sink: EventSink;
  /** Called after each publication with the ids of the published rows. */
  remove: (ids: string[]) => Promise<void>;
  /** Called for an event the sink rejects as too large even on its own. */
  deadLetter: (id: string, reason: string) => Promise<void>;
}

/**
 * Limits for one batch of a partition; a single larger event is a batch of its own. Kafka treats the messages of a
 * request for one partition as one batch, of at most 1 MiB by default; all partitions together stay below the 8 MiB
 * limit of a gRPC message.
 */
const limits = { items: 500, bytes: 500_000 };

/**
 * Publishes the events of many partitions, each partition in order. Halves batches the sink rejects as too large. Skips
 * a partition the sink rejects, so the others are not delayed.
 */
export class BatchPublisher {
  readonly #options: BatchPublisherOptions;

  constructor(options: BatchPublisherOptions) {
    this.#options = options;
  }

  /** Returns the error of each skipped partition. Throws when the sink is unavailable. */
  async publish(queues: ReadonlyMap<number, readonly QueuedEvent[]>): Promise<Map<number, Error>> {
    const failed = new Map<number, Error>();
    const waiting = Array.from(queues, ([partition, events]) => ({
      partition,
      batches: inBatches(events, ({ json }) => Buffer.byteLength(json), limits),
    }));
    for (let round = 0; ; round += 1) {
      const batches = waiting.flatMap(({ partition, batches: all }): QueuedBatch[] => {
        const events = all[round];
        return events === undefined || failed.has(partition) ? [] : [{ partition, events }];
      });
      if (batches.length === 0) return failed;
      await this.#publishTogether(batches, failed);
    }
  }

  /** At most one batch of each partition. */
  async #publishTogether(batches: readonly QueuedBatch[], failed: Map<number, Error>): Promise<void> {
    const { sink, remove } = this.#options;
    try {
      await sink.publish(batches);
    } catch (error) {
      if (!(error instanceof RejectedBatchError)) throw error;
      const [only] = batches;
      if (only !== undefined && batches.length === 1) await this.#handleRejection(only, error, failed);
      else for (const batch of batches) await this.#publishTogether([batch], failed);
      return;
    }
    const ids = batches.flatMap(({ events }) => events.flatMap(({ id }) => id ?? []));
    if (ids.length > 0) await remove(ids);
  }

  async #handleRejection(
    { partition, events }: QueuedBatch,
    error: RejectedBatchError,
    failed: Map<number, Error>,
  ): Promise<void> {
    const [only] = events;
    if (error.reason === 'size' && events.length > 1) {
      const half = Math.ceil(events.length / 2);
      for (const part of [events.slice(0, half), events.slice(half)]) {
        if (failed.has(partition)) return;
        await this.#publishTogether([{ partition, events: part }], failed);
      }
    } else if (error.reason === 'size' && typeof only?.id === 'string') {
      await this.#options.deadLetter(
        only.id,
        `too large for the sink: ${Buffer.byteLength(only.json)} bytes`,
      );
    } else {
      failed.set(partition, error);
    }
  }
}
