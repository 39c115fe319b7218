import type { Changes } from '@gatehouse/changes/changes';
import type { Pool } from '@gatehouse/pg/pool';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
import { publishedAlerts, type RaiseAlert } from '@gatehouse/service/published-alerts';
import { publishedChanges } from '@gatehouse/service/published-changes';
import type { Shell } from '@gatehouse/service/shell';
import type { AgentConfig } from '../config.ts';

/** Administrative changes, whose audit entries go to tenant, and alerts, which go to webhook. */
export function createOutboxes(
  shell: Shell,
  { config, app, system }: { config: AgentConfig; app: Pool; system: Pool },
): { changes: Changes; raise: RaiseAlert } {
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const webhook = shell.peer('webhook', config.WEBHOOK_GRPC, WebhookServiceClient);
  const changes = publishedChanges(shell, { config, app, system, tenant });
  const { raise } = publishedAlerts(shell, config, webhook);
  return { changes, raise };
}
