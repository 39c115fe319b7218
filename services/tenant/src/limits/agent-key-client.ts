import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';

/** Finds the key of a tenant's agent, by which policies may select it; empty for an unknown one. */
export type FindAgentKey = (
  tenantId: string,
  agentId: string,
  caller: Pick<CallContext, 'requestId' | 'trace'>,
) => Promise<string>;

export function agentKeyOf(agent: RpcClient<AgentServiceClient>): FindAgentKey {
  return async (tenantId, agentId, { requestId, trace }) => {
    const request = { tenantId, ids: [agentId], keys: [], onlyVisible: false, userId: '' };
    const context = { deadlineMs: lookupDeadlineMs, requestId, trace };
    const { agents } = await agent.call('describeAgents', request, context);
    return agents.find(({ id }) => id === agentId)?.key ?? '';
  };
}
