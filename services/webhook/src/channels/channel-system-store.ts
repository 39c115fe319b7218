import type { Pool } from '@gatehouse/pg/pool';
import type { Removable } from '../shared/removal-system-store.ts';
import { settingNames, type InboundChannel } from './channel.ts';
import type { Ref } from '../shared/ref.ts';

export const removableChannels: Removable = {
  owners: 'webhook.channel_instances',
  by: 'instance_id',
  parts: ['webhook.channel_messages', 'webhook.channel_message_keys', 'webhook.conversations'],
};

/** These channels, as far as they exist, of whatever tenants. `pool` acts as `webhook_system`. */
export function findSealedChannels(pool: Pool, ids: readonly string[]): Promise<InboundChannel[]> {
  return pool.all(
    `select id, tenant_id as "tenantId", type, ${settingNames.join(', ')}, closed, status, status_reason, credentials,
       previous_credentials_accepted_until as "previousSecretExpiresAt",
       case when previous_credentials_accepted_until > now() then previous_credentials end as "previousCredentials",
       created_at as "createdAt", updated_at as "updatedAt"
     from webhook.channel_instances where id = any ($1) and deleted_at is null`,
    [ids],
  );
}

/** Channels of any tenant with tokens due for a refresh. */
export function findDueRefreshes(pool: Pool, limit: number): Promise<Ref[]> {
  return pool.all(
    `select tenant_id as "tenantId", id from webhook.channel_instances
     where refresh_due_at <= now() and deleted_at is null and status <> 'needs_reauth'
       and (refresh_claimed_until is null or refresh_claimed_until < now()) limit $1`,
    [limit],
  );
}
