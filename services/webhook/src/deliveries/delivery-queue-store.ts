import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import { targetOf, type OriginTarget } from './delivery.ts';
import { giveUpPending, insertDelivery, redirectPending, type DeliveryOrigin } from './delivery-store.ts';
import type { WebhookJobs } from '../shared/tasks.ts';

/** A subscription to an event. */
export interface Subscriber {
  id: string;
  url: string;
}

/** Queues deliveries, in the transaction of what they are about. */
export class DeliveryQueue {
  readonly #jobs: WebhookJobs;

  constructor(jobs: WebhookJobs) {
    this.#jobs = jobs;
  }

  /** The result of a call for its callback URL; nothing without a URL. Returns the id of the delivery. */
  async addResult(
    db: Queryable,
    call: { id: string; tenantId: string; endpointId: string; callbackUrl: string | null },
  ): Promise<string | null> {
    const { id: callId, tenantId, endpointId, callbackUrl: url } = call;
    return url === null ? null : this.#add(db, { tenantId, url, callId, endpointId });
  }

  /** A stored event for one subscriber. Returns the id of the delivery. */
  addEvent(
    db: Queryable,
    {
      tenantId,
      eventId,
      subscriber: { id: subscriptionId, url },
    }: { tenantId: string; eventId: string; subscriber: Subscriber },
  ): Promise<string> {
    return this.#add(db, { tenantId, url, eventId, subscriptionId });
  }

  /** Sends what a subscription has not received to its new URL. */
  async redirect(
    db: Queryable,
    { tenantId, subscriber: { id: subscriptionId, url } }: { tenantId: string; subscriber: Subscriber },
  ): Promise<void> {
    const target = targetOf(url);
    const next = await redirectPending(db, { subscriptionId, url, target });
    if (next !== null) await this.wake(db, { tenantId, target }, next);
  }

  /** Sends nothing more of what a subscription has not received. */
  giveUp(db: Queryable, { subscriptionId }: { subscriptionId: string }): Promise<void> {
    return giveUpPending(db, subscriptionId);
  }

  /** Sends what is due to a target: now, or at a time. */
  async wake(db: Queryable, { tenantId, target }: OriginTarget, at?: Date): Promise<void> {
    // A job for later must not keep one for now from being added.
    const key = at === undefined ? target : `${target}/${at.toISOString().slice(0, 19)}`;
    await this.#jobs.add(db, { task: 'deliver', tenantId, ids: { target }, key, ...(at && { runAt: at }) });
  }

  /** The same for a target after the loss of its job. A job before its next attempt is not lost. */
  async wakeLost(db: Queryable, { tenantId, target }: OriginTarget): Promise<void> {
    await this.#jobs.add(db, { task: 'deliver', tenantId, ids: { target }, key: target, unlessTried: true });
  }

  async #add(db: Queryable, delivery: DeliveryOrigin & { tenantId: string; url: string }): Promise<string> {
    const id = newId();
    const target = targetOf(delivery.url);
    await insertDelivery(db, { id, target, ...delivery });
    await this.wake(db, { tenantId: delivery.tenantId, target });
    return id;
  }
}
