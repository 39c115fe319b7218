import { writeDeletedAgent } from '@gatehouse/events/deletion-event';
import { whileOthersAreDown } from '@gatehouse/jobs/retry-delays';
import { defineTask, type JobHandler } from '@gatehouse/jobs/task';
import type { SendEvent } from '@gatehouse/shell/outbox-publisher';

/** Jobs sending deletions of agents until memory has them. */
export const agentTasks = {
  forget_agent: defineTask<{ agentId: string }>({
    retryAfterS: whileOthersAreDown,
    deadlineMs: 15_000,
    concurrency: 4,
    perTenant: 2,
  }),
};

/** Sends the deletion of an agent to memory, which removes what the agent remembered. */
export function forgetAgent(source: string, send: SendEvent): JobHandler<{ agentId: string }> {
  return ({ agentId }, { tenantId }) =>
    send(tenantId, writeDeletedAgent(source, { tenant_id: tenantId, agent_id: agentId }));
}
