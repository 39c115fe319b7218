import type { JobHandler } from '@gatehouse/jobs/task';
import type { ForgetStore } from '../store/forgetting/forget-store.ts';

/** Removes the memory of an agent that is marked as deleted. The agent may have come back since. */
export function removeMemory(store: ForgetStore): JobHandler<{ agentId: string }> {
  return async ({ agentId }, { tenantId, signal }) => {
    const key = { tenantId, agentId };
    while (!(await store.removeDeleted(key))) signal.throwIfAborted();
  };
}
