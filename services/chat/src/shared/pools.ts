import type { Pool } from '@gatehouse/pg/pool';
import { createPools } from '@gatehouse/shell/pools';
import type { Shell } from '@gatehouse/shell/shell';

interface Settings {
  DATABASE_URL: string;
  DATABASE_POOL: number;
}

// Rows are looked up by keys only. A plan cached while the tables were empty would always scan them. One plan fits all
// values; planning each time cost the database a sixth of a group.
const settings = { enable_seqscan: 'off', plan_cache_mode: 'force_generic_plan' };

/**
 * The connections of chat: `system` for the run log of all tenants and for jobs, `app` for the reads and writes of a
 * tenant's request itself.
 */
export function createChatPools(
  shell: Shell,
  migrations: string,
  { DATABASE_URL: url, DATABASE_POOL: max }: Settings,
): Record<'system' | 'app', Pool> {
  return createPools(shell, {
    url,
    migrations,
    pools: {
      system: { role: 'chat_system', waits: 'all', max, settings },
      app: { role: 'chat_app', waits: 'tenants', max: Math.ceil(max / 2), settings },
    },
  });
}
