import type { Pool } from '@gatehouse/pg/pool';
import type { SealedEndpoint } from '../inbound/endpoint.ts';
import { settingNames } from '../inbound/endpoint.ts';

/** The endpoint that a delivery names, of whatever tenant; null when there is none. `pool` acts as `webhook_system`. */
export async function findSealedEndpoint(pool: Pool, id: string): Promise<SealedEndpoint | null> {
  const { rows } = await pool.query<SealedEndpoint>(
    `select id, tenant_id as "tenantId", scheme, secret,
       case when previous_secret_expires_at > now() then previous_secret end as "previousSecret",
       ${settingNames.join(', ')}
     from webhook.endpoints where id = $1 and deleted_at is null`,
    [id],
  );
  return rows[0] ?? null;
}

/** Removes up to `limit` calls of deleted endpoints, and the endpoints that have none left; returns how many calls. */
export async function removeDeletedEndpoints(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from webhook.calls where id = any (array(
       select c.id from webhook.endpoints as e join webhook.calls as c on c.endpoint_id = e.id
       where e.deleted_at is not null limit $1))`,
    [limit],
  );
  await pool.query(
    `delete from webhook.endpoints as e where e.deleted_at is not null
       and not exists (select from webhook.calls as c where c.endpoint_id = e.id)`,
  );
  return rowCount ?? 0;
}
