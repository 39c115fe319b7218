import { topics } from '@gatehouse/contract/services';
import { RefusedRequestsPublisher } from '@gatehouse/events/refused-publisher';
import { directSink } from '@gatehouse/shell/direct-sink';
import type { Shell } from '@gatehouse/shell/shell';
import type { EdgeConfig } from '../config.ts';

/** The `source` of the edge's events. */
const source = 'gatehouse/edge';

/** Counts of requests refused by the edge. Analytics takes them directly, with Kafka too: the edge has no outbox. */
export function createRefusals(
  shell: Shell,
  config: Pick<EdgeConfig, 'ANALYTICS_GRPC'>,
): RefusedRequestsPublisher {
  const place = { topic: topics.usage, consumer: config.ANALYTICS_GRPC, consumerName: 'analytics' } as const;
  return new RefusedRequestsPublisher({
    sink: directSink(shell, { source, ...place }),
    source,
    log: shell.log,
  });
}
