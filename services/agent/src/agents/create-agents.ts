import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { Shell } from '@gatehouse/shell/shell';
import type { Ground } from '../shared/ground.ts';
import { agentHandlers } from './agent-handlers.ts';
import { AgentStore } from './agent-store.ts';
import { agentTasks, forgetAgent } from './forget-agent-job.ts';
import { listVisibleAgents } from './list-visible-agents-rpc.ts';
import { forgetMemoryAt } from './memory-client.ts';
import { ModelClient } from './model-client.ts';
import { resolveAgent } from './resolve-agent-rpc.ts';

/** Agents, their visibility, and the job that removes what they remembered. */
export function createAgents(shell: Shell, { config, app, system, rpc, changes }: Ground) {
  const { log, registry } = shell;
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const memory = shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient);
  const jobs = new Jobs({ service: 'agent', tasks: agentTasks, system, log });
  const rpcStore = new AgentStore(rpc);
  const forget_agent = forgetAgent({
    forgetMemory: forgetMemoryAt(memory),
    again: ({ tenantId, agentId }) => jobs.add(system, { task: 'forget_agent', tenantId, ids: { agentId } }),
  });
  const drainTimeoutMs = config.DRAIN_TIMEOUT_MS;
  return {
    handlers: agentHandlers({ agents: new AgentStore(app), models: new ModelClient(chat), changes, jobs }),
    rpcs: { resolveAgent: resolveAgent(rpcStore), listVisibleAgents: listVisibleAgents(rpcStore) },
    parts: [new JobWorker({ jobs, handlers: { forget_agent }, log, registry, drainTimeoutMs })],
  };
}
