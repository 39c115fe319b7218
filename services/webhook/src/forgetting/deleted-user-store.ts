import { createHash } from 'node:crypto';
import type { Queryable } from '@gatehouse/pg/pool';
import { deletedRows, keptDays } from '../bounds.ts';

/** Notes the deletion of a user's data up to a time, if a transfer may bring the data to another tenant meanwhile. */
export async function noteDeletedUser(
  db: Queryable,
  { tenantId, userId, before }: { tenantId: string; userId: string; before: Date },
): Promise<void> {
  const hash = createHash('sha256').update(`${tenantId}\n${userId}`).digest();
  await db.query(
    `insert into webhook.deleted_users as known (tenant_id, user_hash, requested_at)
     select $1, $2, $3 where exists (
       select from webhook.endpoints where tenant_id = $1 and locked_by is not null
       union all select from webhook.channel_instances where tenant_id = $1 and locked_by is not null)
     on conflict (tenant_id, user_hash) do update
       set requested_at = greatest(known.requested_at, excluded.requested_at), noted_at = now()`,
    [tenantId, hash, before],
  );
  await db.query(
    `delete from webhook.deleted_users where tenant_id = $1 and noted_at < now() - make_interval(days => ${keptDays})`,
    [tenantId],
  );
}

/** A user with deleted data. */
export interface DeletedUser {
  hash: Buffer;
  requestedAt: Date;
}

/** Users with a deletion of their data in the tenant of the transaction since a transfer began. */
export function usersDeletedSince(db: Queryable, transferId: string): Promise<DeletedUser[]> {
  return db.all(
    `select d.user_hash as hash, d.requested_at as "requestedAt"
     from webhook.deleted_users as d join webhook.transfers as t on t.id = $1 and d.noted_at >= t.created_at`,
    [transferId],
  );
}

/**
 * Deletes a batch of what users of `tenantId` did in these endpoints and channels of the transaction's tenant, as a
 * deletion without a transfer does. Returns whether there is more.
 */
export async function deleteOf(
  db: Queryable,
  users: readonly DeletedUser[],
  {
    tenantId,
    endpoints,
    channels,
  }: { tenantId: string; endpoints: readonly string[]; channels: readonly string[] },
): Promise<boolean> {
  const values = [tenantId, users.map(({ hash }) => hash), users.map(({ requestedAt }) => requestedAt)];
  const gone = (gone: string): string => `
    gone as materialized (
      select user_id, requested_at from (select distinct user_id from ${gone}) as known
        cross join lateral (
          select requested_at from unnest($2::bytea[], $3::timestamptz[]) as given (hash, requested_at)
          where hash = sha256(convert_to(concat($1::text, E'\\n', user_id), 'UTF8'))
        ) as noted)`;
  const calls = await db.query(
    `with ${gone('webhook.calls where endpoint_id = any ($4)')}
     delete from webhook.calls where id = any (array(
       select c.id from webhook.calls as c join gone using (user_id)
       where c.endpoint_id = any ($4) and c.created_at <= gone.requested_at limit ${deletedRows}))`,
    [...values, endpoints],
  );
  const messages = await db.query<{ count: number }>(
    `with ${gone('webhook.channel_messages where instance_id = any ($4)')},
     messages as (
       delete from webhook.channel_messages where id = any (array(
         select m.id from webhook.channel_messages as m join gone using (user_id)
         where m.instance_id = any ($4) and m.created_at <= gone.requested_at limit ${deletedRows}))
       returning turn_id),
     turns as (delete from webhook.channel_turns where id in (select turn_id from messages))
     select count(*)::integer as count from messages`,
    [...values, channels],
  );
  const answers = await db.query(
    `with ${gone('webhook.conversations where instance_id = any ($4)')}
     delete from webhook.channel_messages where id = any (array(
       select m.id from webhook.conversations as c join gone using (user_id)
         join webhook.channel_messages as m on m.conversation_id = c.id
       where c.instance_id = any ($4) and m.user_id is null and m.created_at <= gone.requested_at limit ${deletedRows}))`,
    [...values, channels],
  );
  const counts = [calls.rowCount, messages.rows[0]?.count, answers.rowCount];
  if (counts.includes(deletedRows)) return true;
  // Empty ones are deleted by the upkeep.
  await db.query(
    `with ${gone('webhook.conversations where instance_id = any ($4)')}
     update webhook.conversations as c set user_id = null from gone
     where c.user_id = gone.user_id and c.instance_id = any ($4) and not exists (
       select from webhook.channel_messages as m
       where m.conversation_id = c.id and (m.user_id = c.user_id or m.user_id is null))`,
    [...values, channels],
  );
  return false;
}
