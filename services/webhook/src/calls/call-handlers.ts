import type { listWebhookCalls, WebhookCallWithResult } from '@gatehouse/contract/webhook-calls';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import type { MinuteCounts } from '@gatehouse/pg/minute-counts';
import type { z } from 'zod';
import { showCall, showChannelDelivery, type StoredCall, type StoredChannelDelivery } from './call.ts';
import type { CallTexts } from './call-texts.ts';
import type { Ground } from '../ground.ts';
import { type LoggedDelivery, showDelivery } from '../deliveries/delivery.ts';
import type { DeliveryQueue } from '../deliveries/delivery-queue-store.ts';
import { countDeliveries, type CallStore } from './call-store.ts';
import { deliveryById, type DeliveryStore } from '../deliveries/delivery-store.ts';
import { lockEndpoint, type EndpointStore } from '../endpoints/endpoint-store.ts';
import { maxDeliveriesOfCall } from '../bounds.ts';

type List = Call<unknown, z.output<typeof listWebhookCalls>>;

export interface CallDependencies extends Pick<Ground, 'changes'> {
  endpoints: EndpointStore;
  calls: CallStore;
  texts: CallTexts;
  deliveries: DeliveryStore;
  queue: DeliveryQueue;
  counts: MinuteCounts;
}

/** `/v1/webhooks/endpoints/{id}/calls`, `/v1/webhooks/calls*` */
export function callHandlers(dependencies: CallDependencies): Record<string, Handler> {
  const { endpoints, calls, texts, deliveries, queue, changes, counts } = dependencies;
  return {
    'webhooks.endpoints.calls': async (call: List) => {
      const { tenantId } = tenantOf(call);
      const { limit, cursor } = call.query;
      const what = 'webhook endpoint';
      const endpointId = resourceId(call.params, what);
      orNotFound(await endpoints.find(tenantId, endpointId), what);
      const rows = await calls.list({ tenantId, endpointId }, { limit, before: decodeCursor(cursor) });
      return { body: pageOf(rows, limit, showCall) };
    },

    'webhooks.calls.get': async (call: Call) => {
      const what = 'webhook call';
      const id = resourceId({ id: call.params['call_id'] ?? '' }, what);
      const { tenantId } = tenantOf(call);
      const known = orNotFound(await calls.find(tenantId, id), what);
      const channel = await calls.channelDelivery(tenantId, id);
      return {
        body: showWithResult(known, { sent: await deliveries.listByCall(tenantId, id), channel }, texts),
      };
    },

    'webhooks.calls.redeliver': async (call: Call) => {
      const what = 'webhook call';
      const callId = resourceId({ id: call.params['call_id'] ?? '' }, what);
      const { tenantId } = tenantOf(call);
      const known = orNotFound(await calls.find(tenantId, callId), what);
      if (known.callbackUrl === null || known.finishedAt === null)
        throw new AppError('nothing_to_deliver', 'The call has no callback_url, or has not finished.');
      if (!call.dryRun) await counts.count(tenantId, 'repeated_deliveries');
      return changes.change(call, async (db) => {
        orNotFound(await lockEndpoint(db, known.endpointId), what);
        if ((await countDeliveries(db, callId)) >= maxDeliveriesOfCall)
          throw new AppError('limit_reached', `A result is sent ${maxDeliveriesOfCall} times at most.`);
        const id = orNotFound(await queue.addResult(db, known), what);
        const body = showDelivery(await deliveryById(db, id));
        return {
          body,
          changes: [
            { action: 'webhook_call.redelivered', id: callId, before: null, after: { delivery_id: id } },
          ],
        };
      });
    },
  };
}

function showWithResult(
  call: StoredCall,
  { sent, channel }: { sent: readonly LoggedDelivery[]; channel: StoredChannelDelivery | null },
  texts: CallTexts,
): WebhookCallWithResult {
  const none = { output: null, finish_reason: null, usage: null, trace_id: null };
  return {
    ...showCall(call),
    ...(call.result === null ? none : texts.openResult(call, call.result)),
    deliveries: sent.map(showDelivery),
    channel_delivery: channel && showChannelDelivery(channel),
  };
}
