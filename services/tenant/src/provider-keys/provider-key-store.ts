import type { PageRequest } from '@gatehouse/kit/page';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import type { ProviderKey } from './provider-key.ts';
import { providerKeyColumns } from './provider-key-statements.ts';

/** The checks of a tenant's new keys in the current minute, and when it ends. */
export interface KeyChecks {
  count: number;
  endsInMs: number;
}

/** The own keys of one tenant at a time. */
export class ProviderKeyStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Newest first, one more than `limit` when there are more. */
  async list(tenantId: string, page: PageRequest): Promise<ProviderKey[]> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<ProviderKey>(
        `select ${providerKeyColumns} from tenant.provider_keys
         where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
        [tenantId, page.before, page.limit + 1],
      );
      return rows;
    });
  }

  /** Counts a check of a new key. */
  async countCheck(tenantId: string): Promise<KeyChecks> {
    return withTenant(this.#pool, tenantId, async (db) =>
      only(
        await db.query<KeyChecks>(
          `insert into tenant.provider_key_checks as known (tenant_id, minute, checks)
           values ($1, date_trunc('minute', now()), 1)
           on conflict (tenant_id) do update set minute = greatest(known.minute, excluded.minute),
             checks = case when known.minute >= excluded.minute then known.checks + 1 else 1 end
           returning checks as count,
             extract(epoch from minute + interval '1 minute' - now())::float8 * 1000 as "endsInMs"`,
          [tenantId],
        ),
      ),
    );
  }
}
