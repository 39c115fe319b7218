import type { Pool } from '@gatehouse/pg/pool';
import type { DeliveryTarget } from '../inbound/endpoint.ts';
import { settingNames } from '../inbound/endpoint.ts';

/** The endpoint that a delivery names, of whatever tenant; null when there is none. `pool` acts as `webhook_system`. */
export async function findDeliveryTarget(pool: Pool, id: string): Promise<DeliveryTarget | null> {
  const { rows } = await pool.query<DeliveryTarget>(
    `select id, tenant_id as "tenantId", scheme, secret,
       case when previous_secret_expires_at > now() then previous_secret end as "previousSecret",
       ${settingNames.join(', ')}
     from webhook.endpoints where id = $1`,
    [id],
  );
  return rows[0] ?? null;
}
