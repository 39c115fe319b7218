import { inTurn, type Pool } from '@gatehouse/pg/pool';
import { allRows } from '@gatehouse/pg/rows';
import type { ApiKey } from '../keys/api-key.ts';
import type { Tenant } from './tenant.ts';
import { tenantColumns } from './tenant-store.ts';

export interface StoredSettings extends Tenant {
  someKeyLimited: boolean;
  /** Whether it has keys of its own for providers. */
  hasProviderKeys: boolean;
}

export type LimitedKey = Pick<ApiKey, 'id' | 'limits' | 'budget'>;

/** The settings of tenants that other services need. */
export class SettingsSystemStore {
  readonly #known: Pool;
  readonly #proved: Pool;

  /** Both act as `tenant_system`: `known` for many tenants at once, `proved` for tenants in turns. */
  constructor({ known, proved }: { known: Pool; proved: Pool }) {
    this.#known = known;
    this.#proved = proved;
  }

  /** One statement, for as many tenants as are needed at once. */
  async find(tenantIds: readonly string[]): Promise<StoredSettings[]> {
    return allRows<StoredSettings>(this.#known, {
      name: 'find_tenant_settings',
      text: `select ${tenantColumns}, exists (
           select from tenant.api_keys k
           where k.tenant_id = t.id and (k.limits is not null or k.budget is not null)) as "someKeyLimited",
           exists (select from tenant.provider_keys p where p.tenant_id = t.id) as "hasProviderKeys"
         from tenant.tenants t where id = any($1)`,
      values: [tenantIds],
    });
  }

  /** The active keys of a tenant that have limits of their own: all of them or one, newest first. */
  async findLimitedKeys(
    tenantId: string,
    { id, max }: { id: string | null; max: number },
  ): Promise<LimitedKey[]> {
    return inTurn(this.#proved, tenantId, async (db) => {
      return allRows<LimitedKey>(
        db,
        `select id, limits, budget from tenant.api_keys
         where tenant_id = $1 and ($2::uuid is null or id = $2) and (limits is not null or budget is not null)
           and revoked_at is null and (expires_at is null or expires_at > now())
         order by id desc limit $3`,
        [tenantId, id, max],
      );
    });
  }
}
