import { transferableTypes, type ResourceRef } from '@gatehouse/contract/transfers';
import type { RpcClient } from '@gatehouse/grpc/client';
import type {
  DescribeResponse,
  ResourceRef as SentRef,
  ParticipantServiceClient,
} from '@gatehouse/proto/participant/v1/participant';
import type { TransferService } from './carry-out-job.ts';
import type { DescribeTransfer } from './transfer-plan.ts';

/** Counting what an agent remembers may take a moment. */
const deadlineMs = 10_000;

/** `Describe` of every service that has a part in transfers. The order of resources is that of the plan. */
export function describeTransferAt({
  agent,
  ...others
}: Readonly<Record<TransferService, RpcClient<ParticipantServiceClient>>>): DescribeTransfer {
  return async ({ include, resources, ...plan }) => {
    const request = {
      ...plan,
      resources: [...resources],
      includeMemory: include.memory,
      includeKnowledgeGraph: include.knowledge_graph,
    };
    const ofAgents = await agent.call('describe', request, { deadlineMs });
    // The memory of a skipped agent stays in the source.
    const skipped = plan.onConflict === 'skip' ? ofAgents.conflicts.map(({ of }) => of?.id) : [];
    const withMemory = { ...request, resources: request.resources.filter(({ id }) => !skipped.includes(id)) };
    const ofOthers = await Promise.all([
      others.memory.call('describe', withMemory, { deadlineMs }),
      others.webhook.call('describe', request, { deadlineMs }),
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
