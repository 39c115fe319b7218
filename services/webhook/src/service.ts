import { Guard } from '@gatehouse/egress/guard';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { createPools } from '@gatehouse/service/pools';
import { publishedChanges } from '@gatehouse/service/published-changes';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { migrations, type WebhookConfig } from './config.ts';
import { endpointHandlers } from './http/endpoints.ts';
import { EndpointSecrets } from './inbound/endpoint-secrets.ts';
import { AgentClient } from './peers/agents.ts';
import { EndpointStore } from './store/endpoint-store.ts';

/** The webhook service: endpoints for webhooks that trigger agents. Opens nothing before `start`. */
export async function createWebhookService(
  config: WebhookConfig,
  overrides: ShellOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('webhook', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const { app, system } = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { role: 'webhook_app', max },
      system: { role: 'webhook_system', max: Math.ceil(max / 2) },
    },
  });
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const changes = publishedChanges(shell, { config, app, system, tenant });
  const { idempotency } = changes;
  return shell.createService({
    handler: shell.createApp({
      handlers: endpointHandlers({
        endpoints: new EndpointStore(app),
        agents: new AgentClient(agent),
        guard: new Guard(config.EGRESS_ALLOW),
        secrets: new EndpointSecrets(config.SECRETS_KEYRING),
        changes,
        allowToken: config.WEBHOOK_ALLOW_TOKEN,
      }),
      idempotency,
    }),
    rpcs: [],
    parts: [idempotency],
  });
}
