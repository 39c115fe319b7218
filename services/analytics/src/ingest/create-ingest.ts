import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/service/shell';
import type { AnalyticsConfig } from '../config.ts';
import { ingestEvents } from './ingest-rpc.ts';
import { consumeUsageTopic, Ingest } from './usage-topic.ts';

/** Events of runs, from Kafka or from chat itself. */
export function createIngest(shell: Shell, { config, system }: { config: AnalyticsConfig; system: Pool }) {
  const { log, registry } = shell;
  const ingest = new Ingest({ pool: system, log, registry });
  return {
    rpcs: { ingest: ingestEvents(ingest) },
    parts: consumeUsageTopic(shell, config, ingest),
  };
}
