import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { WaitingMessage } from './burst.ts';
import { maxEarlierMessages, maxWaitingMessages } from '../bounds.ts';

/** A conversation in work. */
export interface Conversation {
  id: string;
  tenantId: string;
  instanceId: string;
  externalId: string;
  isGroup: boolean;
  /** The conversation in which this one goes on, once its group has got another id; null otherwise. */
  movedTo: string | null;
}

type Ref = Pick<Conversation, 'tenantId' | 'id'>;

/** An unanswered turn. */
export interface PendingTurn {
  id: string;
  tenantId: string;
  conversationId: string;
  /** The agent's acting user. */
  userId: string;
  agentId: string;
  /** Encrypted; null if nothing in the messages can be read. */
  request: Buffer | null;
  /** Whether a message has an attachment, which can't be read. */
  hasAttachment: boolean;
  /** How often what the messages are about was sent on by a gateway: the most of them. */
  hops: number;
}

/** An earlier message of a conversation. */
export interface EarlierMessage {
  id: string;
  direction: 'in' | 'out';
  senderName: string | null;
  text: Buffer | null;
}

/** A turn to begin, of these messages. */
export type NewTurn = Omit<PendingTurn, 'tenantId' | 'conversationId'> & { messageIds: readonly string[] };

/** One message of the answer to a turn. */
export interface NewReply {
  id: string;
  /** Encrypted. */
  text: Buffer;
  textBytes: number;
}

/** The end of a turn. */
export interface TurnEnd {
  status: 'answered' | 'failed';
  runId: string | null;
  replies: readonly NewReply[];
  retentionDays: number;
}

/** Turns of conversations: one at a time in each. */
export class TurnStore extends Store {
  findConversation(tenantId: string, id: string): Promise<Conversation | null> {
    return this.tenant(tenantId).first(
      `select id, tenant_id as "tenantId", instance_id as "instanceId", external_id as "externalId",
          is_group as "isGroup", moved_to as "movedTo"
        from webhook.conversations where id = $1`,
      [id],
    );
  }

  /** The unanswered turn of a conversation, or the waiting messages for the next one, in order. */
  open({ tenantId, id }: Ref): Promise<{ turn: PendingTurn | null; waiting: WaitingMessage[] }> {
    return withTenant(this.pool, tenantId, async (db) => {
      const turn = await findTurn(db, id);
      return { turn, waiting: turn === null ? await readWaiting(db, id) : [] };
    });
  }

  /** The messages before a turn, newest first, while those after each have less than `maxBytes` of text. */
  earlier({ tenantId, id }: Ref, maxBytes: number): Promise<EarlierMessage[]> {
    return this.tenant(tenantId).all(
      `select id, direction, "senderName", text from (
          select id, direction, sender_name as "senderName", text, sequence,
            coalesce(sum(text_bytes) over (order by sequence desc rows between unbounded preceding and 1 preceding), 0)
              as newer
          from webhook.channel_messages
          where conversation_id = $1 and status <> 'received' and text is not null
          order by sequence desc limit ${maxEarlierMessages}) as newest
        where newer < $2 order by sequence desc`,
      [id, maxBytes],
    );
  }

  /**
   * The answer at the beginning of a conversation such as a thread, newest message first: with its message `message` in
   * the conversation with the provider's id `conversation`. It is looked for among the newest messages there.
   */
  opening(
    { tenantId, instanceId }: Pick<Conversation, 'tenantId' | 'instanceId'>,
    { conversation, message }: { conversation: string; message: string },
  ): Promise<EarlierMessage[]> {
    return this.tenant(tenantId).all(
      `with recent as (
         select m.turn_id, m.direction, m.external_id from webhook.conversations as c
           cross join lateral (
             select turn_id, direction, external_id from webhook.channel_messages
             where conversation_id = c.id order by sequence desc limit ${maxEarlierMessages}) as m
         where c.instance_id = $1 and c.external_id = $2)
       select m.id, m.direction, m.sender_name as "senderName", m.text from webhook.channel_messages as m
       where m.turn_id = (select turn_id from recent where external_id = $3 and direction = 'out' limit 1)
         and m.direction = 'out' and m.text is not null
       order by m.sequence desc`,
      [instanceId, conversation, message],
    );
  }

  /** The encrypted texts of messages, by their ids. */
  texts({ tenantId }: Ref, ids: readonly string[]): Promise<Map<string, Buffer | null>> {
    return withTenant(this.pool, tenantId, async (db) => {
      const { rows } = await db.query<{ id: string; text: Buffer | null }>(
        'select id, text from webhook.channel_messages where id = any ($1)',
        [ids],
      );
      return new Map(rows.map(({ id, text }) => [id, text]));
    });
  }

  /** Begins a turn. Returns false if another one was begun meanwhile, or the messages are no longer there. */
  begin({ tenantId, id: conversationId }: Ref, turn: NewTurn): Promise<boolean> {
    return withTenant(this.pool, tenantId, async (db) => {
      const { rowCount } = await db.query(
        `insert into webhook.channel_turns (id, tenant_id, conversation_id, user_id, agent_id, request, has_attachment,
           hops)
         select $1, $2, id, $4, $5, $6, $7, $8
         from (select id from webhook.conversations where id = $3 and moved_to is null for key share) as here
         on conflict (conversation_id) do nothing`,
        [
          ...[turn.id, tenantId, conversationId, turn.userId, turn.agentId, turn.request],
          ...[turn.hasAttachment, turn.hops],
        ],
      );
      if (rowCount !== 1) return false;
      const { rowCount: taken } = await db.query(
        `update webhook.channel_messages set turn_id = $1 where id = any ($2) and status = 'received'`,
        [turn.id, turn.messageIds],
      );
      if (taken === turn.messageIds.length) return true;
      await db.query('delete from webhook.channel_turns where id = $1', [turn.id]);
      return false;
    });
  }

  /**
   * Ends a turn with its replies, and does `also` in the same transaction, with the id of the conversation of the
   * replies. The first end counts.
   */
  async end(
    { id, tenantId, conversationId, userId, hops }: PendingTurn,
    { status, runId, replies, retentionDays }: TurnEnd,
    also: (db: Queryable, conversationId: string) => Promise<unknown>,
  ): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      const place = await lockPlace(db, conversationId);
      const { rowCount } = await db.query('delete from webhook.channel_turns where id = $1', [id]);
      if (rowCount !== 1) return;
      await db.query(
        `update webhook.channel_messages set status = $2, run_id = $3, due_at = null, conversation_id = $4
         where turn_id = $1 and status = 'received'`,
        [id, status, runId, place],
      );
      if (replies.length === 0) return;
      await insertReplies(db, place, { tenantId, turnId: id, userId, runId, hops, replies, retentionDays });
      await also(db, place);
    });
  }

  /** Whether a limit may be reported again in a conversation: once an hour at most. */
  mayRefuse({ tenantId, id }: Ref): Promise<boolean> {
    return this.tenant(tenantId).exists(
      `update webhook.conversations set refused_at = now()
        where id = $1 and (refused_at is null or refused_at < now() - interval '1 hour')`,
      [id],
    );
  }
}

/** The messages of an answer, and what they have in common. */
interface NewReplies extends Pick<TurnEnd, 'runId' | 'replies' | 'retentionDays'> {
  tenantId: string;
  /** The answered turn or call. */
  turnId: string;
  userId: string | null;
  hops: number;
}

/** Queues the messages of an answer in a conversation. Those of no user belong to the conversation's. */
export async function insertReplies(
  db: Queryable,
  conversationId: string,
  { tenantId, turnId, userId, runId, hops, replies, retentionDays }: NewReplies,
): Promise<void> {
  await db.query(
    `insert into webhook.channel_messages (id, tenant_id, instance_id, conversation_id, direction, text, text_bytes,
       user_id, status, turn_id, run_id, due_at, expires_at, hops)
     select reply.id, $2, c.instance_id, c.id, 'out', reply.text, reply.bytes, coalesce($4, c.user_id), 'queued', $3,
       $5, now(), now() + make_interval(days => $6), $10
     from webhook.conversations as c,
       unnest($7::uuid[], $8::bytea[], $9::integer[]) with ordinality as reply (id, text, bytes, place)
     where c.id = $1 order by place`,
    [
      ...[conversationId, tenantId, turnId, userId, runId, retentionDays],
      replies.map((reply) => reply.id),
      replies.map((reply) => reply.text),
      replies.map((reply) => reply.textBytes),
      hops,
    ],
  );
}

/** The conversation in which this one goes on, which can't move until the transaction ends. */
async function lockPlace(db: Queryable, conversationId: string): Promise<string> {
  return (
    (
      await db.first<{ id: string }>(
        'select coalesce(moved_to, id) as id from webhook.conversations where id = $1 for key share',
        [conversationId],
      )
    )?.id ?? conversationId
  );
}

async function findTurn(db: Queryable, conversationId: string): Promise<PendingTurn | null> {
  return db.first(
    `select id, tenant_id as "tenantId", conversation_id as "conversationId", user_id as "userId",
       agent_id as "agentId", request, has_attachment as "hasAttachment", hops
     from webhook.channel_turns where conversation_id = $1`,
    [conversationId],
  );
}

async function readWaiting(db: Queryable, conversationId: string): Promise<WaitingMessage[]> {
  return db.all(
    `select id, user_id as "userId", sender_name as "senderName", text_bytes as "textBytes",
       has_attachment as "hasAttachment", hops,
       extract(epoch from clock_timestamp() - created_at)::float8 as "ageS"
     from webhook.channel_messages where conversation_id = $1 and status = 'received'
     order by position nulls last, sequence limit ${maxWaitingMessages}`,
    [conversationId],
  );
}
