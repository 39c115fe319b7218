import type { Egress } from '@gatehouse/egress/egress';
import { EgressError } from '@gatehouse/egress/errors';
import type { JobHandler } from '@gatehouse/jobs/task';
import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Alerts } from '../alerts/alerts.ts';
import { platformId } from '../alerts/platform.ts';
import { retryAfterS, verdictOf, type Attempt, type Delivery, type Verdict } from '../deliveries/delivery.ts';
import type { Messages } from '../deliveries/messages.ts';
import type { DeliveryOutbox } from '../deliveries/outbox.ts';
import { standardHeaders } from '../deliveries/signature.ts';
import { maxInFlight, type DeliveryStore, type DueDelivery } from '../store/delivery-store.ts';

export interface DeliverDependencies {
  deliveries: DeliveryStore;
  messages: Messages;
  egress: Pick<Egress, 'request'>;
  outbox: DeliveryOutbox;
  alerts: Alerts;
  /** Runs `work` in a transaction that sees the rows of a tenant. */
  within: (tenantId: string, work: (db: Queryable) => Promise<void>) => Promise<void>;
}

/** A longer job goes on as a new one, so that every target of a tenant has its turn. */
const longestMs = 60_000;
const timeoutMs = 15_000;
const maxBodyBytes = 64 * 1024;

/** Sends what is due to one target of a tenant, as many at a time as the target may have in flight. */
export function deliver(dependencies: DeliverDependencies): JobHandler<{ target: string }> {
  const { deliveries, messages, egress, outbox, alerts, within } = dependencies;
  return async ({ target }, { tenantId, signal, log }) => {
    const of = { tenantId, target };
    const startedAt = monotonicMs();
    const drain = async (): Promise<void> => {
      while (monotonicMs() - startedAt < longestMs) {
        signal.throwIfAborted();
        const due = await deliveries.claimDue(of);
        if (due === null) return;
        await send(due, log);
      }
    };
    await Promise.all(Array.from({ length: maxInFlight }, drain));
    const next = await deliveries.nextDue(of);
    if (next !== null) await within(tenantId, (db) => outbox.wake(db, of, next));
  };

  async function send(delivery: DueDelivery, log: Logger): Promise<void> {
    const message = await messages.open(delivery);
    if (message === null) return;
    const { id, body, secret } = message;
    const at = new Date();
    const startedAt = monotonicMs();
    const headers = standardHeaders(secret, { id, at, body });
    const request = { method: 'POST', url: new URL(delivery.url), headers, body: Buffer.from(body) } as const;
    const result = await egress
      .request({ ...request, timeoutMs, maxBytes: maxBodyBytes, longer: 'cut' })
      .then(
        (response) => ({
          status: response.status,
          error: null,
          retryAfterS: retryAfterS(response.headers['retry-after'], at),
        }),
        (error: unknown) => {
          if (!(error instanceof EgressError)) throw error;
          return error.failure === 'busy' ? null : { status: null, error: error.message, retryAfterS: null };
        },
      );
    // Nothing was sent, and the receiver is not to blame.
    if (result === null) return deliveries.postpone(delivery);
    const attempt: Attempt = { at, durationMs: Math.round(monotonicMs() - startedAt), ...result };
    const verdict = verdictOf(attempt, delivery);
    await deliveries.record(delivery, { attempt, verdict }, (db) =>
      raiseDisabled(db, delivery, verdict, log),
    );
    log.debug({ delivery_id: delivery.id, status: attempt.status, verdict: verdict.kind }, 'sent a delivery');
  }

  async function raiseDisabled(
    db: Queryable,
    { tenantId, source, url }: Delivery,
    verdict: Verdict,
    log: Logger,
  ): Promise<void> {
    const [type, id] =
      source.kind === 'result'
        ? (['webhook_endpoint', source.endpointId] as const)
        : (['webhook_subscription', source.subscriptionId] as const);
    log.warn({ resource_type: type, resource_id: id }, 'disabled a webhook whose receiver fails');
    const reason = verdict.kind === 'failed' && verdict.gone ? 'gone' : 'failing';
    const data = { resource_type: type, resource_id: id, url, reason } as const;
    // Of the owner: no type of the platform's events is about that.
    if (tenantId !== platformId)
      await alerts.raise(db, tenantId, { id: newId(), type: 'endpoint.disabled', data });
  }
}
