import type { Egress } from '@gatehouse/egress/egress';
import { EgressError } from '@gatehouse/egress/errors';
import type { JobHandler } from '@gatehouse/jobs/task';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { retryAfterS, verdictOf, type Attempt } from '../deliveries/delivery.ts';
import { standardHeaders } from '../deliveries/signature.ts';
import { maxInFlight, type DeliveryStore, type DueDelivery, type Target } from '../store/delivery-store.ts';

export interface DeliverDependencies {
  deliveries: DeliveryStore;
  egress: Pick<Egress, 'request'>;
  /** The body, and the secret that signs it; null if its call was deleted. */
  prepare: (delivery: DueDelivery) => Promise<{ body: string; secret: string } | null>;
  /** Adds a job for what is due later. */
  later: (of: Target, at: Date) => Promise<void>;
  onDisabled: (delivery: DueDelivery) => void;
}

/** A longer job goes on as a new one, so that every target of a tenant has its turn. */
const longestMs = 60_000;
const timeoutMs = 15_000;
const maxBodyBytes = 64 * 1024;

/** Sends what is due to one target of a tenant, as many at a time as the target may have in flight. */
export function deliver(dependencies: DeliverDependencies): JobHandler<{ target: string }> {
  const { deliveries, later } = dependencies;
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
    if (next !== null) await later(of, next);
  };

  async function send(delivery: DueDelivery, log: Logger): Promise<void> {
    const { egress, prepare, onDisabled } = dependencies;
    const prepared = await prepare(delivery);
    if (prepared === null) return;
    const { body, secret } = prepared;
    const at = new Date();
    const startedAt = monotonicMs();
    const headers = standardHeaders(secret, { id: delivery.callId, at, body });
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
    const disabled = await deliveries.record(delivery, attempt, verdict);
    log.debug({ delivery_id: delivery.id, status: attempt.status, verdict: verdict.kind }, 'sent a delivery');
    if (disabled) onDisabled(delivery);
  }
}
