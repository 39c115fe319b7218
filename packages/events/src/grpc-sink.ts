import type { Peer } from '@gatehouse/grpc/client';
import type { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import type { EventSink, PartitionBatch } from './sink.ts';

const deadlineMs = 10_000;

/** Publishes straight to analytics, where there is no Kafka. */
export class GrpcSink implements EventSink {
  readonly #peer: Peer<AnalyticsServiceClient>;
  readonly #source: string;

  constructor(options: { peer: Peer<AnalyticsServiceClient>; source: string }) {
    this.#peer = options.peer;
    this.#source = options.source;
  }

  async publish(batches: readonly PartitionBatch[]): Promise<void> {
    const events = batches.flatMap((batch) => batch.events.map(({ json }) => json));
    await this.#peer.call('ingest', { source: this.#source, events }, { deadlineMs });
  }

  close(): Promise<void> {
    this.#peer.close();
    return Promise.resolve();
  }
}
