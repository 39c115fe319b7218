import { topics } from '@gatehouse/contract/services';
import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { eventSender } from '@gatehouse/shell/outbox-publisher';
import type { Shell } from '@gatehouse/shell/shell';
import type { Ground } from '../shared/ground.ts';
import { agentHandlers } from './agent-handlers.ts';
import { AgentStore } from './agent-store.ts';
import { agentTasks, forgetAgent } from './forget-agent-job.ts';
import { listVisibleAgents } from './list-visible-agents-rpc.ts';
import { ModelClient } from './model-client.ts';
import { resolveAgent } from './resolve-agent-rpc.ts';

/** Agents, their visibility, and the job that sends their deletions to memory. */
export function createAgents(shell: Shell, { config, app, system, rpc, changes }: Ground) {
  const { log, registry } = shell;
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const jobs = new Jobs({ service: 'agent', tasks: agentTasks, system, log });
  const rpcStore = new AgentStore(rpc);
  const source = 'gatehouse/agent/deletions';
  const toMemory = { consumer: config.MEMORY_GRPC, consumerName: 'memory' } as const;
  // Without Kafka, so that a job ends once memory has the deletion: nothing would repeat an event that is lost later.
  const direct = { ...config, KAFKA_BROKERS: undefined };
  const send = eventSender(shell, { config: direct, source, topic: topics.deletions, ...toMemory });
  const forget_agent = forgetAgent(source, send);
  const drainTimeoutMs = config.DRAIN_TIMEOUT_MS;
  return {
    handlers: agentHandlers({ agents: new AgentStore(app), models: new ModelClient(chat), changes, jobs }),
    rpcs: { resolveAgent: resolveAgent(rpcStore), listVisibleAgents: listVisibleAgents(rpcStore) },
    parts: [new JobWorker({ jobs, handlers: { forget_agent }, log, registry, drainTimeoutMs })],
  };
}
