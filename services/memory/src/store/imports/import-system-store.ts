import { Store } from '@gatehouse/pg/store';
import { deadAfter } from './import-row-store.ts';
import type { GenerationKey } from './purge-store.ts';

/** Imports of all tenants. `pool` acts as `memory_system`. */
export class ImportSystemStore extends Store {
  /** Imports already ended, or without a sign of life from their request, oldest first. */
  unfinished(limit: number): Promise<GenerationKey[]> {
    return this.pool.all<GenerationKey>(
      `select tenant_id as "tenantId", agent_id as "agentId", generation from memory.imports
       where state <> 'staging' or alive_at < clock_timestamp() - ${deadAfter} order by started_at limit $1`,
      [limit],
    );
  }
}
