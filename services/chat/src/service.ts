import path from 'node:path';
import { DirectSink } from '@gatehouse/events/direct-sink';
import { KafkaSink } from '@gatehouse/events/kafka-sink';
import { Relay } from '@gatehouse/events/relay';
import { usageTopic } from '@gatehouse/events/run-event';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { EventSink } from '@gatehouse/events/sink';
import { Peer } from '@gatehouse/grpc/client';
import { isMessageTooLarge } from '@gatehouse/grpc/errors';
import { GrpcServer } from '@gatehouse/grpc/server';
import { createApp } from '@gatehouse/http/app';
import { bodyBudget } from '@gatehouse/http/body-share';
import { HttpServer } from '@gatehouse/http/server';
import { unreadByEdge } from '@gatehouse/http/unread-responses';
import { Signer } from '@gatehouse/identity/signer';
import { Verifier } from '@gatehouse/identity/verifier';
import { composeService, together } from '@gatehouse/kit/compose';
import { createMeter } from '@gatehouse/kit/create-meter';
import { createTracer } from '@gatehouse/kit/create-tracer';
import type { Service } from '@gatehouse/kit/lifecycle';
import { createLogger, type Logger } from '@gatehouse/kit/log';
import { createRegistry, httpDuration, rpcDuration } from '@gatehouse/kit/metrics';
import { DatabaseCheck } from '@gatehouse/pg/database-check';
import { createPool } from '@gatehouse/pg/pool';
import { observePools } from '@gatehouse/pg/pool-metrics';
import { schemaCheck } from '@gatehouse/pg/schema-check';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { ChatConfig } from './config.ts';
import { Pricing } from './domain/pricing.ts';
import { RunTelemetry } from './exchange/run-telemetry.ts';
import { completionHandlers } from './http/completions.ts';
import { modelHandlers } from './http/models.ts';
import { Quotas } from './limits/quotas.ts';
import { Instance } from './metering/instance.ts';
import { Meter } from './metering/meter.ts';
import { Reaper } from './metering/reaper.ts';
import { Settler } from './metering/settler.ts';
import { Vacuum } from './metering/vacuum.ts';
import { AgentClient } from './peers/agents.ts';
import { TenantSettingsClient } from './peers/tenant-settings.ts';
import { answerBudget } from './providers/answer-metrics.ts';
import { ProviderRegistry } from './providers/registry.ts';
import { checkModels } from './rpc/check-models.ts';
import { eventSource, runOutbox } from './store/outbox-system-store.ts';

const migrations = path.join(import.meta.dirname, '../migrations');

export interface ChatService extends Service {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly adminPort: number;
}

/** What tests may set otherwise. */
export interface ChatOverrides {
  /** Silence of a provider after which the client gets a comment. */
  silenceMs?: number;
}

export async function createChatService(
  config: ChatConfig,
  overrides: ChatOverrides = {},
): Promise<ChatService> {
  const log = createLogger('chat', config.LOG_LEVEL);
  const registry = createRegistry('chat');
  const tracer = await createTracer('chat', config, log);
  const otelMeter = await createMeter('chat', config, log);
  const signer = await Signer.create(config.ASSERTION_PRIVATE_KEY);
  const verifier = await Verifier.create(config.ASSERTION_PUBLIC_KEYS);
  const pool = createPool({
    url: config.DATABASE_URL,
    role: 'chat_system',
    max: config.DATABASE_POOL,
    log,
    // Metering looks up by primary key only. A plan made while its tables were empty, and cached, would scan them for ever.
    // Statements are written so that one plan fits all values; planning anew cost the database a sixth of a group.
    settings: { enable_seqscan: 'off', plan_cache_mode: 'force_generic_plan' },
  });
  const database = new DatabaseCheck({ url: config.DATABASE_URL, role: 'chat_system', log });
  observePools(registry, { system: pool });
  const callDuration = rpcDuration(registry);
  const instance = new Instance(pool, log);
  const meter = new Meter({ pool, instance, log, registry });
  const pricing = await Pricing.create(config.catalogue);
  const reaper = new Reaper({ pool, instance, meter, pricing, log, registry });
  const vacuum = new Vacuum({ pool, countEnds: () => meter.committedEnds, log });
  const relay = new Relay({
    source: eventSource,
    pool,
    outbox: runOutbox,
    sink: createSink(config, { signer, log, duration: callDuration }),
    watermarks: true,
    log,
    registry,
  });
  const tenantPeer = new Peer({
    peer: 'tenant',
    addresses: config.TENANT_GRPC,
    stub: TenantServiceClient,
    signer,
    tracer,
    duration: callDuration,
  });
  const agentPeer = new Peer({
    peer: 'agent',
    addresses: config.AGENT_GRPC,
    stub: AgentServiceClient,
    signer,
    tracer,
    duration: callDuration,
  });
  const quotas = new Quotas({ peer: tenantPeer, pricing, holderId: () => instance.id, registry });
  const settler = new Settler({ pool, peer: tenantPeer, instance, quotas, log, registry });
  const settings = new TenantSettingsClient(tenantPeer);
  const agents = new AgentClient(agentPeer);
  const { catalogue } = config;
  const providers = new ProviderRegistry(catalogue, config.providerKeys, registry);
  const telemetry = new RunTelemetry(registry, tracer, otelMeter);
  const drainTimeoutMs = config.DRAIN_TIMEOUT_MS;
  const grpc = new GrpcServer({
    service: 'chat',
    host: config.HOST,
    port: config.GRPC_PORT,
    verifier,
    log,
    drainTimeoutMs,
    tracer,
  });
  grpc.add(ChatServiceService, { checkModels: checkModels(catalogue, settings) });
  const app = createApp({
    service: 'chat',
    handlers: modelHandlers({ catalogue, agents, settings }),
    rawHandlers: completionHandlers({
      catalogue,
      providers,
      answers: answerBudget(registry),
      meter,
      pricing,
      telemetry,
      agents,
      settings,
      quotas,
      bodyBudget: bodyBudget(config, registry),
      log,
      ...overrides,
    }),
    verifier,
    log,
    duration: httpDuration(registry),
    tracer,
  });
  const unread = unreadByEdge(config.UNREAD_TIMEOUT_MS, log, registry);
  const http = new HttpServer(app, { host: config.HOST, port: config.HTTP_PORT, drainTimeoutMs, unread });
  const composed = composeService({
    log,
    registry,
    config,
    ready: {
      database: () => database.answers(),
      tenant: () => tenantPeer.reached,
      agent: () => agentPeer.reached,
    },
    parts: [
      { stop: () => tracer?.stop() },
      { stop: () => otelMeter?.stop() },
      { stop: () => pool.end() },
      database,
      schemaCheck({ pool, service: 'chat', directory: migrations, log }),
      { stop: () => providers.close() },
      { stop: () => [tenantPeer, agentPeer].forEach((peer) => peer.close()) },
      relay,
      instance,
      settler,
      meter,
      reaper,
      vacuum,
      together(grpc, http),
      { start: () => log.info({ http_port: http.port, grpc_port: grpc.port }, 'listening') },
    ],
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

function createSink(
  config: ChatConfig,
  { signer, log, duration }: { signer: Signer; log: Logger; duration: ReturnType<typeof rpcDuration> },
): EventSink {
  const kafka = kafkaPlace(config, usageTopic);
  if (kafka !== null) return new KafkaSink({ ...kafka, clientId: 'gatehouse-chat', log });
  const { ANALYTICS_GRPC: addresses } = config;
  const peer = new Peer({ peer: 'analytics', addresses, stub: AnalyticsServiceClient, signer, duration });
  return new DirectSink({
    send: (events, options) => peer.call('ingest', { source: eventSource, events }, options),
    isTooLarge: isMessageTooLarge,
    close: () => peer.close(),
  });
}
