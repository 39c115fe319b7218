import { auditTopic } from '@gatehouse/events/audit-event';
import { DirectSink } from '@gatehouse/events/direct-sink';
import { KafkaSink } from '@gatehouse/events/kafka-sink';
import { Relay } from '@gatehouse/events/relay';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { EventSink } from '@gatehouse/events/sink';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { Peer } from '@gatehouse/grpc/client';
import { isMessageTooLarge } from '@gatehouse/grpc/errors';
import { GrpcServer } from '@gatehouse/grpc/server';
import { createApp } from '@gatehouse/http/app';
import { bodyBudget } from '@gatehouse/http/body-share';
import { Idempotency } from '@gatehouse/http/idempotency';
import { HttpServer } from '@gatehouse/http/server';
import { unreadByEdge } from '@gatehouse/http/unread-responses';
import { Signer } from '@gatehouse/identity/signer';
import { Verifier } from '@gatehouse/identity/verifier';
import { composeService, together } from '@gatehouse/kit/compose';
import { createTracer } from '@gatehouse/kit/create-tracer';
import type { Service } from '@gatehouse/kit/lifecycle';
import { createLogger, type Logger } from '@gatehouse/kit/log';
import { createRegistry, httpDuration, rpcDuration } from '@gatehouse/kit/metrics';
import { DatabaseCheck } from '@gatehouse/pg/database-check';
import { createPool } from '@gatehouse/pg/pool';
import { observePools } from '@gatehouse/pg/pool-metrics';
import { schemaCheck } from '@gatehouse/pg/schema-check';
import { AgentServiceService } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { migrationsDirectory, type AgentConfig } from './config.ts';
import { agentHandlers } from './http/agents.ts';
import { ModelClient } from './peers/models.ts';
import { listVisibleAgents } from './rpc/list-visible-agents.ts';
import { resolveAgent } from './rpc/resolve-agent.ts';
import { AgentStore } from './store/agent-store.ts';

export interface AgentOverrides {
  log?: Logger;
}

/** A running service's ports: the configured ones, or what port 0 became. */
export interface AgentService extends Service {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly adminPort: number;
}

/** The agent service: what agents a tenant has and who may use them. Nothing is opened before `start`. */
export async function createAgentService(
  config: AgentConfig,
  overrides: AgentOverrides = {},
): Promise<AgentService> {
  const service = 'agent';
  const { HOST: host, DRAIN_TIMEOUT_MS: drainTimeoutMs, DATABASE_URL: url, DATABASE_POOL: max } = config;
  const log = overrides.log ?? createLogger(service, config.LOG_LEVEL);
  const registry = createRegistry(service);
  const tracer = await createTracer(service, config, log);
  const signer = await Signer.create(config.ASSERTION_PRIVATE_KEY);
  const verifier = await Verifier.create(config.ASSERTION_PUBLIC_KEYS);

  const half = Math.ceil(max / 2);
  const appPool = createPool({ url, role: 'agent_app', max: half, log });
  const systemPool = createPool({ url, role: 'agent_system', max: half, log });
  // RPCs have their own pool: completions wait for them, and lists that are slow must not take their connections.
  const rpcPool = createPool({ url, role: 'agent_app', max, log });
  const database = new DatabaseCheck({ url, role: 'agent_app', log });
  observePools(registry, { app: appPool, system: systemPool, rpc: rpcPool });
  const callDuration = rpcDuration(registry);
  const agents = new AgentStore(appPool);
  const agentsOfRpcs = new AgentStore(rpcPool);
  const chatPeer = new Peer({
    peer: 'chat',
    addresses: config.CHAT_GRPC,
    stub: ChatServiceClient,
    signer,
    tracer,
    duration: callDuration,
  });
  const models = new ModelClient(chatPeer);

  const outbox = new AuditOutbox(service);
  const relay = new Relay({
    source: outbox.source,
    pool: systemPool,
    outbox,
    sink: createSink(config, { source: outbox.source, signer, log, duration: callDuration }),
    watermarks: false,
    log,
    registry,
  });

  const duration = httpDuration(registry);
  const idempotency = new Idempotency({
    service,
    app: appPool,
    system: systemPool,
    keyRing: config.SECRETS_KEYRING,
    log,
  });
  const app = createApp({
    service,
    handlers: agentHandlers(agents, models),
    verifier,
    bodyBudget: bodyBudget(config, registry),
    log,
    duration,
    tracer,
    idempotency,
    recordChange: (db, entry) => outbox.add(db, entry),
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
  }).add(AgentServiceService, {
    resolveAgent: resolveAgent(agentsOfRpcs),
    listVisibleAgents: listVisibleAgents(agentsOfRpcs),
  });

  const composed = composeService({
    log,
    registry,
    config,
    parts: [
      { stop: () => tracer?.stop() },
      { stop: () => appPool.end() },
      { stop: () => systemPool.end() },
      { stop: () => rpcPool.end() },
      database,
      schemaCheck({ pool: appPool, service, directory: migrationsDirectory, log }),
      { stop: () => chatPeer.close() },
      relay,
      idempotency,
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

interface SinkTools {
  source: string;
  signer: Signer;
  log: Logger;
  duration: ReturnType<typeof rpcDuration>;
}

/** Where changes of agents are told: the audit topic, or the tenant service itself. */
function createSink(config: AgentConfig, { source, signer, log, duration }: SinkTools): EventSink {
  const kafka = kafkaPlace(config, auditTopic);
  if (kafka !== null) return new KafkaSink({ ...kafka, clientId: 'gatehouse-agent', log });
  const { TENANT_GRPC: addresses } = config;
  const peer = new Peer({ peer: 'tenant', addresses, stub: TenantServiceClient, signer, duration });
  return new DirectSink({
    send: (events, options) => peer.call('recordAudit', { source, events }, options),
    isTooLarge: isMessageTooLarge,
    close: () => peer.close(),
  });
}
