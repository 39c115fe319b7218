import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Shell } from '@gatehouse/shell/shell';
import { followTenants } from '@gatehouse/shell/tenant-changes';
import type { ChatConfig } from '../config.ts';

/** The services called by chat. It is ready once it has reached tenant and agent. */
export function createPeers(shell: Shell, config: ChatConfig) {
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  // Not required: agents answer without memory.
  const memory = shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient);
  shell.require('tenant', () => tenant.reached);
  shell.require('agent', () => agent.reached);
  return { tenant, changes: followTenants(shell, tenant), agent, memory };
}

export type Peers = ReturnType<typeof createPeers>;
