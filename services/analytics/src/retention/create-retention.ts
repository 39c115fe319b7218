import type { Pool } from '@gatehouse/pg/pool';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Shell } from '@gatehouse/shell/shell';
import type { AnalyticsConfig } from '../config.ts';
import { Retention, type RetentionOptions } from './retention-job.ts';
import { TenantRetention } from './tenant-retention-client.ts';

/** The deletion of traces that are older than their tenants keep them. */
export function createRetention(
  shell: Shell,
  {
    config,
    system: pool,
    times,
  }: { config: AnalyticsConfig; system: Pool; times: RetentionOptions['times'] },
) {
  const { log, registry } = shell;
  const tenants = new TenantRetention(shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient));
  return { parts: [new Retention({ pool, tenants, log, registry, times })] };
}
