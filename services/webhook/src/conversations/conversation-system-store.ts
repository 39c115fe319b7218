import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { deleteEmpty } from './message-store.ts';
import type { Ref } from '../shared/ref.ts';
import { answersOfTenant, batchRows } from '../bounds.ts';

/**
 * Conversations with messages overdue for `seconds`, of any tenant; each once a minute, and those first that were not
 * woken for the longest time: no conversation keeps others from being found.
 */
export function findOverdueConversations(
  pool: Pool,
  { seconds, limit }: { seconds: number; limit: number },
): Promise<{ tenantId: string; conversationId: string; answers: boolean; sends: boolean }[]> {
  return pool.all(
    `select c.tenant_id as "tenantId", c.id as "conversationId",
       bool_or(m.direction = 'in') as answers, bool_or(m.direction = 'out') as sends
     from webhook.channel_messages as m join webhook.channel_instances as i on i.id = m.instance_id
       join webhook.conversations as c on c.id = m.conversation_id
     where m.status in ('received', 'queued') and m.due_at < now() - make_interval(secs => $1)
       and (c.woken_at is null or c.woken_at < now() - interval '1 minute')
       and i.enabled and i.deleted_at is null and (i.status <> 'needs_reauth' or m.direction = 'in')
     group by c.id order by c.woken_at nulls first limit $2`,
    [seconds, limit],
  );
}

/**
 * Up to `limit` calls with answers overdue in their conversation: the oldest of each tenant first, so that no tenant
 * keeps those of others from being found.
 */
export function findOverdueAnswers(pool: Pool, limit: number): Promise<Ref[]> {
  const isPending = `c.channel_delivery = 'pending' and c.status = 'succeeded'`;
  return pool.all(
    `with recursive tenants as (
       (select c.tenant_id from webhook.calls as c where ${isPending} order by c.tenant_id limit 1)
       union all
       select (select c.tenant_id from webhook.calls as c where ${isPending} and c.tenant_id > tenants.tenant_id
         order by c.tenant_id limit 1)
       from tenants where tenants.tenant_id is not null)
     select tenant_id as "tenantId", id from tenants cross join lateral (
       select id, row_number() over (order by finished_at) as place from webhook.calls as c
       where c.tenant_id = tenants.tenant_id and ${isPending} and finished_at < now() - interval '30 seconds'
       order by finished_at limit ${answersOfTenant}) as overdue
     order by place, random() limit $1`,
    [limit],
  );
}

/** The tenant with messages whose id is next after `after`, with the age of its oldest one; null after the last. */
export function nextTenantOfMessages(
  pool: Pool,
  after: string,
): Promise<{ tenantId: string; oldestDays: number } | null> {
  return pool.first(
    `select tenant_id as "tenantId", extract(epoch from now() - created_at)::float8 / 86400 as "oldestDays"
     from webhook.channel_messages where tenant_id > $1 order by tenant_id, created_at limit 1`,
    [after],
  );
}

/** Keys of messages. */
export const expiredKeys: OldRows = { table: 'webhook.channel_message_keys', where: 'expires_at <= now()' };

/** Up to `limit` conversations without messages in which nothing has happened for a day, of any tenant. */
export function findEmptyConversations(pool: Pool, limit: number): Promise<Ref[]> {
  return pool.all(
    `select tenant_id as "tenantId", id from webhook.conversations as c
     where last_message_at < now() - interval '1 day'
       and (select true from webhook.channel_messages as m where m.conversation_id = c.id limit 1) is null limit $1`,
    [limit],
  );
}

/** Deletes conversations without messages in which nothing has happened for long. Returns whether there may be more. */
export async function deleteEmptyConversations({
  app,
  system,
}: {
  app: Pool;
  system: Pool;
}): Promise<boolean> {
  const empty = await findEmptyConversations(system, batchRows);
  for (const [tenantId, some] of Map.groupBy(empty, (each) => each.tenantId))
    await withTenant(app, tenantId, (db) =>
      deleteEmpty(
        db,
        some.map(({ id }) => id),
      ),
    );
  return empty.length === batchRows;
}
