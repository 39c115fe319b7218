import type { Received } from '@gatehouse/events/dead-letters';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { foldRuns } from '../src/rollups/rollup-job.ts';
import { UsageConsumer } from '../src/ingest/usage-consumer.ts';
import type { Stores } from '../src/stores.ts';
import { Partitions } from '../src/traces/partitions-job.ts';
import type { UsageFilter } from '../src/usage/summary.ts';
import { postgres, type Engine } from './describe-stores.ts';

/** A summary of all runs of a tenant. */
export const noFilter: UsageFilter = {
  agentId: null,
  model: null,
  provider: null,
  channel: null,
  dialect: null,
  user: null,
  apiKeyId: null,
  group: null,
};

/** The intake of events and the database that it writes to, without the service around them. */
export interface IngestFixture {
  database: TestDatabase;
  /** Acts as `analytics_system`. */
  writing: Pool;
  /** Acts as `analytics_app`. */
  reading: Pool;
  stores: Stores;
  ingest: UsageConsumer;
  /** Stores events, and adds all runs to the roll-ups. */
  count(events: readonly Received[]): Promise<void>;
  stop(): Promise<void>;
}

export async function startIngest(engine: Engine = postgres): Promise<IngestFixture> {
  const log = createLogger('test', 'silent');
  const database = await createTestDatabase('analytics');
  const writing = createPool({ url: database.url, role: 'analytics_system', max: 4, log });
  const reading = createPool({ url: database.url, role: 'analytics_app', max: 4, log });
  const stores = engine.open(
    {
      ...{ system: writing, owners: writing },
      ...{ app: reading, summaries: reading, exports: reading },
    },
    log,
  );
  const partitions = new Partitions(stores.partitions, log);
  await partitions.start();
  await partitions.stop();
  const ingest = new UsageConsumer({
    store: stores.ingest,
    deletions: stores.deletions,
    log,
    registry: createRegistry('test'),
  });
  return {
    database,
    writing,
    reading,
    stores,
    ingest,
    async count(events) {
      await ingest.take(events);
      await foldRuns(stores.rollups);
    },
    async stop() {
      await writing.end();
      await reading.end();
      await database.drop();
    },
  };
}
