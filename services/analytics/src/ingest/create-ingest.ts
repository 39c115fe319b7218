import { topics } from '@gatehouse/contract/services';
import type { Pool } from '@gatehouse/pg/pool';
import { consumeTopic } from '@gatehouse/shell/topic-consumer';
import type { Shell } from '@gatehouse/shell/shell';
import type { AnalyticsConfig } from '../config.ts';
import { UsageConsumer } from './usage-consumer.ts';

/** Stores the events of runs that `consumeUsage` takes. */
export function createIngest({ log, registry }: Shell, { system: pool }: { system: Pool }): UsageConsumer {
  return new UsageConsumer({ pool, log, registry });
}

/** Takes the events of runs, from Kafka or from chat itself, until the service stops. */
export function consumeUsage(
  shell: Shell,
  { config, ingest }: { config: AnalyticsConfig; ingest: UsageConsumer },
): void {
  consumeTopic(shell, { topic: topics.usage, config, take: (events) => ingest.take(events) });
}
