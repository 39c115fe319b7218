import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import { maxDescribedIds } from '@gatehouse/grpc/described-ids';
import type { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';

/** Finds the ids of a tenant's agents by their keys; unknown keys are left out. Throws in an outage. */
export type FindAgentIds = (
  tenantId: string,
  keys: readonly string[],
  caller: Pick<CallContext, 'requestId' | 'trace'>,
) => Promise<ReadonlyMap<string, string>>;

/** Asks the agent service. */
export function findAgentIds(agent: RpcClient<AgentServiceClient>): FindAgentIds {
  return async (tenantId, keys, { requestId, trace }) => {
    const ids = new Map<string, string>();
    const context = { deadlineMs: lookupDeadlineMs, requestId, trace };
    for (let at = 0; at < keys.length; at += maxDescribedIds) {
      const request = { tenantId, ids: [], keys: keys.slice(at, at + maxDescribedIds) };
      const { agents } = await agent.call('describeAgents', { ...request, ...everyAgent }, context);
      for (const { id, key } of agents) ids.set(key, id);
    }
    return ids;
  };
}

/** Also private agents. */
const everyAgent = { onlyVisible: false, userId: '' };
