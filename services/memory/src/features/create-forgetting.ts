import type { DeletedAgentEvent } from '@gatehouse/events/deletion-event';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { JobHandler } from '@gatehouse/jobs/task';
import type { AgentDeletedRequest, AgentDeletedResponse } from '@gatehouse/proto/memory/v1/memory';
import type { UserDeletion } from '@gatehouse/shell/deletion-inbox';
import { ForgetStore } from '../store/forgetting/forget-store.ts';
import type { Ground } from './ground.ts';

/** Removal of what agents remember, once they or their users are deleted. */
export function createForgetting({ jobs, requestJob }: Ground) {
  const removing = new ForgetStore(jobs);
  const requestRemoval = requestJob('remove');
  const agentDeleted: Rpc<AgentDeletedRequest, AgentDeletedResponse> = {
    callers: ['agent'],
    handle: async (key) => ({ completed: await removing.forgetAgent(key) }),
  };
  /** Removes the memory of an agent that is marked as deleted. The agent may have come back since. */
  const remove: JobHandler<{ agentId: string }> = async ({ agentId }, { tenantId, signal }) => {
    while (!(await removing.removeDeleted({ tenantId, agentId }))) signal.throwIfAborted();
  };
  return {
    rpcs: { agentDeleted },
    forgetUser: async (deletion: UserDeletion) => {
      const { completed, ...counts } = await removing.forgetUser(deletion);
      return { counts, completed };
    },
    forgetAgent: ({ tenant_id: tenantId, agent_id: agentId }: DeletedAgentEvent) =>
      removing.closeAgent({ tenantId, agentId }, requestRemoval),
    jobs: { remove },
  };
}
