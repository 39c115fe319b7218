import { assertDescribable, maxDescribedIds } from '@gatehouse/grpc/described-ids';
import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import type { DescribeAgentsRequest, DescribeAgentsResponse } from '@gatehouse/proto/agent/v1/agent';
import type { AgentStore } from './agent-store.ts';

/** Returns names of a tenant's agents, whether or not they are active. */
export function describeAgents(
  agents: Pick<AgentStore, 'names' | 'keyed' | 'named'>,
): Rpc<DescribeAgentsRequest, DescribeAgentsResponse> {
  return {
    callers: ['analytics', 'tenant'],
    handle: async (request) => {
      assertDescribable(request);
      const { tenantId, ids, keys, namePrefix: prefix, onlyVisible, userId } = request;
      if (keys.length > maxDescribedIds)
        throw new AppError('invalid_value', `Invalid value for keys: at most ${maxDescribedIds}.`);
      const viewer = { tenantId, seesAll: !onlyVisible, user: userId === '' ? null : userId };
      if (prefix !== undefined)
        return { agents: await agents.named(viewer, { prefix, limit: maxDescribedIds }) };
      return { agents: await (keys.length > 0 ? agents.keyed(viewer, keys) : agents.names(viewer, ids)) };
    },
  };
}
