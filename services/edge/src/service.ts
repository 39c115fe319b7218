import { anonymousBudget } from '@gatehouse/http/body-share';
import { routes } from '@gatehouse/contract/routes';
import { innerServices, type ServiceName } from '@gatehouse/contract/services';
import type { PaceOptions } from '@gatehouse/http/pace-check';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Service } from '@gatehouse/shell/service';
import { Shell, type ShellOverrides } from '@gatehouse/shell/shell';
import { Authenticator } from './auth/authenticator.ts';
import { upstreamAddresses, type EdgeConfig } from './config.ts';
import { Cors } from './cors/cors.ts';
import { AccessLog } from './http/access-log.ts';
import { createEdgeApp } from './http/edge-app.ts';
import { Gateway } from './http/gateway.ts';
import { AddressList } from './replicas/address-list.ts';
import { Forwarder, streamsBody } from './proxy/forwarder.ts';
import { GeneralProxy } from './proxy/general-proxy.ts';
import { Liveness } from './replicas/liveness.ts';
import { PassThrough } from './proxy/pass-through.ts';
import { RequestBodies } from './proxy/request-body.ts';

/** Settings that a test may replace. */
export interface EdgeOverrides extends ShellOverrides {
  /** The least pace of a request body. */
  pace?: PaceOptions;
}

/** The edge: the only public HTTP. It stores nothing and uses no database. */
export async function createService(config: EdgeConfig, overrides: EdgeOverrides = {}): Promise<Service> {
  const shell = await Shell.create('edge', config, overrides);
  const { log, signer, tracer } = shell;
  const authenticator = new Authenticator(shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient));
  shell.require('tenant', () => authenticator.ready);
  const upstreams = new Map<ServiceName, AddressList>();
  const passThrough = new Map<ServiceName, PassThrough>();
  const { neighbours } = shell;
  for (const name of innerServices) {
    if (neighbours?.find(name) !== undefined) continue;
    const addresses = new AddressList(upstreamAddresses(config, name), log);
    shell.add(addresses);
    shell.add(new Liveness(addresses));
    upstreams.set(name, addresses);
    if (routes.some((route) => route.service === name && streamsBody(route)))
      passThrough.set(name, new PassThrough(addresses));
  }
  const forwarder = new Forwarder({
    neighbours,
    addresses: upstreams,
    bodies: new RequestBodies({
      budget: shell.bodyBudget,
      anonymous: anonymousBudget(shell.registry),
      pace: overrides.pace,
    }),
    general: new GeneralProxy(),
    passThrough,
    log,
  });
  const gateway = new Gateway({
    authenticator,
    signer,
    forwarder,
    isTrustedProxy: config.TRUSTED_PROXIES,
    cors: config.CORS_ORIGINS.length === 0 ? null : new Cors(config.CORS_ORIGINS),
    accessLog: new AccessLog({ log, duration: shell.httpDuration, tracer }),
    log,
  });
  return shell.createService({
    handler: createEdgeApp(gateway),
    frontDoor: { cut: () => void forwarder.close() },
    parts: [{ stop: () => forwarder.close() }, gateway],
  });
}
