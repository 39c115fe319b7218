import { topics } from '@gatehouse/contract/services';
import { rpcService } from '@gatehouse/grpc/rpc';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { AnalyticsServiceService } from '@gatehouse/proto/analytics/v1/analytics';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Shell } from '@gatehouse/shell/shell';
import { consumeTopic } from '@gatehouse/shell/topic-consumer';
import type { AnalyticsConfig } from './config.ts';
import { DailyRollupJob } from './daily-rollups/daily-rollup-job.ts';
import { RefusedDays } from './daily-rollups/refused-days-job.ts';
import { LateRefusals } from './forgetting/late-refusals-job.ts';
import { UsageConsumer } from './ingest/usage-consumer.ts';
import { groupRuns } from './preview/group-runs-rpc.ts';
import { Retention, type RetentionTimes } from './retention/retention-job.ts';
import { RollupJob } from './rollups/rollup-job.ts';
import { NamesClient } from './shared/names-client.ts';
import { TenantSettingsClient } from './shared/tenant-settings-client.ts';
import type { Stores } from './stores.ts';
import { Partitions } from './traces/partitions-job.ts';
import { traceHandlers } from './traces/trace-handlers.ts';
import { traceListHandlers } from './traces/trace-list-handlers.ts';
import { exportHandlers } from './usage/export-handlers.ts';
import { Freshness } from './usage/freshness-job.ts';
import { tenantsOwnNames } from './usage/group-names-client.ts';
import { ownerSummaryHandlers, summaryHandlers } from './usage/summary-handlers.ts';

interface FeatureOptions {
  config: AnalyticsConfig;
  stores: Stores;
  retentionTimes: Partial<RetentionTimes> | undefined;
  foldEveryMs: number | undefined;
}

/** Traces, usage and costs, the roll-ups these are read from, and the deletion of old rows. */
export function createFeatures(shell: Shell, options: FeatureOptions) {
  const { log, registry } = shell;
  const { config, stores, retentionTimes: times, foldEveryMs: everyMs } = options;
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const tenants = new TenantSettingsClient(tenant);
  const names = new NamesClient({ tenant, agent, log });
  const { refused, ownerUsage } = stores;
  const ingest = new UsageConsumer({ store: stores.ingest, deletions: stores.deletions, log, registry });
  // Stops after the consumer, to add the last runs.
  shell.add(new RollupJob({ store: stores.rollups, stored: () => ingest.stored, everyMs, log, registry }));
  consumeTopic(shell, { topic: topics.usage, config, take: (events) => ingest.take(events) });
  return {
    handlers: {
      ...traceHandlers({ runs: stores.traces, refused }, names),
      ...traceListHandlers({ runs: stores.traceList, refused }, names),
      ...summaryHandlers(stores.usage, tenantsOwnNames(names)),
      ...ownerSummaryHandlers(ownerUsage, names),
    },
    rawHandlers: exportHandlers({ costs: stores.costExports, ownerCosts: ownerUsage, names }),
    rpc: rpcService(AnalyticsServiceService, { groupRuns: groupRuns(stores.groupRuns) }),
    parts: [
      new Partitions(stores.partitions, log),
      new Retention({ store: stores.retention, tenants, log, registry, times }),
      ...stores.upkeep,
      new Freshness(stores.freshness, registry),
      new RefusedDays({ store: stores.refusedDays, zones: tenants, log }),
      new LateRefusals(stores.deletions, log).part,
      new DailyRollupJob({ store: stores.dailyRollups, zones: tenants, log, registry }),
    ],
  };
}
