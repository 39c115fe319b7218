import type { Egress } from '@gatehouse/egress/egress';
import { EgressError } from '@gatehouse/egress/errors';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import { retryAfterS, type Attempt, type DueDelivery } from './delivery.ts';
import type { Hops } from './hops.ts';
import type { DeliveryMessage, Messages } from './messages.ts';
import { standardHeaders } from '../signatures/signing-secret.ts';
import { attemptMs } from '../bounds.ts';

type Outcome = Pick<Attempt, 'status' | 'error' | 'retryAfterS' | 'exceedsHops'>;

interface Dependencies {
  messages: Messages;
  hops: Hops;
  egress: Pick<Egress, 'request'>;
}

/** Sends a delivery once. Null if nothing could be sent now, or there is nothing to send: no receiver is to blame. */
export async function attempt(
  delivery: DueDelivery,
  { messages, hops, egress, at, log }: Dependencies & { at: Date; log: Logger },
): Promise<Outcome | null> {
  let message: DeliveryMessage | null;
  try {
    message = await messages.open(delivery);
  } catch (error) {
    if (isDatabaseOutage(error)) throw error;
    log.error({ err: error, delivery_id: delivery.id }, 'failed to prepare a delivery');
    return failed('The message could not be prepared.');
  }
  // This process stood still: by now another one may have claimed it.
  if (message === null || monotonicMs() > delivery.sendBeforeMs) return null;
  const { id, body, secrets } = message;
  const headers = { ...standardHeaders(secrets, { id, at, body }), ...hops.headersOf(message.hops) };
  const { tenantId, url } = delivery;
  const request = { tenantId, method: 'POST', url: new URL(url), headers, body: Buffer.from(body) } as const;
  try {
    const answer = await egress.request({ ...request, timeoutMs: attemptMs, ignoreBody: true });
    return {
      status: answer.status,
      error: null,
      retryAfterS: retryAfterS(answer.headers['retry-after'], at),
      exceedsHops: hops.isExceeded(answer.headers),
    };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    log.debug({ err: error, delivery_id: delivery.id }, 'failed to send a delivery');
    return error.failure === 'busy' ? null : failed(error.message);
  }
}

function failed(error: string): Outcome {
  return { status: null, error, retryAfterS: null, exceedsHops: false };
}
