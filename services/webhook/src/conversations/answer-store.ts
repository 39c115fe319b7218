import type { DeliverTo } from '@gatehouse/contract/webhook-endpoints';
import { newId } from '@gatehouse/kit/ids';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { toPgText } from '@gatehouse/pg/text';
import type { FailedChannelDelivery } from '../calls/call.ts';
import { conversationFor } from './message-store.ts';
import { insertReplies, type NewReply } from './turn-store.ts';
import type { Ref } from '../shared/ref.ts';
import { maxQueuedReplies } from '../bounds.ts';

/** The answer of a call, not yet in its conversation. */
export interface PendingAnswer extends Ref {
  userId: string | null;
  hops: number;
  /** Encrypted. */
  result: Buffer;
  deliverTo: DeliverTo;
}

/** The messages of an answer. */
interface AnswerMessages {
  replies: readonly NewReply[];
  retentionDays: number;
  /** Whether a conversation in which nothing was written so far is a group's. */
  isGroup: boolean;
}

/** Answers of calls for conversations, of one tenant at a time. */
export class AnswerStore extends Store {
  /**
   * Null for an answer that is stored in its conversation, or has failed to be. So is one that waits for the end of a
   * transfer, which queues it again: until then its channel may still be of the other tenant.
   */
  find(tenantId: string, callId: string): Promise<PendingAnswer | null> {
    return this.tenant(tenantId).first(
      `select id, tenant_id as "tenantId", user_id as "userId", hops, result, deliver_to as "deliverTo"
        from webhook.calls as c where id = $1 and channel_delivery = 'pending' and status = 'succeeded'
          and exists (select from webhook.endpoints as e where e.id = c.endpoint_id and not e.closed)`,
      [callId],
    );
  }

  /** Gives an answer up. */
  async fail({ tenantId, id }: Ref, reason: FailedChannelDelivery): Promise<void> {
    await withTenant(this.pool, tenantId, (db) => endPending(db, id, reason));
  }

  /**
   * Stores the messages of an answer in its conversation, and does `also` in the same transaction, with the id of the
   * conversation. Once for each call: later attempts change nothing.
   */
  async queue(
    { id, tenantId, userId, hops, deliverTo }: PendingAnswer,
    { replies, retentionDays, isGroup }: AnswerMessages,
    also: (db: Queryable, conversationId: string) => Promise<unknown>,
  ): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      if (!(await endPending(db, id, 'queued'))) return;
      const instanceId = deliverTo.channel_instance_id;
      const externalId = toPgText(deliverTo.conversation);
      const group = (await latestKind(db, instanceId, externalId)) ?? isGroup;
      const conversation = { id: newId(), externalId, group };
      const place = await conversationFor(db, { tenantId, instanceId, conversation, userId: null });
      if (place === null) return setDelivery(db, id, 'no_channel');
      if (await isFull(db, place)) return setDelivery(db, id, 'conversation_full');
      await insertReplies(db, place, {
        ...{ tenantId, turnId: id, userId, runId: null, hops, replies, retentionDays },
      });
      await also(db, place);
    });
  }
}

/** Returns false if another attempt has ended it. */
async function endPending(
  db: Queryable,
  callId: string,
  delivery: 'queued' | FailedChannelDelivery,
): Promise<boolean> {
  return db.exists(
    `update webhook.calls set channel_delivery = $2 where id = $1 and channel_delivery = 'pending'`,
    [callId, delivery],
  );
}

async function setDelivery(db: Queryable, callId: string, delivery: FailedChannelDelivery): Promise<void> {
  await db.query('update webhook.calls set channel_delivery = $2 where id = $1', [callId, delivery]);
}

/** Whether the conversation with this id that was last written in is a group's; null without one. */
async function latestKind(db: Queryable, instanceId: string, externalId: string): Promise<boolean | null> {
  const row = await db.first<{ isGroup: boolean }>(
    `select is_group as "isGroup" from webhook.conversations
     where instance_id = $1 and external_id = $2 order by last_message_at desc limit 1`,
    [instanceId, externalId],
  );
  return row?.isGroup ?? null;
}

function isFull(db: Queryable, conversationId: string): Promise<boolean> {
  return db.exists(
    `select from webhook.channel_messages where conversation_id = $1 and status = 'queued' offset $2 limit 1`,
    [conversationId, maxQueuedReplies - 1],
  );
}
