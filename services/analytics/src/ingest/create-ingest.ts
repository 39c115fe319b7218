import { topics } from '@gatehouse/contract/services';
import type { Pool } from '@gatehouse/pg/pool';
import { consumeTopic } from '@gatehouse/shell/topic-consumer';
import type { Shell } from '@gatehouse/shell/shell';
import type { AnalyticsConfig } from '../config.ts';
import { UsageConsumer } from './usage-consumer.ts';

/** Events of runs, from Kafka or from chat itself. */
export function createIngest(
  shell: Shell,
  { config, system }: { config: AnalyticsConfig; system: Pool },
): UsageConsumer {
  const { log, registry } = shell;
  const ingest = new UsageConsumer({ pool: system, log, registry });
  consumeTopic(shell, { topic: topics.usage, config, take: (events) => ingest.take(events) });
  return ingest;
}
