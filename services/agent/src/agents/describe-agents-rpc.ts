import { assertDescribable, maxDescribedIds } from '@gatehouse/grpc/described-ids';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { DescribeAgentsRequest, DescribeAgentsResponse } from '@gatehouse/proto/agent/v1/agent';
import type { AgentStore } from './agent-store.ts';

/** Returns names of a tenant's agents, whether or not they are active. */
export function describeAgents(
  agents: Pick<AgentStore, 'names' | 'named'>,
): Rpc<DescribeAgentsRequest, DescribeAgentsResponse> {
  return {
    callers: ['analytics', 'tenant'],
    handle: async (request) => {
      assertDescribable(request);
      const { tenantId, ids, namePrefix: prefix, onlyVisible, userId } = request;
      const viewer = { tenantId, seesAll: !onlyVisible, user: userId === '' ? null : userId };
      const named = prefix !== undefined && agents.named(viewer, { prefix, limit: maxDescribedIds });
      return { agents: await (named || agents.names(viewer, ids)) };
    },
  };
}
