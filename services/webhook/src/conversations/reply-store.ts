import { monotonicMs } from '@gatehouse/kit/clock';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { attemptMs, leaseS } from '../bounds.ts';

/** A reply waiting to be sent. */
export interface QueuedReply {
  id: string;
  tenantId: string;
  instanceId: string;
  conversationId: string;
  /** The provider's id of the conversation. */
  conversation: string;
  /** The provider's ids of the answered messages. */
  inReplyTo: string[];
  /** How often what it answers was sent on by a gateway. */
  hops: number;
  /** Encrypted. */
  text: Buffer;
  /** Failed attempts so far. */
  attempts: number;
  /** Since when it waits, and for how long still, in seconds by the database's clock. */
  ageS: number;
  waitS: number;
}

/** A reply for one attempt to send. */
export interface ClaimedReply extends QueuedReply {
  /** Names the claim: when it ends, as PostgreSQL writes it. */
  claim: string;
  /** By `monotonicMs`: later, the claim may be over before the attempt is. */
  sendBeforeMs: number;
}

/** Unsent replies, of one tenant at a time. */
export class ReplyStore extends Store {
  /** The first unsent reply of a conversation; null without one. Later ones wait for it. */
  next(tenantId: string, conversationId: string): Promise<QueuedReply | null> {
    return this.tenant(tenantId).first(
      `select r.id, r.tenant_id as "tenantId", r.instance_id as "instanceId",
          r.conversation_id as "conversationId", c.external_id as conversation, r.text, r.hops, r.attempts,
          extract(epoch from clock_timestamp() - r.created_at)::float8 as "ageS",
          greatest(extract(epoch from r.due_at - clock_timestamp()), 0)::float8 as "waitS",
          array(select m.external_id from webhook.channel_messages as m
                where m.turn_id = r.turn_id and m.direction = 'in' order by m.position nulls last, m.sequence)
            as "inReplyTo"
        from webhook.channel_messages as r join webhook.conversations as c on c.id = r.conversation_id
        where r.conversation_id = $1 and r.status = 'queued' order by r.sequence limit 1`,
      [conversationId],
    );
  }

  /**
   * Claims a due reply against other attempts meanwhile: a job regarded as lost, because its process stood still, runs
   * beside its successor. Null if another attempt has it, or it is sent.
   */
  claim(reply: QueuedReply): Promise<ClaimedReply | null> {
    const sendBeforeMs = monotonicMs() + leaseS * 1_000 - attemptMs;
    return withTenant(this.pool, reply.tenantId, async (db) => {
      const { rows } = await db.query<{ claim: string }>(
        `update webhook.channel_messages set due_at = clock_timestamp() + make_interval(secs => ${leaseS})
         where id = $1 and status = 'queued' and due_at <= clock_timestamp() returning due_at::text as claim`,
        [reply.id],
      );
      return rows[0] === undefined ? null : { ...reply, sendBeforeMs, claim: rows[0].claim };
    });
  }

  /** Gives a claim up without an attempt. */
  async release(reply: ClaimedReply): Promise<void> {
    await this.#update(reply.tenantId, (db) => releaseClaim(db, reply));
  }

  /** Notes a reply as sent, also by an attempt after the end of its claim, and the call answered by it as delivered. */
  async sent({ tenantId, id }: QueuedReply, externalId: string | null): Promise<void> {
    await this.#update(tenantId, (db) =>
      db.query(
        `with sent as (
           update webhook.channel_messages set status = 'sent', external_id = $2, due_at = null
           where id = $1 and status = 'queued' returning turn_id)
         update webhook.calls as c set channel_delivery = 'delivered' from sent
         where c.id = sent.turn_id and c.channel_delivery = 'queued' and not exists (
           select from webhook.channel_messages as m where m.turn_id = c.id and m.id <> $1 and m.status <> 'sent')`,
        [id, externalId],
      ),
    );
  }

  /** Gives a reply up, unless another attempt has it by now. */
  async fail({ tenantId, id, claim }: ClaimedReply): Promise<void> {
    await this.#update(tenantId, (db) =>
      db.query(
        `update webhook.channel_messages set status = 'failed', due_at = null
         where id = $1 and status = 'queued' and due_at = $2::timestamptz`,
        [id, claim],
      ),
    );
  }

  /** Counts a failed attempt; the next one is due in some seconds. Does nothing if another attempt has it by now. */
  async postpone({ tenantId, id, claim }: ClaimedReply, seconds: number): Promise<void> {
    await this.#update(tenantId, (db) =>
      db.query(
        `update webhook.channel_messages
         set attempts = attempts + 1, due_at = clock_timestamp() + make_interval(secs => $2)
         where id = $1 and status = 'queued' and due_at = $3::timestamptz`,
        [id, seconds, claim],
      ),
    );
  }

  async #update(tenantId: string, work: (db: Queryable) => Promise<unknown>): Promise<void> {
    await withTenant(this.pool, tenantId, work);
  }
}

/** Gives a claim up without an attempt. */
export async function releaseClaim(db: Queryable, { id, claim }: ClaimedReply): Promise<void> {
  await db.query(
    `update webhook.channel_messages set due_at = clock_timestamp()
     where id = $1 and status = 'queued' and due_at = $2::timestamptz`,
    [id, claim],
  );
}
