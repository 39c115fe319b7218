import type { Pool } from '@gatehouse/pg/pool';
import type { Removable } from '../shared/removal-system-store.ts';
import { settingNames, type SealedEndpoint } from './endpoint.ts';

export const removableEndpoints: Removable = {
  owners: 'webhook.endpoints',
  by: 'endpoint_id',
  parts: ['webhook.calls'],
};

/** The existing endpoints with these ids, of any tenant. `pool` acts as `webhook_system`. */
export function findSealedEndpoints(pool: Pool, ids: readonly string[]): Promise<SealedEndpoint[]> {
  return pool.all(
    `select id, tenant_id as "tenantId", scheme, closed, secret,
       case when previous_secret_expires_at > now() then previous_secret end as "previousSecret",
       ${settingNames.join(', ')}
     from webhook.endpoints where id = any ($1) and deleted_at is null`,
    [ids],
  );
}
