import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Pool } from '@gatehouse/pg/pool';
import { getTenantSettings, type FindProviderKeys } from './get-tenant-settings-rpc.ts';
import { ownerTenantHandlers } from './owner-tenant-handlers.ts';
import { TenantStore } from './tenant-store.ts';
import { TenantSystemStore } from './tenant-system-store.ts';

export interface TenantsOptions {
  /** For settings: a slow list must not delay completions, which wait for them. */
  settings: Pool;
  system: Pool;
  changes: Changes;
  findProviderKeys: FindProviderKeys;
}

/** Tenants, and the settings that other services ask for. */
export function createTenants({ settings, system, changes, findProviderKeys }: TenantsOptions) {
  const tenants = new TenantSystemStore(system);
  return {
    handlers: ownerTenantHandlers(tenants, changes),
    rpcs: { getTenantSettings: getTenantSettings(new TenantStore(settings), findProviderKeys) },
    findTenant: (id: string) => tenants.find(id),
  };
}
