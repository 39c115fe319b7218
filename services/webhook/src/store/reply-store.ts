import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';

/** A reply that waits to be sent. */
export interface QueuedReply {
  id: string;
  tenantId: string;
  instanceId: string;
  conversationId: string;
  /** The provider's id of the conversation. */
  conversation: string;
  /** The provider's ids of the messages that it answers. */
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

/** Replies that are not sent yet, of one tenant at a time. */
export class ReplyStore {
  readonly #pool: Pool;

  /** `pool` acts as `webhook_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The first reply of a conversation that is not sent; null if there is none. Later ones wait for it. */
  async next(tenantId: string, conversationId: string): Promise<QueuedReply | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<QueuedReply>(
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
      return rows[0] ?? null;
    });
  }

  async sent({ tenantId, id }: QueuedReply, externalId: string | null): Promise<void> {
    await this.#update(tenantId, (db) =>
      db.query(
        `update webhook.channel_messages set status = 'sent', external_id = $2, due_at = null
         where id = $1 and status = 'queued'`,
        [id, externalId],
      ),
    );
  }

  async fail({ tenantId, id }: QueuedReply): Promise<void> {
    await this.#update(tenantId, (db) =>
      db.query(
        `update webhook.channel_messages set status = 'failed', due_at = null where id = $1 and status = 'queued'`,
        [id],
      ),
    );
  }

  /** Counts a failed attempt; the next one is due in some seconds. */
  async postpone({ tenantId, id }: QueuedReply, seconds: number): Promise<void> {
    await this.#update(tenantId, (db) =>
      db.query(
        `update webhook.channel_messages
         set attempts = attempts + 1, due_at = clock_timestamp() + make_interval(secs => $2)
         where id = $1 and status = 'queued'`,
        [id, seconds],
      ),
    );
  }

  async #update(tenantId: string, work: (db: Queryable) => Promise<unknown>): Promise<void> {
    await withTenant(this.#pool, tenantId, work);
  }
}
