import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Shell } from '@gatehouse/shell/shell';
import { followTenants } from '@gatehouse/shell/tenant-changes';
import { UserIdLookup } from '@gatehouse/shell/user-id-lookup';
import type { MemoryConfig } from '../config.ts';
import { MemoryAgents } from './agents.ts';
import { CompletionClient } from './completions.ts';
import { Embedder } from './embedder.ts';
import { MemoryLimitsClient } from './memory-limits.ts';

export type Peers = ReturnType<typeof createPeers>;

/** The services this one calls. */
export function createPeers(shell: Shell, config: MemoryConfig) {
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  return {
    agents: new MemoryAgents(agent),
    userIds: new UserIdLookup(tenant),
    limits: new MemoryLimitsClient(tenant, followTenants(shell, tenant)),
    embedder: new Embedder(chat, shell.signer),
    completions: new CompletionClient(chat),
  };
}
