import { testEventType, type WebhookEvent } from '@gatehouse/contract/webhook-subscriptions';
import { readAlertEvent, type Alert as RaisedEvent, type NewAlert } from '@gatehouse/events/alert-event';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { type Pool, type Queryable, withTenant } from '@gatehouse/pg/pool';
import type { DeliveryQueue, Subscriber } from '../deliveries/delivery-queue-store.ts';
import { hasPending } from '../deliveries/delivery-store.ts';
import { findSubscribers } from './subscription-store.ts';
import { rateOf } from './event-rates.ts';
import { platformId } from '../shared/ref.ts';
import { maxEventBytes, maxQueued } from '../bounds.ts';

/** Queues events for their subscribers. */
export class EventQueue {
  readonly #pool: Pool;
  readonly #deliveries: DeliveryQueue;
  readonly #log: Logger;

  /** `pool` acts as `webhook_app`. */
  constructor({ pool, deliveries, log }: { pool: Pool; deliveries: DeliveryQueue; log: Logger }) {
    this.#pool = pool;
    this.#deliveries = deliveries;
    this.#log = log;
  }

  /** Queues events for their subscribers, each in a transaction. Already queued ones change nothing. */
  async take(events: readonly RaisedEvent[]): Promise<void> {
    for (const event of events) {
      const tenantId = event.tenant_id ?? platformId;
      await withTenant(this.#pool, tenantId, (db) => this.#queue(db, tenantId, event));
    }
  }

  /** Queues an event of this service, in a transaction of its tenant. */
  async raise(db: Queryable, tenantId: string, event: Omit<NewAlert, 'tenant_id'>): Promise<void> {
    await this.#queue(db, tenantId, { ...event, at: new Date().toISOString() });
  }

  /**
   * Queues a test for one subscription, in a transaction with access to it. Returns the id of the delivery. Throws
   * `limit_reached` where too many events wait.
   */
  async test(db: Queryable, tenantId: string, subscriber: Subscriber): Promise<string> {
    if (await hasPending(db, subscriber.id, maxQueued))
      throw new AppError('limit_reached', `${maxQueued} events wait for the subscription.`);
    const id = newId();
    const at = new Date().toISOString();
    const body = bodyOf({ at, type: testEventType, data: { subscription_id: subscriber.id } });
    await insertEvent(db, { id, tenantId, type: testEventType, body });
    return this.#deliveries.addEvent(db, { tenantId, eventId: id, subscriber });
  }

  async #queue(db: Queryable, tenantId: string, event: Omit<RaisedEvent, 'tenant_id'>): Promise<void> {
    const { id, type } = event;
    const subscribers = await findSubscribers(db, tenantId, type);
    if (subscribers.length === 0) return;
    if (!(await insertEvent(db, { id, tenantId, type, body: bodyOf(event) }))) return;
    const rate = rateOf(event);
    if (rate !== null && !(await markSent(db, { tenantId, ...rate }))) return;
    for (const subscriber of subscribers)
      if (await hasPending(db, subscriber.id, maxQueued))
        this.#log.warn(
          { subscription_id: subscriber.id, type },
          'dropped an event: too many wait for its subscriber',
        );
      else await this.#deliveries.addEvent(db, { tenantId, eventId: id, subscriber });
  }
}

/** Reads an event of another service. Throws with the reason when it can't be sent. */
export function readEvent(text: string): RaisedEvent | null {
  const event = readAlertEvent(text);
  if (event !== null && Buffer.byteLength(bodyOf(event)) > maxEventBytes)
    throw new Error(`larger than ${maxEventBytes} bytes`);
  return event;
}

function bodyOf({ at, type, data }: Pick<RaisedEvent, 'at' | 'type' | 'data'>): string {
  const event: WebhookEvent = { type, timestamp: at, data };
  return JSON.stringify(event);
}

interface NewEvent {
  id: string;
  tenantId: string;
  type: string;
  body: string;
}

/** Stores an event. Returns false if it is stored already. */
function insertEvent(db: Queryable, { id, tenantId, type, body }: NewEvent): Promise<boolean> {
  return db.exists(
    `insert into webhook.events (id, tenant_id, type, body) values ($1, $2, $3, $4) on conflict do nothing`,
    [id, tenantId, type, body],
  );
}

/** Marks an event as sent now; false if the last one about the same subject is less than `everyS` ago. */
function markSent(
  db: Queryable,
  { tenantId, subject, everyS }: { tenantId: string; subject: string; everyS: number },
): Promise<boolean> {
  return db.exists(
    `insert into webhook.event_marks as known (tenant_id, subject, at) values ($1, $2, now())
     on conflict (tenant_id, subject) do update set at = excluded.at
       where known.at <= now() - make_interval(secs => $3)`,
    [tenantId, subject, everyS],
  );
}
