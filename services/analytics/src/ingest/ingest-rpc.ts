import type { Rpc } from '@gatehouse/grpc/rpc';
import type { IngestRequest, IngestResponse } from '@gatehouse/proto/analytics/v1/analytics';
import type { Ingest } from './usage-topic.ts';

/** Stores a batch of events, for services that publish without Kafka. */
export function ingestEvents(ingest: Ingest): Rpc<IngestRequest, IngestResponse> {
  return {
    callers: ['chat'],
    handle: async ({ source, events }) => {
      await ingest.take(events.map((text) => ({ origin: source, payload: Buffer.from(text) })));
      return {};
    },
  };
}
