import type { Jobs } from '@gatehouse/jobs/jobs';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { StoredCall } from '../calls/call.ts';
import type { tasks } from '../jobs/tasks.ts';
import { insertDelivery, type Target } from '../store/delivery-store.ts';
import { targetOf } from './delivery.ts';

/** Queues deliveries, in the transaction of what they are about. */
export class DeliveryOutbox {
  readonly #jobs: Jobs<typeof tasks>;

  constructor(jobs: Jobs<typeof tasks>) {
    this.#jobs = jobs;
  }

  /** The result of a call for its callback URL; nothing if it has none. Returns the id of the delivery. */
  async addResult(db: Queryable, call: StoredCall): Promise<string | null> {
    const { id: callId, tenantId, endpointId, callbackUrl: url } = call;
    if (url === null) return null;
    const [id, target] = [newId(), targetOf(url)];
    await insertDelivery(db, { id, tenantId, callId, endpointId, url, target });
    await this.wake(db, { tenantId, target });
    return id;
  }

  /** Sends what is due to a target: now, or at a time. */
  async wake(db: Queryable, { tenantId, target }: Target, at?: Date): Promise<void> {
    // A job for later must not keep one for now from being added.
    const key = at === undefined ? target : `${target}/${at.toISOString().slice(0, 16)}`;
    await this.#jobs.add(db, { task: 'deliver', tenantId, ids: { target }, key, ...(at && { runAt: at }) });
  }
}
