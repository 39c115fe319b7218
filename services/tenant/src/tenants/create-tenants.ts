import { batchedFinder } from '@gatehouse/kit/batched';
import { describeTenants } from './describe-tenants-rpc.ts';
import {
  getTenantSettings,
  type FindGuardrails,
  type FindPolicies,
  type FindProviderKeys,
} from './get-tenant-settings-rpc.ts';
import { tenantSettingsHandlers } from './tenant-settings-handlers.ts';
import { ownerTenantHandlers } from './owner-tenant-handlers.ts';
import { findLimitedKeys, findSettings } from './settings-system-store.ts';
import { TenantSystemStore } from './tenant-system-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

/** Settings with tables of their own. */
interface SettingsStores {
  providerKeys: { findKeys: FindProviderKeys };
  policies: { findEnabled: FindPolicies };
  guardrails: { findEnabled: FindGuardrails };
}

/** Tenants, and the settings requested by other services. */
export function createTenants(
  base: BaseDependencies,
  { providerKeys, policies, guardrails }: SettingsStores,
) {
  const { known, proved, app, system, changes } = base;
  const tenants = new TenantSystemStore(system);
  return {
    handlers: { ...ownerTenantHandlers(tenants, changes), ...tenantSettingsHandlers(app, changes) },
    rpcs: {
      describeTenants: describeTenants(tenants),
      getTenantSettings: getTenantSettings({
        find: batchedFinder(
          (ids) => findSettings(known, ids),
          ({ id }) => id,
        ),
        findLimitedKeys: (tenantId, keys) => findLimitedKeys(proved, tenantId, keys),
        findProviderKeys: providerKeys.findKeys,
        findPolicies: policies.findEnabled,
        findGuardrails: guardrails.findEnabled,
      }),
    },
    findTenant: (id: string) => tenants.find(id),
  };
}
