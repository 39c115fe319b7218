import { afterAll, beforeAll } from '@jest/globals';
import { ChaosSystem } from './chaos-system.ts';
import { hungPostgres } from './hung-postgres.ts';
import { standingReplica } from './standing-replica.ts';

/** Two replicas of chat: PostgreSQL stands still under both, then one of them does. */

let chaos: ChaosSystem;
beforeAll(async () => {
  chaos = await ChaosSystem.start({ GATEHOUSE_REPLICAS: 'chat=2' });
});
afterAll(async () => chaos.stop(), 60_000);

hungPostgres(() => chaos);
standingReplica(() => chaos);
