import type { RpcClient } from '@gatehouse/grpc/client';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { ParticipantServiceClient } from '@gatehouse/proto/participant/v1/participant';
import type { CarryOutOptions, TransferService } from './carry-out-job.ts';
import type { Transfer } from './transfer.ts';

/** A step does a bounded part of its work in each call. */
const stepMs = 30_000;
const countMs = 2_000;

/** `RunStep` of the services that have a part in transfers. */
export function runStepAt(
  peers: Readonly<Record<TransferService, RpcClient<ParticipantServiceClient>>>,
): CarryOutOptions['runStep'] {
  return async (service, transfer, step) => {
    const request = { transfer: messageOf(transfer), step };
    const { completed } = await peers[service].call('runStep', request, { deadlineMs: stepMs });
    return completed;
  };
}

/** Whether agents that move have runs under way. */
export function isBusyAt(chat: RpcClient<ChatServiceClient>): CarryOutOptions['isBusy'] {
  return async ({ sourceTenantId: tenantId, items }) => {
    const moving = items.filter(({ type, action }) => type === 'agent' && action === 'move');
    const agentIds = moving.map(({ id }) => id);
    const { runs } = await chat.call('countOpenRuns', { tenantId, agentIds }, { deadlineMs: countMs });
    return runs > 0;
  };
}

function messageOf(transfer: Transfer) {
  const { id, mode, sourceTenantId, targetTenantId } = transfer;
  const { includeMemory, includeKnowledgeGraph, withSecrets } = transfer;
  return {
    ...{ id, mode, sourceTenantId, targetTenantId, includeMemory, includeKnowledgeGraph, withSecrets },
    items: transfer.items.map(({ type, id: ofId, ...item }) => ({ ref: { type, id: ofId }, ...item })),
  };
}
