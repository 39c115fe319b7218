import { Guard } from '@gatehouse/egress/guard';
import { GuardrailCompiler } from '@gatehouse/guardrails/guardrail-compiler';
import { batchedFinder } from '@gatehouse/kit/batched';
import { describeTenants } from './describe-tenants-rpc.ts';
import { getTenantSettings, type FindProviderKeys } from './get-tenant-settings-rpc.ts';
import { tenantSettingsHandlers } from './tenant-settings-handlers.ts';
import { ownerTenantHandlers } from './owner-tenant-handlers.ts';
import { findLimitedKeys, findSettings } from './settings-system-store.ts';
import { TenantSystemStore } from './tenant-system-store.ts';
import { assertCompiled } from '../guardrails/compiled-check.ts';
import { guardrailHandlers } from '../guardrails/guardrail-handlers.ts';
import { assertReachable } from '../guardrails/outside-checks-client.ts';
import { GuardrailSystemStore } from '../guardrails/guardrail-system-store.ts';
import { createPolicies } from '../policies/create-policies.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { foundByTenant } from '../shared/found-by-tenant.ts';

/** Tenants, and the settings requested by other services. */
export function createTenants(base: BaseDependencies, findProviderKeys: FindProviderKeys) {
  const { known, proved, app, system, changes, keyRing, chat, config } = base;
  const tenants = new TenantSystemStore(system);
  const policies = createPolicies(base);
  const guardrails = foundByTenant(new GuardrailSystemStore(known));
  const compiler = new GuardrailCompiler();
  return {
    handlers: {
      ...ownerTenantHandlers(tenants, changes),
      ...tenantSettingsHandlers(app, changes),
      ...policies.handlers,
      ...guardrailHandlers({
        ...{ app, system, changes, keyRing },
        assertReachable: assertReachable({ chat, guard: new Guard(config.EGRESS_ALLOW) }),
        assertCompiled: assertCompiled(compiler),
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
        findPolicies: policies.findEnabled,
        findGuardrails: (tenantId) => guardrails.get(tenantId),
      }),
    },
    parts: [{ stop: () => compiler.stop() }],
    findTenant: (id: string) => tenants.find(id),
    findPolicyLimits: policies.findPolicyLimits,
  };
}
