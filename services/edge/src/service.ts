import type { ServiceName } from '@gatehouse/contract/routes';
import { Peer } from '@gatehouse/grpc/client';
import { bodyBudget } from '@gatehouse/http/body-share';
import type { PaceOptions } from '@gatehouse/http/pace-check';
import { HttpServer } from '@gatehouse/http/server';
import { unreadResponses } from '@gatehouse/http/unread-responses';
import { Signer } from '@gatehouse/identity/signer';
import { composeService } from '@gatehouse/kit/compose';
import { createTracer } from '@gatehouse/kit/create-tracer';
import type { Service } from '@gatehouse/kit/lifecycle';
import { createLogger, type Logger } from '@gatehouse/kit/log';
import { createRegistry, httpDuration, rpcDuration } from '@gatehouse/kit/metrics';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { Authenticator } from './auth/authenticator.ts';
import type { EdgeConfig } from './config.ts';
import { Cors } from './domain/cors.ts';
import { createEdgeApp } from './http/edge-app.ts';
import { Gateway } from './http/gateway.ts';
import { AddressList } from './upstream/address-list.ts';
import { GeneralProxy } from './upstream/general-proxy.ts';
import { Liveness } from './upstream/liveness.ts';
import { PassThrough } from './upstream/pass-through.ts';
import { RequestBodies } from './upstream/request-body.ts';

export interface EdgeService extends Service {
  readonly httpPort: number;
  readonly adminPort: number;
}

export interface EdgeOverrides {
  log?: Logger;
  /** What a request body must keep to. */
  pace?: PaceOptions;
}

/** The edge: the only public HTTP. It keeps nothing and knows no database. */
export async function createEdgeService(
  config: EdgeConfig,
  overrides: EdgeOverrides = {},
): Promise<EdgeService> {
  const log = overrides.log ?? createLogger('edge', config.LOG_LEVEL);
  const registry = createRegistry('edge');
  const tracer = await createTracer('edge', config, log);
  const signer = await Signer.create(config.ASSERTION_PRIVATE_KEY);
  const tenantPeer = new Peer({
    peer: 'tenant',
    addresses: config.TENANT_GRPC,
    stub: TenantServiceClient,
    signer,
    tracer,
    duration: rpcDuration(registry),
  });
  const authenticator = new Authenticator(tenantPeer);
  const tenant = new AddressList(config.TENANT_HTTP, log);
  const agent = new AddressList(config.AGENT_HTTP, log);
  const chat = new AddressList(config.CHAT_HTTP, log);
  const analytics = new AddressList(config.ANALYTICS_HTTP, log);
  const bodies = new RequestBodies({ budget: bodyBudget(config, registry), pace: overrides.pace });
  const general = new GeneralProxy(
    new Map<ServiceName, AddressList>([
      ['tenant', tenant],
      ['agent', agent],
      ['chat', chat],
      ['analytics', analytics],
    ]),
    bodies,
    log,
  );
  const toChat = new PassThrough(chat, bodies, log);
  const gateway = new Gateway({
    authenticator,
    signer,
    general,
    passThrough: new Map<ServiceName, PassThrough>([['chat', toChat]]),
    isTrustedProxy: config.TRUSTED_PROXIES,
    cors: config.CORS_ORIGINS.length === 0 ? null : new Cors(config.CORS_ORIGINS),
    log,
    duration: httpDuration(registry),
    tracer,
  });
  const breakOff = async (): Promise<void> => {
    general.close();
    await toChat.close();
  };
  const http = new HttpServer(createEdgeApp(gateway), {
    host: config.HOST,
    port: config.HTTP_PORT,
    drainTimeoutMs: config.DRAIN_TIMEOUT_MS,
    cut: () => void breakOff(),
    unread: unreadResponses(config.UNREAD_TIMEOUT_MS, log, registry),
  });
  const composed = composeService({
    log,
    registry,
    config,
    ready: { tenant: () => authenticator.ready },
    parts: [
      { stop: () => tracer?.stop() },
      { stop: () => tenantPeer.close() },
      tenant,
      agent,
      chat,
      analytics,
      ...[tenant, agent, chat, analytics].map((addresses) => new Liveness(addresses)),
      { stop: breakOff },
      gateway,
      http,
      { start: () => log.info({ http_port: http.port }, 'listening') },
    ],
  });
  return {
    log,
    start: () => composed.start(),
    stop: () => composed.stop(),
    get httpPort() {
      return http.port;
    },
    get adminPort() {
      return composed.adminPort;
    },
  };
}
