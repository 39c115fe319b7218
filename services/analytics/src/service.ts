import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { usageTopic } from '@gatehouse/events/run-event';
import { kafkaPlace } from '@gatehouse/events/settings';
import { Peer } from '@gatehouse/grpc/client';
import { GrpcServer } from '@gatehouse/grpc/server';
import { createApp } from '@gatehouse/http/app';
import { bodyBudget } from '@gatehouse/http/body-share';
import { HttpServer } from '@gatehouse/http/server';
import { unreadByEdge } from '@gatehouse/http/unread-responses';
import { Signer } from '@gatehouse/identity/signer';
import { Verifier } from '@gatehouse/identity/verifier';
import { composeService, together, type Part } from '@gatehouse/kit/compose';
import { createTracer } from '@gatehouse/kit/create-tracer';
import type { Service } from '@gatehouse/kit/lifecycle';
import { createLogger, type Logger } from '@gatehouse/kit/log';
import { createRegistry, httpDuration, rpcDuration, type Registry } from '@gatehouse/kit/metrics';
import { DatabaseCheck } from '@gatehouse/pg/database-check';
import { createPool } from '@gatehouse/pg/pool';
import { observePools } from '@gatehouse/pg/pool-metrics';
import { schemaCheck } from '@gatehouse/pg/schema-check';
import { AnalyticsServiceService } from '@gatehouse/proto/analytics/v1/analytics';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { migrationsDirectory, type AnalyticsConfig } from './config.ts';
import { Freshness } from './freshness.ts';
import { summaryHandlers } from './http/summaries.ts';
import { traceHandlers } from './http/traces.ts';
import { Ingest } from './ingest/ingest.ts';
import { Partitions } from './ingest/partitions.ts';
import { TenantRetention } from './peers/tenant-retention.ts';
import { Retention, type RetentionTimes } from './retention/retention.ts';
import { ingestEvents } from './rpc/ingest.ts';
import { TraceStore } from './store/trace-store.ts';
import { UsageStore } from './store/usage-store.ts';

export interface AnalyticsService extends Service {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly adminPort: number;
}

/** What tests may set otherwise. */
export interface AnalyticsOverrides {
  /** When traces that are kept no longer are deleted. */
  retentionTimes?: Partial<RetentionTimes>;
}

/** The analytics service: takes in what happened to runs and answers what it came to. Nothing is opened before `start`. */
export async function createAnalyticsService(
  config: AnalyticsConfig,
  overrides: AnalyticsOverrides = {},
): Promise<AnalyticsService> {
  const service = 'analytics';
  const { HOST: host, DRAIN_TIMEOUT_MS: drainTimeoutMs, DATABASE_URL: url, DATABASE_POOL: max } = config;
  const log = createLogger(service, config.LOG_LEVEL);
  const registry = createRegistry(service);
  const tracer = await createTracer(service, config, log);
  const signer = await Signer.create(config.ASSERTION_PRIVATE_KEY);
  const verifier = await Verifier.create(config.ASSERTION_PUBLIC_KEYS);

  // Apart: summaries, which may take seconds, and what else reads.
  const half = Math.ceil(max / 2);
  const reading = createPool({ url, role: 'analytics_app', max: half, log });
  const summing = createPool({ url, role: 'analytics_app', max: half, log });
  const writing = createPool({ url, role: 'analytics_system', max, log });
  const database = new DatabaseCheck({ url, role: 'analytics_app', log });
  observePools(registry, { app: reading, summaries: summing, system: writing });
  const ingest = new Ingest({ pool: writing, log, registry });
  const tenant = new Peer({
    peer: 'tenant',
    addresses: config.TENANT_GRPC,
    stub: TenantServiceClient,
    signer,
    tracer,
    duration: rpcDuration(registry),
  });
  const retention = new Retention({
    pool: writing,
    tenants: new TenantRetention(tenant),
    log,
    registry,
    times: overrides.retentionTimes,
  });

  const app = createApp({
    service,
    handlers: { ...traceHandlers(new TraceStore(reading)), ...summaryHandlers(new UsageStore(summing)) },
    verifier,
    bodyBudget: bodyBudget(config, registry),
    log,
    duration: httpDuration(registry),
    tracer,
  });
  const unread = unreadByEdge(config.UNREAD_TIMEOUT_MS, log, registry);
  const http = new HttpServer(app, { host, port: config.HTTP_PORT, drainTimeoutMs, unread });
  const grpc = new GrpcServer({
    service,
    host,
    port: config.GRPC_PORT,
    verifier,
    log,
    drainTimeoutMs,
    tracer,
  }).add(AnalyticsServiceService, { ingest: ingestEvents(ingest) });

  const composed = composeService({
    log,
    registry,
    config,
    parts: [
      { stop: () => tracer?.stop() },
      { stop: () => reading.end() },
      { stop: () => summing.end() },
      { stop: () => writing.end() },
      database,
      schemaCheck({ pool: writing, service, directory: migrationsDirectory, log }),
      new Partitions(writing, log),
      { stop: () => tenant.close() },
      retention,
      new Freshness(reading, registry),
      ...consumers(config, ingest, { log, registry }),
      together(grpc, http),
      { start: () => log.info({ http_port: http.port, grpc_port: grpc.port }, 'listening') },
    ],
    ready: { database: () => database.answers() },
  });
  return {
    log,
    start: () => composed.start(),
    stop: () => composed.stop(),
    get httpPort() {
      return http.port;
    },
    get grpcPort() {
      return grpc.port;
    },
    get adminPort() {
      return composed.adminPort;
    },
  };
}

function consumers(
  config: AnalyticsConfig,
  ingest: Ingest,
  tools: { log: Logger; registry: Registry },
): Part[] {
  const kafka = kafkaPlace(config, usageTopic);
  if (kafka === null) return [];
  const { brokers, topic, prefix } = kafka;
  const groupId = `${prefix}gatehouse-analytics`;
  return [
    new KafkaConsumer({ ...tools, groupId, brokers, topic, handle: (messages) => ingest.take(messages) }),
  ];
}
