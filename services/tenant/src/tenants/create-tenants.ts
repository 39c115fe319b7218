import { Batched, batchedFinder } from '@gatehouse/kit/batched';
import { describeTenants } from './describe-tenants-rpc.ts';
import { policyCounterHandlers } from '../policies/policy-counter-handlers.ts';
import { PolicyCounterListSystemStore } from '../policies/policy-counter-list-system-store.ts';
import { previewPolicy } from '../policies/policy-preview-client.ts';
import { policyHandlers } from '../policies/policy-handlers.ts';
import { UserSystemStore } from '../users/user-system-store.ts';
import { PolicyUseSystemStore } from '../policies/policy-use-system-store.ts';
import { PolicySystemStore } from '../policies/policy-system-store.ts';
import { getTenantSettings, type FindProviderKeys } from './get-tenant-settings-rpc.ts';
import { tenantSettingsHandlers } from './tenant-settings-handlers.ts';
import { ownerTenantHandlers } from './owner-tenant-handlers.ts';
import { findLimitedKeys, findSettings } from './settings-system-store.ts';
import { TenantSystemStore } from './tenant-system-store.ts';
import type { FindPolicyLimits } from '../limits/caller-limits.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

/** Tenants, and the settings requested by other services. */
export function createTenants(
  { known, proved, app, system, changes, keyRing, analytics, agent }: BaseDependencies,
  findProviderKeys: FindProviderKeys,
) {
  const tenants = new TenantSystemStore(system);
  const enabled = new PolicySystemStore(known);
  const policies = new Batched(async (tenantIds: readonly string[]) => {
    const found = await enabled.findEnabled([...new Set(tenantIds)]);
    const byTenant = Map.groupBy(found, ({ tenantId }) => tenantId);
    return tenantIds.map((id) => byTenant.get(id) ?? []);
  });
  const users = new UserSystemStore(known);
  const uses = new PolicyUseSystemStore(proved, {
    keyRing,
    findEnabled: (tenantId) => policies.get(tenantId),
    findUser: async (form) => (await users.resolve([form]))[0] ?? null,
  });
  const findPolicyLimits: FindPolicyLimits = (tenantId, run) => uses.find(tenantId, run);
  const counters = new PolicyCounterListSystemStore(proved);
  return {
    handlers: {
      ...ownerTenantHandlers(tenants, changes),
      ...tenantSettingsHandlers(app, changes),
      ...policyHandlers({
        ...{ app, system, changes, keyRing, agent },
        preview: previewPolicy({ app, analytics, agent }),
      }),
      ...policyCounterHandlers({
        ...{ app, system },
        listCounters: (policy, page) => counters.list(policy, page),
      }),
    },
    rpcs: {
      describeTenants: describeTenants(tenants),
      getTenantSettings: getTenantSettings({
        find: batchedFinder(
          (ids) => findSettings(known, ids),
          ({ id }) => id,
        ),
        findLimitedKeys: (tenantId, keys) => findLimitedKeys(proved, tenantId, keys),
        findProviderKeys,
        findPolicies: (tenantId) => policies.get(tenantId),
      }),
    },
    findTenant: (id: string) => tenants.find(id),
    findPolicyLimits,
  };
}
