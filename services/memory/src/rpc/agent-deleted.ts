import type { Rpc } from '@gatehouse/grpc/rpc';
import type { AgentDeletedRequest, AgentDeletedResponse } from '@gatehouse/proto/memory/v1/memory';
import type { ForgetStore } from '../store/forgetting/forget-store.ts';

/** Removes the memory of a deleted agent. */
export function agentDeleted(forgetting: ForgetStore): Rpc<AgentDeletedRequest, AgentDeletedResponse> {
  return {
    callers: ['agent'],
    handle: async ({ tenantId, agentId }) => ({
      completed: await forgetting.forgetAgent({ tenantId, agentId }),
    }),
  };
}
