import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { anonymousBudget } from '@gatehouse/http/body-share';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { Refusals } from '@gatehouse/public-access/refusals';
import { createJobs } from '@gatehouse/shell/background-jobs';
import { createPools } from '@gatehouse/shell/pools';
import { publishedChanges } from '@gatehouse/shell/published-changes';
import type { Shell } from '@gatehouse/shell/shell';
import { followTenants } from '@gatehouse/shell/tenant-changes';
import { AgentClient } from './clients/agent-client.ts';
import { CompletionClient } from './clients/completion-client.ts';
import { TenantClient } from './clients/tenant-client.ts';
import { migrations, type WebhookConfig } from './config.ts';
import { forgetSecrets } from './secrets/secret-system-store.ts';
import { webhookSecrets } from './secrets/webhook-secrets.ts';
import { tasks } from './shared/tasks.ts';
import { minuteMs } from '@gatehouse/kit/bounds';

/** Shared by the features; each uses some of them. */
export type Ground = Omit<ReturnType<typeof createGround>, 'parts'>;

/** Pools, clients of other services, jobs, secrets, and the guarded egress to URLs of tenants. */
export function createGround(shell: Shell, config: WebhookConfig, inJobMs: number | undefined) {
  const { log, registry } = shell;
  const { DATABASE_URL: url, DATABASE_POOL: max, SECRETS_KEYRING: keyRing } = config;
  const { app, system, gate } = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { role: 'webhook_app', waits: 'tenants', max },
      system: { role: 'webhook_system', waits: 'all', max: Math.ceil(max / 2) },
      // Work for requests without a key, apart from all other work.
      gate: { role: 'webhook_system', waits: 'unproved', max: Math.ceil(max / 5) },
    },
  });
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const changes = publishedChanges(shell, { config, app, system });
  const guard = new Guard(config.EGRESS_ALLOW);
  const egress = new Egress({ guard });
  const refusals = new Refusals({ service: 'webhook', system: gate, log });
  const forgetting = new PeriodicWork({
    task: 'delete replaced secrets',
    log,
    everyMs: minuteMs,
    round: () => forgetSecrets({ app, system }),
  });
  return {
    parts: [...changes.idempotency.parts, egress, ...refusals.parts, forgetting],
    ...{ config, app, system, keyRing, changes, guard, egress, refusals },
    /** For requests without a key. */
    unauthenticatedPool: gate,
    agents: new AgentClient(shell.peer('agent', config.AGENT_GRPC, AgentServiceClient)),
    completions: new CompletionClient(chat, { signer: shell.signer, inJobMs }),
    tenants: new TenantClient(tenant, followTenants(shell, tenant)),
    ...createJobs(shell, tasks, system),
    secrets: webhookSecrets(keyRing),
    /** For unverified requests. */
    anonymousBudget: anonymousBudget(registry),
    /** For verified bodies, by their tenants. An eighth each: a few tenants can't fill it. */
    bodyBudget: new BodyBudget({
      perTenant: config.BODY_BYTES_PER_PROCESS / 8,
      perProcess: config.BODY_BYTES_PER_PROCESS,
    }),
  };
}
