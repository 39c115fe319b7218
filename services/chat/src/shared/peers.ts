import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
import type { Shell } from '@gatehouse/service/shell';
import type { ChatConfig } from '../config.ts';

/** The services that chat calls. It is ready once it has reached tenant and agent. */
export function createPeers(shell: Shell, config: ChatConfig) {
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const analytics = shell.peer('analytics', config.ANALYTICS_GRPC, AnalyticsServiceClient);
  // Not required: agents answer without memory.
  const memory = shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient);
  const webhook = shell.peer('webhook', config.WEBHOOK_GRPC, WebhookServiceClient);
  shell.require('tenant', () => tenant.reached);
  shell.require('agent', () => agent.reached);
  return { tenant, agent, analytics, memory, webhook };
}

export type Peers = ReturnType<typeof createPeers>;
