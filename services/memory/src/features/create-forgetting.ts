import { removeMemory } from '../jobs/remove.ts';
import type { UserDeletion } from '@gatehouse/shell/participant';
import { agentDeleted } from '../rpc/agent-deleted.ts';
import { ForgetStore } from '../store/forgetting/forget-store.ts';
import type { Ground } from './ground.ts';

/** Removal of what agents remember, once they or their users are deleted. */
export function createForgetting({ jobs }: Ground) {
  const removing = new ForgetStore(jobs);
  return {
    rpcs: { agentDeleted: agentDeleted(removing) },
    forgetUser: async (deletion: UserDeletion) => {
      const { completed, ...counts } = await removing.forgetUser(deletion);
      return { counts, completed };
    },
    jobs: { remove: removeMemory(removing) },
  };
}
