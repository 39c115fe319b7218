import { rpcService } from '@gatehouse/grpc/server';
import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import { AgentServiceService } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { createPools } from '@gatehouse/service/pools';
import { publishedChanges } from '@gatehouse/service/published-changes';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { migrations, type AgentConfig } from './config.ts';
import { agentTasks, forgetAgent, type DeletedAgent } from './agents/deleted-agents.ts';
import { agentHandlers } from './http/agents.ts';
import { forgetMemoryAt } from './peers/memory.ts';
import { ModelClient } from './peers/models.ts';
import { listVisibleAgents } from './rpc/list-visible-agents.ts';
import { resolveAgent } from './rpc/resolve-agent.ts';
import { AgentStore } from './store/agent-store.ts';

/** The agent service: the agents of tenants and their visibility. Opens nothing before `start`. */
export async function createAgentService(
  config: AgentConfig,
  overrides: ShellOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('agent', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const half = Math.ceil(max / 2);
  const { app, system, rpc } = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { role: 'agent_app', max: half },
      system: { role: 'agent_system', max: half },
      // A separate pool: completions wait for RPCs, which must not wait for a slow list.
      rpc: { role: 'agent_app', max },
    },
  });
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const memory = shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient);
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const changes = publishedChanges(shell, { config, app, system, tenant });
  const { idempotency } = changes;
  const { log, registry } = shell;
  const jobs = new Jobs({ service: 'agent', tasks: agentTasks, system, log });
  const addForgetJob = ({ tenantId, agentId }: DeletedAgent) =>
    jobs.add(system, { task: 'forget_agent', tenantId, ids: { agentId } });
  const agentsOfRpcs = new AgentStore(rpc);
  return shell.createService({
    handler: shell.createApp({
      handlers: agentHandlers({ agents: new AgentStore(app), models: new ModelClient(chat), changes, jobs }),
      idempotency,
    }),
    rpcs: [
      rpcService(AgentServiceService, {
        resolveAgent: resolveAgent(agentsOfRpcs),
        listVisibleAgents: listVisibleAgents(agentsOfRpcs),
      }),
    ],
    parts: [
      new JobWorker({
        jobs,
        handlers: {
          forget_agent: forgetAgent({ forgetMemory: forgetMemoryAt(memory), again: addForgetJob }),
        },
        log,
        registry,
        drainTimeoutMs: config.DRAIN_TIMEOUT_MS,
      }),
      idempotency,
    ],
  });
}
