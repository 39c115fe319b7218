import { whileOthersAreDown } from '@gatehouse/jobs/retry-delays';
import { defineTask, type JobHandler } from '@gatehouse/jobs/task';

/** An agent that was deleted. */
export interface DeletedAgent {
  tenantId: string;
  agentId: string;
}

/** Jobs that remove what other services hold of deleted agents. */
export const agentTasks = {
  forget_agent: defineTask<{ agentId: string }>({
    retryAfterS: whileOthersAreDown,
    deadlineMs: 15_000,
    concurrency: 4,
    perTenant: 2,
  }),
};

export interface ForgetAgentOptions {
  /** Removes a batch of the agent's memory. Returns false when more is to be removed. Throws during an outage. */
  forgetMemory: (agent: DeletedAgent) => Promise<boolean>;
  /** Adds another job. */
  again: (agent: DeletedAgent) => Promise<unknown>;
}

/** Removes the memory of a deleted agent, a batch in each job. */
export function forgetAgent({ forgetMemory, again }: ForgetAgentOptions): JobHandler<{ agentId: string }> {
  return async ({ agentId }, { tenantId }) => {
    const agent = { tenantId, agentId };
    if (!(await forgetMemory(agent))) await again(agent);
  };
}
