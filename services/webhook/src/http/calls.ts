import type { listWebhookCalls, WebhookCallWithResult } from '@gatehouse/contract/webhook-calls';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { found, resourceId } from '@gatehouse/http/resource';
import type { z } from 'zod';
import { showCall, type StoredCall } from '../calls/call.ts';
import type { CallTexts } from '../calls/call-texts.ts';
import type { CallStore } from '../store/call-store.ts';
import type { EndpointStore } from '../store/endpoint-store.ts';

type List = Call<unknown, z.output<typeof listWebhookCalls>>;

export interface CallDependencies {
  endpoints: EndpointStore;
  calls: CallStore;
  texts: CallTexts;
}

/** `/v1/webhooks/endpoints/{id}/calls`, `/v1/webhooks/calls*` */
export function callHandlers({ endpoints, calls, texts }: CallDependencies): Record<string, Handler> {
  return {
    'webhooks.endpoints.calls': async (call: List) => {
      const { tenantId } = tenantOf(call);
      const { limit, cursor } = call.query;
      const what = 'webhook endpoint';
      const endpointId = resourceId(call.params, what);
      found(await endpoints.find(tenantId, endpointId), what);
      const rows = await calls.list({ tenantId, endpointId }, { limit, before: decodeCursor(cursor) });
      return { body: pageOf(rows, limit, showCall) };
    },

    'webhooks.calls.get': async (call: Call) => {
      const what = 'webhook call';
      const id = resourceId({ id: call.params['call_id'] ?? '' }, what);
      return { body: showWithResult(found(await calls.find(tenantOf(call).tenantId, id), what), texts) };
    },
  };
}

function showWithResult(call: StoredCall, texts: CallTexts): WebhookCallWithResult {
  const none = { output: null, finish_reason: null, usage: null, trace_id: null };
  return { ...showCall(call), ...(call.result === null ? none : texts.openResult(call, call.result)) };
}
