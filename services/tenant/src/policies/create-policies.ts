import type { FindPolicyLimits } from '../limits/caller-limits.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { foundByTenant } from '../shared/found-by-tenant.ts';
import { UserSystemStore } from '../users/user-system-store.ts';
import { policyCounterHandlers } from './policy-counter-handlers.ts';
import { PolicyCounterListSystemStore } from './policy-counter-list-system-store.ts';
import { policyHandlers } from './policy-handlers.ts';
import { previewPolicy } from './policy-preview-client.ts';
import { PolicySystemStore } from './policy-system-store.ts';
import { PolicyUseSystemStore } from './policy-use-system-store.ts';

/** Policies of tenants and of the owner, their counters, and the limits that they put on a caller. */
export function createPolicies(base: BaseDependencies) {
  const { known, proved, app, system, changes, keyRing, analytics, agent } = base;
  const enabled = foundByTenant(new PolicySystemStore(known));
  const findEnabled = (tenantId: string) => enabled.get(tenantId);
  const users = new UserSystemStore(known);
  const uses = new PolicyUseSystemStore(proved, {
    ...{ keyRing, findEnabled },
    findUser: async (form) => (await users.resolve([form]))[0] ?? null,
  });
  const findPolicyLimits: FindPolicyLimits = (tenantId, run) => uses.find(tenantId, run);
  const counters = new PolicyCounterListSystemStore(proved);
  return {
    handlers: {
      ...policyHandlers({
        ...{ app, system, changes, keyRing, agent },
        preview: previewPolicy({ app, analytics, agent }),
      }),
      ...policyCounterHandlers({
        ...{ app, system },
        listCounters: (policy, page) => counters.list(policy, page),
      }),
    },
    findEnabled,
    findPolicyLimits,
  };
}
