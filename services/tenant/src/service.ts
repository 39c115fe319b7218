import { Changes } from '@gatehouse/changes/changes';
import { rpcService } from '@gatehouse/grpc/server';
import { TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import { createPools } from '@gatehouse/service/pools';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { migrations, type TenantConfig } from './config.ts';
import { shareAuditTopic } from './audit/audit-topic.ts';
import { changeRecorder } from './audit/change-recorder.ts';
import { AuditIntake } from './audit/intake.ts';
import { LastUse } from './keys/last-use.ts';
import { apiKeyHandlers } from './http/api-keys.ts';
import { limitHandlers } from './http/limits.ts';
import { ownerApiKeyHandlers } from './http/owner-api-keys.ts';
import { ownerAuditLogHandlers } from './http/owner-audit-log.ts';
import { ownerTenantHandlers } from './http/owner-tenants.ts';
import { whoamiHandlers } from './http/whoami.ts';
import { limitCleanup } from './limits/limit-cleanup.ts';
import { authenticate } from './rpc/authenticate.ts';
import { getTenantSettings } from './rpc/get-tenant-settings.ts';
import { lease } from './rpc/lease.ts';
import { recordAudit } from './rpc/record-audit.ts';
import { settle } from './rpc/settle.ts';
import { ApiKeyStore } from './store/api-key-store.ts';
import { ApiKeySystemStore } from './store/api-key-system-store.ts';
import { AuditLogSystemStore } from './store/audit-log-system-store.ts';
import { LimitStore } from './store/limit-store.ts';
import { LeaseSystemStore } from './store/lease-system-store.ts';
import { TenantStore } from './store/tenant-store.ts';
import { TenantSystemStore } from './store/tenant-system-store.ts';

/** The tenant service: tenants, their API keys, limits and audit log. Opens nothing before `start`. */
export async function createTenantService(
  config: TenantConfig,
  overrides: ShellOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('tenant', config, overrides);
  const { log, registry } = shell;
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const half = Math.ceil(max / 2);
  const pools = createPools(shell, {
    url,
    migrations,
    pools: {
      system: { role: 'tenant_system', max },
      app: { role: 'tenant_app', max: half },
      // Separate pools: a slow list must not delay completions, which wait for settings and leases.
      settings: { role: 'tenant_app', max: half },
      lease: { role: 'tenant_system', max: half },
    },
  });
  const apiKeys = new ApiKeyStore(pools.app);
  const apiKeysOfAll = new ApiKeySystemStore(pools.system);
  const tenants = new TenantSystemStore(pools.system);
  const auditLog = new AuditLogSystemStore(pools.system);
  const recordChange = changeRecorder(config);
  const leases = new LeaseSystemStore(pools.lease, recordChange);
  const intake = new AuditIntake({ auditLog, log, registry });
  const lastUse = new LastUse({ touch: (id) => apiKeysOfAll.touch(id), log });
  const { app, system } = pools;
  const changes = new Changes({
    service: 'tenant',
    app,
    system,
    keyRing: config.SECRETS_KEYRING,
    record: recordChange,
    log,
  });
  const { idempotency } = changes;
  shareAuditTopic(shell, { kafka: config, pool: system, intake });
  return shell.createService({
    handler: shell.createApp({
      handlers: {
        ...whoamiHandlers(),
        ...limitHandlers(new LimitStore(app)),
        ...apiKeyHandlers(apiKeys, changes),
        ...ownerTenantHandlers(tenants, changes),
        ...ownerAuditLogHandlers(auditLog),
        ...ownerApiKeyHandlers({ apiKeys: apiKeysOfAll, tenants, changes }),
      },
      idempotency,
    }),
    rpcs: [
      rpcService(TenantServiceService, {
        authenticate: authenticate({ apiKeys: apiKeysOfAll, lastUse }),
        getTenantSettings: getTenantSettings(new TenantStore(pools.settings)),
        lease: lease(leases),
        settle: settle(leases),
        recordAudit: recordAudit(intake),
      }),
    ],
    parts: [
      lastUse,
      ...limitCleanup({
        deleteOld: () => leases.deleteOld(),
        findUnknownTimezones: () => leases.findUnknownTimezones(),
        log,
      }),
      idempotency,
    ],
  });
}
