import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { burst } from './burst.ts';
import type { Ref } from '../shared/ref.ts';
import { keysKeptDays } from '../bounds.ts';

/** A provider's message. */
export interface NewMessage {
  id: string;
  tenantId: string;
  instanceId: string;
  /** The provider's ids by which duplicates are known. */
  keys: readonly string[];
  externalId: string;
  conversation: { id: string; externalId: string; group: boolean };
  /** The acting user. */
  userId: string;
  senderName: string | null;
  /** Encrypted; null without a text. */
  text: Buffer | null;
  textBytes: number;
  hasAttachment: boolean;
  /** How often what it is about was sent on by a gateway. */
  hops: number;
  position: string | null;
  retentionDays: number;
}

/** The part of a message by which its conversation is found. `userId`: null for messages of no user. */
type ConversationMessage = Pick<NewMessage, 'tenantId' | 'instanceId' | 'conversation'> & {
  userId: string | null;
};

export interface StoredConversation {
  id: string;
  externalId: string;
  isGroup: boolean;
  userId: string | null;
  lastMessageAt: Date;
}

export interface StoredMessage {
  id: string;
  externalId: string | null;
  direction: 'in' | 'out';
  text: Buffer | null;
  status: 'received' | 'answered' | 'sent' | 'failed';
  runId: string | null;
  createdAt: Date;
}

/** Aborts the transaction of a message stored meanwhile by another one, or without its conversation. */
class MessageTaken extends Error {}

/** Conversations and their messages, of one tenant at a time. */
export class MessageStore extends Store {
  /**
   * Stores a message unless it is a duplicate, and does `also` in the same transaction. Returns the id of the stored
   * message; null if the tenant has the channel no more.
   */
  async take(
    message: NewMessage,
    also: (db: Queryable, conversationId: string) => Promise<unknown>,
  ): Promise<{ id: string; isDuplicate: boolean } | null> {
    const { tenantId, id } = message;
    for (;;) {
      try {
        return await withTenant(this.pool, tenantId, async (db) => {
          const known = await findByKeys(db, message);
          if (known !== null) return { id: known, isDuplicate: true };
          const conversationId = await conversationFor(db, message);
          if (conversationId === null) return null;
          if (!(await insertMessage(db, message, conversationId))) throw new MessageTaken();
          await also(db, conversationId);
          return { id, isDuplicate: false };
        });
      } catch (error) {
        if (!(error instanceof MessageTaken)) throw error;
      }
    }
  }

  /** Whether at least `count` messages of the tenant wait for an answer. */
  hasWaiting(tenantId: string, count: number): Promise<boolean> {
    return this.tenant(tenantId).exists(
      `select from webhook.channel_messages where tenant_id = $1 and status = 'received'
        offset $2 limit 1`,
      [tenantId, count - 1],
    );
  }

  /** Calls `resume` with up to 500 conversations of a channel in which something waits; for others see the upkeep. */
  async resumeChannel(
    { tenantId, id }: Ref,
    resume: (db: Queryable, waiting: Ref[]) => Promise<void>,
  ): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      const { rows } = await db.query<Ref>(
        `select distinct tenant_id as "tenantId", conversation_id as id from webhook.channel_messages
         where instance_id = $1 and status in ('received', 'queued') limit 500`,
        [id],
      );
      await resume(db, rows);
    });
  }

  /** The newest first, below the id `before`. */
  listConversations(
    { tenantId, instanceId }: { tenantId: string; instanceId: string },
    { limit, before }: PageRequest,
  ): Promise<PageRows<StoredConversation>> {
    return readPage<StoredConversation>(this.tenant(tenantId), {
      columns: `id, external_id as "externalId", is_group as "isGroup", user_id as "userId",
          last_message_at as "lastMessageAt"`,
      from: 'webhook.conversations where instance_id = $1 and moved_to is null and ($2::uuid is null or id < $2)',
      order: 'id desc',
      size: sizeOf('external_id'),
      limit,
      values: [instanceId, before],
    });
  }

  hasConversation(
    { tenantId, instanceId }: { tenantId: string; instanceId: string },
    id: string,
  ): Promise<boolean> {
    return this.tenant(tenantId).exists(
      'select from webhook.conversations where id = $1 and instance_id = $2 and moved_to is null',
      [id, instanceId],
    );
  }

  /** The newest first, below the id `before`. A reply is in the list once it was sent, or was given up. */
  listMessages(
    { tenantId, conversationId }: { tenantId: string; conversationId: string },
    { limit, before }: PageRequest,
  ): Promise<PageRows<StoredMessage>> {
    return readPage<StoredMessage>(this.tenant(tenantId), {
      columns: `id, external_id as "externalId", direction, text, status, run_id as "runId",
          created_at as "createdAt"`,
      from: `webhook.channel_messages
          where conversation_id = $1 and status <> 'queued' and ($2::uuid is null or id < $2)`,
      order: 'id desc',
      size: sizeOf('text'),
      limit,
      values: [conversationId, before],
    });
  }

  /**
   * Removes up to `limit` messages of a user from before a time, with the replies to them and, in the conversations of the
   * user, what belongs to no user; and what is left empty. Messages of others stay, in a conversation of no user then.
   * Returns how many are removed.
   */
  forget(
    { tenantId, userId, before }: { tenantId: string; userId: string; before: Date },
    limit: number,
  ): Promise<number> {
    return withTenant(this.pool, tenantId, async (db) => {
      // With their turns: what an agent is asked holds the same texts. The sum of times has no index: that of the tenant's
      // times would read all of its messages for each conversation.
      const { rowCount } = await db.query(
        `with gone as (
           delete from webhook.channel_messages where id = any (array(
             (select id from webhook.channel_messages
              where tenant_id = $1 and user_id = $2 and created_at <= $3 limit $4)
             union all
             (select m.id from webhook.conversations as c cross join lateral (
                select id from webhook.channel_messages
                where conversation_id = c.id and user_id is null and created_at + interval '0' <= $3
                order by sequence limit $4) as m
              where c.tenant_id = $1 and c.user_id = $2 limit $4)
             limit $4))
           returning turn_id),
         turns as (delete from webhook.channel_turns where id in (select turn_id from gone))
         select from gone`,
        [tenantId, userId, before, limit],
      );
      // A message holds its conversation while it is stored: only a later statement sees it.
      await db.query(
        'select from webhook.conversations where tenant_id = $1 and user_id = $2 order by id for update',
        [tenantId, userId],
      );
      const left = await db.all<{ id: string }>(
        `update webhook.conversations as c set user_id = null
         where tenant_id = $1 and user_id = $2 and not exists (
           select from webhook.channel_messages as m
           where m.conversation_id = c.id and (m.user_id = $2 or m.user_id is null))
         returning id`,
        [tenantId, userId],
      );
      await deleteEmpty(
        db,
        left.map(({ id }) => id),
      );
      return rowCount ?? 0;
    });
  }

  /**
   * Deletes up to `limit` of the oldest messages of a tenant from more than `days` ago, with their turns: what an
   * agent is asked holds the same texts. Returns how many messages are deleted.
   */
  deleteOld({ tenantId, days }: { tenantId: string; days: number }, limit: number): Promise<number> {
    return this.tenant(tenantId).count(
      `with gone as (
         delete from webhook.channel_messages where id = any (array(
           select id from webhook.channel_messages
           where tenant_id = $1 and created_at < now() - make_interval(days => $2) order by created_at limit $3))
         returning turn_id),
       turns as (delete from webhook.channel_turns where id in (select turn_id from gone))
       select from gone`,
      [tenantId, days, limit],
    );
  }
}

async function findByKeys(db: Queryable, { instanceId, keys }: NewMessage): Promise<string | null> {
  return (
    (
      await db.first<{ id: string }>(
        `select message_id as id from webhook.channel_message_keys where instance_id = $1 and key = any ($2) limit 1`,
        [instanceId, keys],
      )
    )?.id ?? null
  );
}

/** The row of a conversation. */
interface ConversationRow {
  id: string;
  movedTo: string | null;
}

/**
 * The id of the conversation for a message, made if it does not exist; null if the tenant has the channel no more. Neither
 * can change until the transaction ends.
 */
export async function conversationFor(db: Queryable, message: ConversationMessage): Promise<string | null> {
  const row = await upsertConversation(db, message);
  return row === null ? null : whereItGoesOn(db, row);
}

async function upsertConversation(
  db: Queryable,
  { tenantId, instanceId, conversation, userId }: ConversationMessage,
): Promise<ConversationRow | null> {
  return db.first(
    `with channel as (select id from webhook.channel_instances where id = $3 for key share)
     insert into webhook.conversations as known (id, tenant_id, instance_id, external_id, is_group, user_id)
     select $1, $2, channel.id, $4, $5, $6 from channel
     on conflict (instance_id, external_id, is_group) do update set last_message_at = clock_timestamp(),
       user_id = coalesce(known.user_id, excluded.user_id)
     returning id, moved_to as "movedTo"`,
    [
      ...[conversation.id, tenantId, instanceId, conversation.externalId, conversation.group],
      conversation.group ? null : userId,
    ],
  );
}

/** The conversation in which one with an old id goes on. It can't move on until the transaction ends. */
async function whereItGoesOn(db: Queryable, { id, movedTo }: ConversationRow): Promise<string> {
  if (movedTo === null) return id;
  const { rows } = await db.query<ConversationRow>(
    `update webhook.conversations set last_message_at = clock_timestamp() where id = $1
     returning id, moved_to as "movedTo"`,
    [movedTo],
  );
  const [next] = rows;
  if (next === undefined) throw new MessageTaken();
  return whereItGoesOn(db, next);
}

/** Stores a message with its keys. Returns false if one of them is taken; then the transaction must be rolled back. */
async function insertMessage(db: Queryable, message: NewMessage, conversationId: string): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'insert_channel_message',
    text: `
      with made as (
        insert into webhook.channel_messages (id, tenant_id, instance_id, conversation_id, direction, external_id, text,
          text_bytes, user_id, sender_name, status, position, due_at, expires_at, has_attachment, hops)
        values ($1, $2, $3, $4, 'in', $5, $6, $7, $8, $9, 'received', $10, now() + make_interval(secs => $15),
          now() + make_interval(days => $11), $13, $14)
        returning id)
      insert into webhook.channel_message_keys (instance_id, key, message_id, expires_at)
      -- In the same order in every transaction, so that no two wait for each other.
      select $3, key, made.id, now() + make_interval(days => greatest($11, ${keysKeptDays}))
      from made, unnest($12::text[]) as key order by key
      on conflict do nothing`,
    values: [
      message.id,
      message.tenantId,
      message.instanceId,
      conversationId,
      message.externalId,
      message.text,
      message.textBytes,
      message.userId,
      message.senderName,
      message.position,
      message.retentionDays,
      message.keys,
      message.hasAttachment,
      message.hops,
      burst.seconds,
    ],
  });
  return rowCount === message.keys.length;
}

/** Notes the queueing of overdue work in a conversation. */
export async function noteWoken(db: Queryable, conversationId: string): Promise<void> {
  await db.query('update webhook.conversations set woken_at = clock_timestamp() where id = $1', [
    conversationId,
  ]);
}

/** Deletes those of these conversations without messages; returns how many. */
export async function deleteEmpty(db: Queryable, conversationIds: readonly string[]): Promise<number> {
  // A message holds its conversation while it is stored: only a later statement sees it.
  await db.query('select from webhook.conversations where id = any ($1) order by id for update', [
    conversationIds,
  ]);
  return db.count(
    `delete from webhook.conversations as c where id = any ($1)
      and (select true from webhook.channel_messages as m where m.conversation_id = c.id limit 1) is null`,
    [conversationIds],
  );
}
