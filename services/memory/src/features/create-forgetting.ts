import { removeMemory } from '../jobs/remove.ts';
import { agentDeleted } from '../rpc/agent-deleted.ts';
import { forgetUser } from '../rpc/forget-user.ts';
import { ForgetStore } from '../store/forgetting/forget-store.ts';
import type { Ground } from './ground.ts';

/** Removal of what agents remember, once they or their users are deleted. */
export function createForgetting({ jobs }: Ground) {
  const removing = new ForgetStore(jobs);
  return {
    rpcs: { agentDeleted: agentDeleted(removing), forgetUser: forgetUser(removing) },
    jobs: { remove: removeMemory(removing) },
  };
}
