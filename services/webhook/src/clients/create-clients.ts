import type { Pool } from '@gatehouse/pg/pool';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { publishedChanges } from '@gatehouse/shell/published-changes';
import type { Shell } from '@gatehouse/shell/shell';
import { followTenants } from '@gatehouse/shell/tenant-changes';
import type { WebhookConfig } from '../config.ts';
import { AgentClient } from './agent-client.ts';
import { CompletionClient } from './completion-client.ts';
import { TenantClient } from './tenant-client.ts';

/** The services that this one calls, and administrative changes, which it publishes to the tenant service. */
export function createClients(
  shell: Shell,
  {
    config,
    app,
    system,
    inJobMs,
  }: {
    config: WebhookConfig;
    app: Pool;
    system: Pool;
    inJobMs: number | undefined;
  },
) {
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const changes = publishedChanges(shell, { config, app, system });
  return {
    parts: [changes.idempotency],
    agents: new AgentClient(agent),
    completions: new CompletionClient(chat, { signer: shell.signer, inJobMs }),
    tenants: new TenantClient(tenant, followTenants(shell, tenant)),
    changes,
  };
}
