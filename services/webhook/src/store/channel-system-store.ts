import type { Pool } from '@gatehouse/pg/pool';
import { settingNames, type SealedChannel } from '../channels/channel.ts';

/** The channel that a message names, of whatever tenant; null when there is none. `pool` acts as `webhook_system`. */
export async function findSealedChannel(pool: Pool, id: string): Promise<SealedChannel | null> {
  const { rows } = await pool.query<SealedChannel>(
    `select id, tenant_id as "tenantId", type, ${settingNames.join(', ')}, status, status_reason, credentials,
       created_at as "createdAt", updated_at as "updatedAt"
     from webhook.channel_instances where id = $1 and deleted_at is null`,
    [id],
  );
  return rows[0] ?? null;
}

/** Conversations with messages that should have been worked on `seconds` ago, of any tenant. */
export async function findOverdueConversations(
  pool: Pool,
  { seconds, limit }: { seconds: number; limit: number },
): Promise<{ tenantId: string; conversationId: string; work: 'answer' | 'send' }[]> {
  const { rows } = await pool.query<{ tenantId: string; conversationId: string; work: 'answer' | 'send' }>(
    `select distinct "tenantId", "conversationId", work from (
       select m.tenant_id as "tenantId", m.conversation_id as "conversationId",
         case m.direction when 'in' then 'answer' else 'send' end as work
       from webhook.channel_messages as m join webhook.channel_instances as i on i.id = m.instance_id
       where m.status in ('received', 'queued') and m.due_at < now() - make_interval(secs => $1)
         -- Else a channel that can't be used would keep others from being found.
         and i.enabled and i.deleted_at is null and (i.status <> 'needs_reauth' or m.direction = 'in')
       order by m.due_at limit $2) as overdue`,
    [seconds, limit],
  );
  return rows;
}

/** Deletes up to `limit` messages whose time is over; returns how many. */
export async function deleteExpiredMessages(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from webhook.channel_messages where id = any (array(
       select id from webhook.channel_messages where expires_at <= now() order by expires_at limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}

/** Deletes up to `limit` conversations without messages in which nothing has happened for a day; returns how many. */
export async function deleteEmptyConversations(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from webhook.conversations where id = any (array(
       select id from webhook.conversations as c where last_message_at < now() - interval '1 day'
         and not exists (select from webhook.channel_messages as m where m.conversation_id = c.id) limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}
