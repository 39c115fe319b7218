import type { Pool } from '@gatehouse/pg/pool';
import type { SealedEndpoint } from '../inbound/endpoint.ts';
import { settingNames } from '../inbound/endpoint.ts';

/** The endpoint that a delivery names, of whatever tenant; null when there is none. `pool` acts as `webhook_system`. */
export async function findSealedEndpoint(pool: Pool, id: string): Promise<SealedEndpoint | null> {
  const { rows } = await pool.query<SealedEndpoint>(
    `select id, tenant_id as "tenantId", scheme, closed, secret,
       case when previous_secret_expires_at > now() then previous_secret end as "previousSecret",
       ${settingNames.join(', ')}
     from webhook.endpoints where id = $1 and deleted_at is null`,
    [id],
  );
  return rows[0] ?? null;
}
