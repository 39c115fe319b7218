import type { Pool } from '@gatehouse/pg/pool';
import { deadAfter } from './import-row-store.ts';
import type { GenerationKey } from './purge-store.ts';

/** Imports of all tenants. */
export class ImportSystemStore {
  readonly #pool: Pool;

  /** `pool` acts as `memory_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Imports that have ended, or whose request gives no sign of life, oldest first. */
  async unfinished(limit: number): Promise<GenerationKey[]> {
    const { rows } = await this.#pool.query<GenerationKey>(
      `select tenant_id as "tenantId", agent_id as "agentId", generation from memory.imports
       where state <> 'staging' or alive_at < clock_timestamp() - ${deadAfter} order by started_at limit $1`,
      [limit],
    );
    return rows;
  }
}
