import type { CheckView } from '@gatehouse/contract/guardrail-checks';
import type { Guard } from '@gatehouse/egress/guard';
import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type { Call } from '@gatehouse/http/app';
import { workDeadlineMs } from '@gatehouse/kit/bounds';
import { AppError } from '@gatehouse/kit/errors';
import { nearestSentence } from '@gatehouse/kit/nearest-names';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';

/** Throws `unknown_model` and `url_not_allowed` for a check the tenant can't reach; null for the owner. */
export type AssertReachable = (check: CheckView, tenantId: string | null, call: Call) => Promise<void>;

/** Asks chat, which has the catalogue, and the guard of outgoing calls. */
export function assertReachable({
  chat,
  guard,
}: {
  chat: Pick<RpcClient<ChatServiceClient>, 'call'>;
  guard: Pick<Guard, 'check'>;
}): AssertReachable {
  return async (check, tenantId, { requestId, trace }) => {
    if ('url' in check) await guard.check(check.url, 'check.url');
    // Tenants of the owner's guardrails may use different models.
    if (!('model' in check) || tenantId === null) return;
    const { unknownIds, nearest } = await chat
      .call('checkModels', { ids: [check.model], tenantId }, { deadlineMs: workDeadlineMs, requestId, trace })
      .catch(hangIsOutage);
    if (unknownIds.length === 0) return;
    const message = `There is no model ${JSON.stringify(check.model)}.${nearestSentence(nearest)}`;
    throw new AppError('unknown_model', message, { param: 'check.model' });
  };
}
