import { newId } from '@gatehouse/kit/ids';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { Ref } from '../shared/ref.ts';

/** A conversation with another id at its provider from now on: a group's, or one with a person who was named so far. */
export interface ConversationMove {
  tenantId: string;
  instanceId: string;
  isGroup: boolean;
  from: string;
  to: string;
}

interface Row {
  id: string;
  externalId: string;
  movedTo: string | null;
}

/**
 * Conversations with a new id. Work on a conversation locks its row before it stores messages, a turn or
 * replies, and follows `moved_to`: a move waits for unfinished stores, and later ones go to where the conversation goes
 * on.
 */
export class ConversationMoveStore extends Store {
  /**
   * Lets a conversation go on under its new id, and does `also` in the same transaction, with the id of the
   * conversation in which it goes on. If messages were stored under the new id before, both become one: the older one
   * goes on. Returns false if there is nothing to move, or all of it was moved before.
   */
  async move(
    move: ConversationMove,
    also: (db: Queryable, conversation: Ref) => Promise<unknown>,
  ): Promise<boolean> {
    for (;;) {
      try {
        return await withTenant(this.pool, move.tenantId, async (db) => {
          const id = await moveOrJoin(db, move);
          if (id === null) return false;
          await also(db, { tenantId: move.tenantId, id });
          return true;
        });
      } catch (error) {
        // A message has made the conversation with the new id meanwhile.
        if (!isUniqueViolation(error, 'conversations_external_id_key')) throw error;
      }
    }
  }

  /**
   * Moves the remains of a moved conversation, for example from a replica of an earlier release, to where it goes on,
   * and does `also` in the same transaction.
   */
  async continueMoved(
    { tenantId, id, movedTo }: { tenantId: string; id: string; movedTo: string },
    also: (db: Queryable, conversation: Ref) => Promise<unknown>,
  ): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      await giveMessages(db, { from: id, to: movedTo });
      await also(db, { tenantId, id: movedTo });
    });
  }
}

async function moveOrJoin(db: Queryable, move: ConversationMove): Promise<string | null> {
  const { instanceId, isGroup, from, to } = move;
  // One move of a channel at a time, and the old id first, as messages lock both when they follow a move.
  await db.query('select from webhook.channel_instances where id = $1 for no key update', [instanceId]);
  const { rows } = await db.query<Row>(
    `select id, external_id as "externalId", moved_to as "movedTo" from webhook.conversations
     where instance_id = $1 and is_group = $4 and external_id = any ($2)
     order by external_id = $3 for update`,
    [instanceId, [from, to], to, isGroup],
  );
  const old = rows.find(({ externalId }) => externalId === from);
  const next = rows.find(({ externalId }) => externalId === to);
  if (old === undefined || old === next || old.movedTo !== null || (next?.movedTo ?? null) !== null)
    return null;
  if (next === undefined) {
    await rename(db, old, to);
    await insertMoved(db, move, old);
    return old.id;
  }
  // Ids are in the order of time.
  const [target, gone] = old.id < next.id ? [old, next] : [next, old];
  await join(db, target, gone);
  if (target === old) {
    // No two have one id at any time.
    await rename(db, gone, gone.id);
    await rename(db, target, to);
    await rename(db, gone, from);
  }
  return target.id;
}

async function rename(db: Queryable, { id }: Row, externalId: string): Promise<void> {
  await db.query(
    `update webhook.conversations set external_id = $2, last_message_at = clock_timestamp() where id = $1`,
    [id, externalId],
  );
}

/** Leaves a row under the old id. */
async function insertMoved(
  db: Queryable,
  { tenantId, instanceId, isGroup, from }: ConversationMove,
  { id }: Row,
): Promise<void> {
  await db.query(
    `insert into webhook.conversations (id, tenant_id, instance_id, external_id, is_group, moved_to)
     values ($1, $2, $3, $4, $6, $5)`,
    [newId(), tenantId, instanceId, from, id, isGroup],
  );
}

/** Makes one conversation of two. */
async function join(db: Queryable, target: Row, gone: Row): Promise<void> {
  await giveMessages(db, { from: gone.id, to: target.id });
  await db.query('update webhook.conversations set moved_to = $2 where moved_to = $1', [gone.id, target.id]);
  await db.query(
    `update webhook.conversations as c set user_id = gone.user_id from webhook.conversations as gone
     where c.id = $2 and gone.id = $1 and c.user_id is null and gone.user_id is not null`,
    [gone.id, target.id],
  );
  await db.query(
    `update webhook.conversations set moved_to = $2, user_id = null, last_message_at = clock_timestamp() where id = $1`,
    [gone.id, target.id],
  );
}

/** Gives the messages of one conversation to another. Those of an open turn follow at its end. */
async function giveMessages(db: Queryable, { from, to }: { from: string; to: string }): Promise<void> {
  await db.query(
    `update webhook.channel_messages as m set conversation_id = $2
     where conversation_id = $1
       and not exists (select from webhook.channel_turns as t where t.conversation_id = $1 and t.id = m.turn_id)`,
    [from, to],
  );
}
