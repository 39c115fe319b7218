import type { Changes } from '@gatehouse/audited-changes/changes';
import { batchedFinder } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import { getTenantSettings, type FindProviderKeys } from './get-tenant-settings-rpc.ts';
import { ownSettingsHandlers } from './own-settings-handlers.ts';
import { ownerTenantHandlers } from './owner-tenant-handlers.ts';
import { SettingsSystemStore } from './settings-system-store.ts';
import { TenantSystemStore } from './tenant-system-store.ts';

export interface TenantsOptions {
  /** For settings: a slow list must not delay completions, which wait for them. It acts as `tenant_system`. */
  settings: Pool;
  app: Pool;
  system: Pool;
  changes: Changes;
  findProviderKeys: FindProviderKeys;
}

/** Tenants, and the settings that other services ask for. */
export function createTenants({ settings, app, system, changes, findProviderKeys }: TenantsOptions) {
  const tenants = new TenantSystemStore(system);
  const ofAll = new SettingsSystemStore(settings);
  return {
    handlers: { ...ownerTenantHandlers(tenants, changes), ...ownSettingsHandlers(app, changes) },
    rpcs: {
      getTenantSettings: getTenantSettings({
        find: batchedFinder(
          (ids) => ofAll.find(ids),
          ({ id }) => id,
        ),
        findLimitedKeys: (tenantId, keys) => ofAll.findLimitedKeys(tenantId, keys),
        findProviderKeys,
      }),
    },
    findTenant: (id: string) => tenants.find(id),
  };
}
