import type { DeletedAgentEvent } from '@gatehouse/events/deletion-event';
import type { JobHandler } from '@gatehouse/jobs/task';
import type { UserDeletion } from '@gatehouse/shell/deletion-inbox';
import { agentDeleted } from '../rpc/agent-deleted.ts';
import { ForgetStore } from '../store/forgetting/forget-store.ts';
import type { Ground } from './ground.ts';

/** Removal of what agents remember, once they or their users are deleted. */
export function createForgetting({ jobs, requestJob }: Ground) {
  const removing = new ForgetStore(jobs);
  const requestRemoval = requestJob('remove');
  /** Removes the memory of an agent marked as deleted. The agent may have come back since. */
  const remove: JobHandler<{ agentId: string }> = async ({ agentId }, { tenantId, signal }) => {
    while (!(await removing.removeDeleted({ tenantId, agentId }))) signal.throwIfAborted();
  };
  return {
    rpcs: { agentDeleted: agentDeleted(removing) },
    forgetUser: async (deletion: UserDeletion) => {
      const { completed, ...counts } = await removing.forgetUser(deletion);
      return { counts, completed };
    },
    forgetAgent: ({ tenant_id: tenantId, agent_id: agentId }: DeletedAgentEvent) =>
      removing.closeAgent({ tenantId, agentId }, requestRemoval),
    jobs: { remove },
  };
}
