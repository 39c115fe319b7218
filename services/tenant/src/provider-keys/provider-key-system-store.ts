import { newId } from '@gatehouse/kit/ids';
import { withTransaction } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import { Store } from '@gatehouse/pg/store';
import type { ProviderKey } from './provider-key.ts';

/** A key as the calls of providers need it. */
export interface UsableProviderKey extends Pick<
  ProviderKey,
  'id' | 'tenantId' | 'provider' | 'models' | 'userId'
> {
  /** Encrypted. */
  sealed: Buffer;
}

/** How a provider took a key. */
export interface ProviderKeyUse {
  id: string;
  refused: boolean;
}

/** The own keys of all tenants, for what happens to them. `pool` acts as `tenant_system`. */
export class ProviderKeySystemStore extends Store {
  /** All keys of these tenants, the newest of each first. */
  async findUsable(tenantIds: readonly string[]): Promise<UsableProviderKey[]> {
    return this.pool.all<UsableProviderKey>({
      name: 'find_usable_provider_keys',
      text: `select id, tenant_id as "tenantId", provider, key as sealed, models, user_id as "userId" from tenant.provider_keys
         where tenant_id = any($1) order by id desc`,
      values: [tenantIds],
    });
  }

  /**
   * Notes uses of keys, once a minute at most unless the provider changed its mind. Calls `raise` once for each key
   * that begins to fail.
   */
  async note(uses: readonly ProviderKeyUse[], raise: RaiseAlert): Promise<void> {
    await withTransaction(this.pool, async (db) => {
      const rows = await db.all<FailingKey>(
        `with uses as (
           select id, bool_or(refused) as refused from unnest($1::uuid[], $2::boolean[]) as u (id, refused) group by id
         ), due as (
           select k.id, k.failing as "wasFailing", u.refused from tenant.provider_keys k join uses u on u.id = k.id
           where k.failing <> u.refused or coalesce(k.last_used_at < now() - interval '1 minute', true)
           order by k.id for update of k)
         update tenant.provider_keys k set last_used_at = now(), failing = due.refused
         from due where k.id = due.id
         returning k.id, k.tenant_id as "tenantId", k.provider, k.prefix,
           due.refused and not due."wasFailing" as "beginsToFail"`,
        [uses.map(({ id }) => id), uses.map(({ refused }) => refused)],
      );
      for (const { id, tenantId, provider, prefix } of rows.filter(({ beginsToFail }) => beginsToFail)) {
        const data = { provider, key: null, provider_key_id: id, prefix };
        await raise(db, { id: newId(), tenant_id: tenantId, type: 'provider_key.failing', data });
      }
    });
  }
}

interface FailingKey {
  id: string;
  tenantId: string;
  provider: string;
  prefix: string;
  beginsToFail: boolean;
}
