import { topics } from '@gatehouse/contract/services';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { createJobs } from '@gatehouse/shell/background-jobs';
import { eventSender } from '@gatehouse/shell/outbox-publisher';
import type { Shell } from '@gatehouse/shell/shell';
import { UserIdLookup } from '@gatehouse/shell/user-id-lookup';
import type { Ground } from '../ground.ts';
import { agentHandlers } from './agent-handlers.ts';
import { AgentStore } from './agent-store.ts';
import { describeAgents } from './describe-agents-rpc.ts';
import { agentTasks, forgetAgent } from './forget-agent-job.ts';
import { listVisibleAgents } from './list-visible-agents-rpc.ts';
import { McpRefStore } from './mcp-ref-store.ts';
import { ModelClient } from './model-client.ts';
import { resolveAgent } from './resolve-agent-rpc.ts';

/** Agents, their visibility, and the job reporting their deletions to memory. */
export function createAgents(shell: Shell, { config, app, system, rpc, changes }: Ground) {
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const { jobs, worker } = createJobs(shell, agentTasks, system);
  const appStore = new AgentStore(app);
  const rpcStore = new AgentStore(rpc);
  const source = 'gatehouse/agent/deletions';
  const toMemory = { consumer: config.MEMORY_GRPC, consumerName: 'memory' } as const;
  // Without Kafka: the job ends only once memory has the deletion. Nothing would repeat an event lost later.
  const direct = { ...config, KAFKA_BROKERS: undefined };
  const send = eventSender(shell, { config: direct, source, topic: topics.deletions, ...toMemory });
  return {
    handlers: agentHandlers({
      ...{ agents: appStore, mcpRefs: new McpRefStore(app) },
      ...{ models: new ModelClient(chat), userIds: new UserIdLookup(tenant), changes, jobs },
    }),
    rpcs: {
      resolveAgent: resolveAgent(rpcStore),
      listVisibleAgents: listVisibleAgents(rpcStore),
      describeAgents: describeAgents(appStore),
    },
    parts: [worker({ forget_agent: forgetAgent(source, send) })],
  };
}
