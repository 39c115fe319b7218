import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { usageTopic } from '@gatehouse/events/run-event';
import { kafkaPlace } from '@gatehouse/events/settings';
import { rpcService } from '@gatehouse/grpc/rpc';
import { AnalyticsServiceService } from '@gatehouse/proto/analytics/v1/analytics';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Part } from '@gatehouse/service/compose';
import { createPools, forTenants } from '@gatehouse/service/pools';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { migrations, type AnalyticsConfig } from './config.ts';
import { Freshness } from './usage/freshness-job.ts';
import { summaryHandlers } from './usage/summary-handlers.ts';
import { traceHandlers } from './traces/trace-handlers.ts';
import { Ingest } from './ingest/usage-topic.ts';
import { Partitions } from './traces/partitions-job.ts';
import { TenantRetention } from './retention/tenant-retention-peer.ts';
import { ForgottenUsers } from './forgetting/forgotten-users.ts';
import { Retention, type RetentionTimes } from './retention/retention-job.ts';
import { forgetUser } from './forgetting/forget-user-rpc.ts';
import { ingestEvents } from './ingest/ingest-rpc.ts';
import { TraceStore } from './traces/trace-store.ts';
import { UsageStore } from './usage/usage-store.ts';

/** What a test may replace. */
export interface AnalyticsOverrides extends ShellOverrides {
  /** The schedule of the deletion of expired traces. */
  retentionTimes?: Partial<RetentionTimes>;
  /** How long a deletion of a user is not complete, since events may be written late. */
  forgetSettleMs?: number;
}

/** The analytics service: stores events of runs, and answers with traces and usage. Opens nothing before `start`. */
export async function createAnalyticsService(
  config: AnalyticsConfig,
  overrides: AnalyticsOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('analytics', config, overrides);
  const { log, registry } = shell;
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const half = Math.ceil(max / 2);
  const pools = createPools(shell, {
    url,
    migrations,
    readyAs: 'analytics_app',
    pools: {
      system: { role: 'analytics_system', max },
      app: { role: 'analytics_app', max: forTenants(half) },
      // A separate pool: summaries may take seconds, and other reads must not wait for them.
      summaries: { role: 'analytics_app', max: half },
    },
  });
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const pool = pools.system;
  const ingest = new Ingest({ pool, log, registry });
  const tenants = new TenantRetention(tenant);
  const times = overrides.retentionTimes;
  const forgotten = new ForgottenUsers({ pool, log, settleMs: overrides.forgetSettleMs });
  return shell.createService({
    handler: shell.createApp({
      handlers: {
        ...traceHandlers(new TraceStore(pools.app)),
        ...summaryHandlers(new UsageStore(pools.summaries)),
      },
    }),
    rpcs: [
      rpcService(AnalyticsServiceService, {
        ingest: ingestEvents(ingest),
        forgetUser: forgetUser(forgotten),
      }),
    ],
    parts: [
      new Partitions(pool, log),
      new Retention({ pool, tenants, log, registry, times }),
      forgotten,
      new Freshness(pools.app, registry),
      ...consumers(shell, config, ingest),
    ],
  });
}

function consumers({ log, registry }: Shell, config: AnalyticsConfig, ingest: Ingest): Part[] {
  const kafka = kafkaPlace(config, usageTopic);
  if (kafka === null) return [];
  const { brokers, topic, prefix } = kafka;
  const groupId = `${prefix}gatehouse-analytics`;
  return [
    new KafkaConsumer({
      log,
      registry,
      groupId,
      brokers,
      topic,
      handle: (messages) => ingest.take(messages),
    }),
  ];
}
