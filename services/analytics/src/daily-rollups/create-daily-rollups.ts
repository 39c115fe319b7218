import type { Pool } from '@gatehouse/pg/pool';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Shell } from '@gatehouse/shell/shell';
import type { AnalyticsConfig } from '../config.ts';
import { DailyRollupJob } from './daily-rollup-job.ts';
import { TenantZones } from './tenant-zone-client.ts';

/** Sums of days that are over, so that summaries read fewer rows. */
export function createDailyRollups(
  shell: Shell,
  { config, system: pool }: { config: AnalyticsConfig; system: Pool },
) {
  const { log, registry } = shell;
  const zones = new TenantZones(shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient));
  return { parts: [new DailyRollupJob({ pool, zones, log, registry })] };
}
