import { Guard } from '@gatehouse/egress/guard';
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
import { guardrailHandlers } from '../guardrails/guardrail-handlers.ts';
import { assertReachable } from '../guardrails/outside-checks-client.ts';
import { GuardrailSystemStore } from '../guardrails/guardrail-system-store.ts';
import type { FindPolicyLimits } from '../limits/caller-limits.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

/** Tenants, and the settings requested by other services. */
export function createTenants(
  { known, proved, app, system, changes, keyRing, analytics, agent, chat, config }: BaseDependencies,
  findProviderKeys: FindProviderKeys,
) {
  const tenants = new TenantSystemStore(system);
  const policies = foundByTenant(new PolicySystemStore(known));
  const guardrails = foundByTenant(new GuardrailSystemStore(known));
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
      ...guardrailHandlers({
        ...{ app, system, changes, keyRing },
        assertReachable: assertReachable({ chat, guard: new Guard(config.EGRESS_ALLOW) }),
        assertCompiled: () => Promise.resolve(),
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
        findGuardrails: (tenantId) => guardrails.get(tenantId),
      }),
    },
    findTenant: (id: string) => tenants.find(id),
    findPolicyLimits,
  };
}

/** Finds what is enabled for a tenant, for several tenants at once. */
function foundByTenant<Item extends { tenantId: string }>(store: {
  findEnabled: (tenantIds: readonly string[]) => Promise<Item[]>;
}): Batched<string, Item[]> {
  return new Batched(async (tenantIds) => {
    const byTenant = Map.groupBy(
      await store.findEnabled([...new Set(tenantIds)]),
      ({ tenantId }) => tenantId,
    );
    return tenantIds.map((id) => byTenant.get(id) ?? []);
  });
}
