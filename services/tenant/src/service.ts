import { GrpcServer } from '@gatehouse/grpc/server';
import { createApp } from '@gatehouse/http/app';
import { bodyBudget } from '@gatehouse/http/body-share';
import { Idempotency } from '@gatehouse/http/idempotency';
import { HttpServer } from '@gatehouse/http/server';
import { unreadByEdge } from '@gatehouse/http/unread-responses';
import { Verifier } from '@gatehouse/identity/verifier';
import { composeService, together } from '@gatehouse/kit/compose';
import { createTracer } from '@gatehouse/kit/create-tracer';
import type { Service } from '@gatehouse/kit/lifecycle';
import { createLogger, type Logger } from '@gatehouse/kit/log';
import { createRegistry, httpDuration } from '@gatehouse/kit/metrics';
import { DatabaseCheck } from '@gatehouse/pg/database-check';
import { createPool } from '@gatehouse/pg/pool';
import { observePools } from '@gatehouse/pg/pool-metrics';
import { schemaCheck } from '@gatehouse/pg/schema-check';
import { TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import { migrationsDirectory, type TenantConfig } from './config.ts';
import { auditTopicParts } from './audit/audit-topic.ts';
import { changeRecorder } from './audit/change-recorder.ts';
import { AuditIntake } from './audit/intake.ts';
import { LastUse } from './domain/last-use.ts';
import { apiKeyHandlers } from './http/api-keys.ts';
import { limitHandlers } from './http/limits.ts';
import { ownerApiKeyHandlers } from './http/owner-api-keys.ts';
import { ownerAuditLogHandlers } from './http/owner-audit-log.ts';
import { ownerTenantHandlers } from './http/owner-tenants.ts';
import { whoamiHandlers } from './http/whoami.ts';
import { QuotaCleanup } from './quota-cleanup.ts';
import { authenticate } from './rpc/authenticate.ts';
import { getTenantSettings } from './rpc/get-tenant-settings.ts';
import { lease } from './rpc/lease.ts';
import { recordAudit } from './rpc/record-audit.ts';
import { settle } from './rpc/settle.ts';
import { ApiKeyStore } from './store/api-key-store.ts';
import { ApiKeySystemStore } from './store/api-key-system-store.ts';
import { AuditLogSystemStore } from './store/audit-log-system-store.ts';
import { QuotaStore } from './store/quota-store.ts';
import { QuotaSystemStore } from './store/quota-system-store.ts';
import { TenantStore } from './store/tenant-store.ts';
import { TenantSystemStore } from './store/tenant-system-store.ts';

export interface TenantOverrides {
  log?: Logger;
}

/** A running service's ports: the configured ones, or what port 0 became. */
export interface TenantService extends Service {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly adminPort: number;
}

/** The tenant service: tenants, their API keys, and who a key belongs to. Nothing is opened before `start`. */
export async function createTenantService(
  config: TenantConfig,
  overrides: TenantOverrides = {},
): Promise<TenantService> {
  const service = 'tenant';
  const { HOST: host, DRAIN_TIMEOUT_MS: drainTimeoutMs, DATABASE_URL: url, DATABASE_POOL: max } = config;
  const log = overrides.log ?? createLogger(service, config.LOG_LEVEL);
  const registry = createRegistry(service);
  const tracer = await createTracer(service, config, log);
  const verifier = await Verifier.create(config.ASSERTION_PUBLIC_KEYS);

  const half = Math.ceil(max / 2);
  const appPool = createPool({ url, role: 'tenant_app', max: half, log });
  const systemPool = createPool({ url, role: 'tenant_system', max, log });
  // Settings have their own pool: completions wait for them, and lists that are slow must not take their connections.
  const settingsPool = createPool({ url, role: 'tenant_app', max: half, log });
  const apiKeys = new ApiKeyStore(appPool);
  const tenants = new TenantStore(settingsPool);
  const apiKeysOfAll = new ApiKeySystemStore(systemPool);
  const tenantsOfAll = new TenantSystemStore(systemPool);
  const recordChange = changeRecorder(config);
  // Of their own: leases that wait for each other must not keep keys from being checked.
  const leasePool = createPool({ url, role: 'tenant_system', max: half, log });
  const database = new DatabaseCheck({ url, role: 'tenant_system', log });
  observePools(registry, { app: appPool, system: systemPool, settings: settingsPool, lease: leasePool });
  const quotas = new QuotaSystemStore(leasePool, recordChange);
  const auditLog = new AuditLogSystemStore(systemPool);
  const intake = new AuditIntake({ auditLog, log, registry });
  const lastUse = new LastUse({ touch: (id) => apiKeysOfAll.touch(id), log });

  const idempotency = new Idempotency({
    service,
    app: appPool,
    system: systemPool,
    keyRing: config.SECRETS_KEYRING,
    log,
  });
  const app = createApp({
    service,
    handlers: {
      ...whoamiHandlers(),
      ...limitHandlers(new QuotaStore(appPool)),
      ...apiKeyHandlers(apiKeys),
      ...ownerTenantHandlers(tenantsOfAll),
      ...ownerAuditLogHandlers(auditLog),
      ...ownerApiKeyHandlers({ apiKeys: apiKeysOfAll, tenants: tenantsOfAll }),
    },
    verifier,
    bodyBudget: bodyBudget(config, registry),
    log,
    duration: httpDuration(registry),
    tracer,
    idempotency,
    recordChange,
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
  }).add(TenantServiceService, {
    authenticate: authenticate({ apiKeys: apiKeysOfAll, lastUse }),
    getTenantSettings: getTenantSettings(tenants),
    lease: lease(quotas),
    settle: settle(quotas),
    recordAudit: recordAudit(intake),
  });

  const composed = composeService({
    log,
    registry,
    config,
    parts: [
      { stop: () => tracer?.stop() },
      { stop: () => appPool.end() },
      { stop: () => systemPool.end() },
      { stop: () => settingsPool.end() },
      { stop: () => leasePool.end() },
      database,
      schemaCheck({ pool: systemPool, service, directory: migrationsDirectory, log }),
      lastUse,
      new QuotaCleanup(quotas, log),
      idempotency,
      ...auditTopicParts(config, { pool: systemPool, intake, log, registry }),
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
