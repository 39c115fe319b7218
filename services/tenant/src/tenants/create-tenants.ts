import type { Changes } from '@gatehouse/audited-changes/changes';
import { batchedFinder } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import { getTenantSettings, type FindProviderKeys } from './get-tenant-settings-rpc.ts';
import { tenantSettingsHandlers } from './tenant-settings-handlers.ts';
import { ownerTenantHandlers } from './owner-tenant-handlers.ts';
import { SettingsSystemStore } from './settings-system-store.ts';
import { TenantSystemStore } from './tenant-system-store.ts';

export interface TenantsOptions {
  /** For settings: a slow list must not delay completions, which wait for them. Both act as `tenant_system`. */
  known: Pool;
  proved: Pool;
  app: Pool;
  system: Pool;
  changes: Changes;
  providerKeys: { findKeys: FindProviderKeys };
}

/** Tenants, and the settings that other services ask for. */
export function createTenants({ known, proved, app, system, changes, providerKeys }: TenantsOptions) {
  const tenants = new TenantSystemStore(system);
  const systemStore = new SettingsSystemStore({ known, proved });
  return {
    handlers: { ...ownerTenantHandlers(tenants, changes), ...tenantSettingsHandlers(app, changes) },
    rpcs: {
      getTenantSettings: getTenantSettings({
        find: batchedFinder(
          (ids) => systemStore.find(ids),
          ({ id }) => id,
        ),
        findLimitedKeys: (tenantId, keys) => systemStore.findLimitedKeys(tenantId, keys),
        findProviderKeys: providerKeys.findKeys,
      }),
    },
    findTenant: (id: string) => tenants.find(id),
  };
}
