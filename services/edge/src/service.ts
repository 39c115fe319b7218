import type { PaceOptions } from '@gatehouse/http/pace-check';
import { UserDirectory } from '@gatehouse/shell/user-directory';
import { CertificateFiles } from '@gatehouse/kit/certificate-files';
import { wideNetworkOf } from '@gatehouse/kit/client-network';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Service } from '@gatehouse/shell/service';
import { Shell, type ShellOverrides } from '@gatehouse/shell/shell';
import { followTenants } from '@gatehouse/shell/tenant-changes';
import { Authenticator } from './auth/authenticator.ts';
import { KeyClient } from './auth/key-client.ts';
import { clientIp } from './auth/client-ip.ts';
import { SessionReader } from './auth/session-reader.ts';
import { UntrustedProxies } from './auth/untrusted-proxies.ts';
import { tlsFiles, type EdgeConfig } from './config.ts';
import { Cors } from './cors/cors.ts';
import { AccessLog } from './http/access-log-handlers.ts';
import { createEdgeApp, Gateway } from './http/gateway-handlers.ts';
import { createProxy } from './proxy/create-proxy.ts';
import { createRefusals } from './refusals/create-refusals.ts';

/** Settings a test may replace. */
export interface EdgeOverrides extends ShellOverrides {
  /** The least pace of a request body. */
  pace?: PaceOptions;
  /** How often the files of the certificate are read. */
  certificate?: { everyMs: number };
}

/** The edge: the only public HTTP. It stores nothing and uses no database. */
export async function createService(config: EdgeConfig, overrides: EdgeOverrides = {}): Promise<Service> {
  const shell = await Shell.create('edge', config, overrides);
  const { log, registry, signer, tracer } = shell;
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const isTrustedProxy = config.TRUSTED_PROXIES;
  const changes = followTenants(shell, tenant);
  const authenticator = new Authenticator({
    source: new KeyClient(tenant),
    changes,
    networkOf: (request) => wideNetworkOf(clientIp(request, isTrustedProxy) ?? ''),
  });
  shell.require('tenant', () => authenticator.ready);
  const files = tlsFiles(config);
  const certificate = files && new CertificateFiles({ ...files, log, registry, ...overrides.certificate });
  if (certificate !== undefined) shell.add(certificate);
  const refusals = createRefusals(shell, config);
  const { forwarder, parts } = createProxy(shell, config, overrides.pace);
  const untrustedProxies = new UntrustedProxies({
    ...{ isTrusted: isTrustedProxy, count: isTrustedProxy.count },
    // A public https URL means a proxy, unless the edge serves https itself.
    ...{ isProxied: certificate === undefined && config.PUBLIC_URL.startsWith('https:'), log },
  });
  const gateway = new Gateway({
    ...{ authenticator, signer, forwarder, isTrustedProxy, untrustedProxies },
    users: new UserDirectory(tenant, changes),
    sessions: new SessionReader(config.PUBLIC_URL),
    cors: config.CORS_ORIGINS.length === 0 ? null : new Cors(config.CORS_ORIGINS),
    accessLog: new AccessLog({ log, duration: shell.httpDuration, tracer, refusals: refusals.counts }),
    log,
  });
  return shell.createService({
    handler: createEdgeApp(gateway),
    frontDoor: { cut: () => void forwarder.close(), certificate },
    // The counts stop last.
    parts: [refusals, ...parts, gateway, untrustedProxies],
  });
}
