import type { Rpc } from '@gatehouse/grpc/rpc';
import type { DescribeRequest, DescribeResponse, Problem } from '@gatehouse/proto/participant/v1/participant';
import { countsOf, idsOf } from '@gatehouse/transfers/describe';
import type { MemoryLimitsClient } from '../clients/memory-limits.ts';
import type { TransferStore } from '../store/transfers/transfer-store.ts';

/** Describes the effect of a transfer on the memory and the knowledge graph of agents. */
export function describeTransfer(
  store: TransferStore,
  limits: MemoryLimitsClient,
): Rpc<DescribeRequest, DescribeResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ sourceTenantId, targetTenantId, resources, includeMemory, includeKnowledgeGraph }) => {
      const agentIds = idsOf(resources, 'agent');
      const described = (await store.find(sourceTenantId, agentIds)).map((memory) => ({
        ...{ agentId: memory.agentId, bytes: includeMemory ? memory.bytes : 0 },
        counts: {
          ...(includeMemory && { documents: memory.documents, passages: memory.passages }),
          ...(includeKnowledgeGraph && { entities: memory.entities, relations: memory.relations }),
        },
      }));
      const sumOf = (kind: 'documents' | 'entities') =>
        described.reduce((sum, { counts }) => sum + (counts[kind] ?? 0), 0);
      const bytes = described.reduce((sum, memory) => sum + memory.bytes, 0);
      const more = { documents: sumOf('documents'), bytes, entities: sumOf('entities') };
      const isAsked = targetTenantId !== '' && more.documents + more.entities > 0;
      return {
        ...{ resources: [], dependencies: [], conflicts: [] },
        counts: described.map(({ agentId, counts }) => countsOf({ type: 'agent', id: agentId }, counts)),
        problems: isAsked ? await beyond(targetTenantId, more) : [],
      };
    },
  };

  async function beyond(
    tenantId: string,
    more: Record<'documents' | 'bytes' | 'entities', number>,
  ): Promise<Problem[]> {
    const [most, used] = await Promise.all([limits.limitsOf(tenantId), store.usage(tenantId)]);
    return (['documents', 'bytes', 'entities'] as const).flatMap((kind) => {
      const limit = most[kind];
      if (more[kind] === 0 || limit === null || Number(used[kind]) + more[kind] <= limit) return [];
      return [{ code: 'limit_reached', message: `The target may have ${limit} ${kind} in memory.` }];
    });
  }
}
