import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { TransferPartiesOptions } from './parties.ts';
import type {
  ParticipantServiceClient,
  DescribeResponse,
  ResourceRef as SentRef,
} from '@gatehouse/proto/participant/v1/participant';
import type { CarryOutOptions, TransferService } from './carry-out-job.ts';
import type { Transfer } from './transfer.ts';
import { transferableTypes, type ResourceRef } from '@gatehouse/contract/transfers';
import { lookupDeadlineMs, workDeadlineMs } from '@gatehouse/kit/bounds';
import { stepMs } from '../bounds.ts';
import type { DescribeTransfer } from './transfer-plan.ts';

type Peers = Readonly<Record<TransferService, RpcClient<ParticipantServiceClient>>>;

/** `Describe` of every service with a part in transfers. The order of resources is the plan's. */
export function describeTransferAt({ agent, ...others }: Peers): DescribeTransfer {
  return async ({ include, resources, ...plan }) => {
    const request = {
      ...plan,
      resources: [...resources],
      includeMemory: include.memory,
      includeKnowledgeGraph: include.knowledge_graph,
    };
    const ofAgents = await agent.call('describe', request, { deadlineMs: workDeadlineMs });
    // The memory of a skipped agent stays in the source.
    const skipped = plan.onConflict === 'skip' ? ofAgents.conflicts.map(({ of }) => of?.id) : [];
    const withMemory = { ...request, resources: request.resources.filter(({ id }) => !skipped.includes(id)) };
    const ofOthers = await Promise.all([
      others.memory.call('describe', withMemory, { deadlineMs: workDeadlineMs }),
      others.webhook.call('describe', request, { deadlineMs: workDeadlineMs }),
    ]);
    const answers = [ofAgents, ...ofOthers];
    const all = <Part>(part: (answer: DescribeResponse) => readonly Part[]) => answers.flatMap(part);
    const counts = all((answer) => answer.counts);
    const described = all((answer) => answer.resources);
    return {
      resources: resources.flatMap((ref) => {
        const found = described.find((resource) => resource.ref?.id === ref.id);
        if (found?.ref === undefined) return [];
        const { name, revision, hasSecrets, models } = found;
        return [
          { ...refOf(found.ref), name, revision, hasSecrets, models, counts: countsOf(counts, ref.id) },
        ];
      }),
      dependencies: all((answer) => answer.dependencies).map(({ of, ofName, needs }) => ({
        of: { ...refOf(of), name: ofName },
        needs: refOf(needs),
      })),
      conflicts: all((answer) => answer.conflicts).map(({ of, existingId, freeName }) => ({
        ...refOf(of),
        ...{ existingId, freeName },
      })),
      problems: all((answer) => answer.problems),
    };
  };
}

function refOf(ref: SentRef | undefined): ResourceRef {
  const type = transferableTypes.find((each) => each === ref?.type);
  if (ref === undefined || type === undefined) throw new Error('a participant has named no resource');
  return { type, id: ref.id };
}

function countsOf(all: DescribeResponse['counts'], id: string): Record<string, number> {
  const own = all.filter(({ of }) => of?.id === id).flatMap(({ counts }) => Object.entries(counts));
  return Object.fromEntries(own.map(([kind, count]) => [kind, Number(count)]));
}

/** `RunStep` of the services with a part in transfers. */
export function runStepAt(peers: Peers): CarryOutOptions['runStep'] {
  return async (service, transfer, step) => {
    const request = { transfer: messageOf(transfer), step };
    const { completed } = await peers[service].call('runStep', request, { deadlineMs: stepMs });
    return completed;
  };
}

/** Whether moving agents have runs under way. */
export function isBusyAt(chat: RpcClient<ChatServiceClient>): CarryOutOptions['isBusy'] {
  return async ({ sourceTenantId: tenantId, items }) => {
    const moving = items.filter(({ type, action }) => type === 'agent' && action === 'move');
    const agentIds = moving.map(({ id }) => id);
    const { runs } = await chat.call(
      'countOpenRuns',
      { tenantId, agentIds },
      { deadlineMs: lookupDeadlineMs },
    );
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

/** The models of the catalogue that a tenant can't use, as chat knows them. */
export function unusableModelsAt(chat: RpcClient<ChatServiceClient>): TransferPartiesOptions['unusable'] {
  return async (tenantId, models) => {
    const request = { tenantId, ids: [...models] };
    const { unknownIds } = await chat
      .call('checkModels', request, { deadlineMs: lookupDeadlineMs })
      .catch(hangIsOutage);
    return unknownIds;
  };
}
