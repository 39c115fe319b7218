import type * as policies from '@gatehouse/contract/policies';
import type { Override, Policy } from './policy.ts';
import { nameForTenant } from '../shared/holder.ts';
import { showOwnerSelection, showSelection } from './selection.ts';

/** A policy with its overrides. */
export interface PolicyWithOverrides extends Policy {
  overrides: readonly Override[];
}

/** A policy for admins of a tenant, who see those of the owner under another name. */
export function showPolicy(policy: PolicyWithOverrides): policies.Policy {
  const { selection, tenantId, name } = policy;
  return {
    ...showCommon(policy),
    name: nameForTenant({ name, fromOwner: tenantId === null }),
    select: showSelection(selection),
  };
}

/** A policy for the owner. */
export function showOwnerPolicy(policy: PolicyWithOverrides): policies.OwnerPolicy {
  const { tenants } = policy;
  return {
    ...showCommon(policy),
    select: showOwnerSelection(policy.selection),
    tenants: tenants === null ? null : [...tenants],
  };
}

/** An override as it is shown. */
export function showOverride({ value: _, until, ...override }: Override): policies.PolicyOverride {
  return { ...override, until: until?.toISOString() ?? null };
}

function showCommon(policy: PolicyWithOverrides) {
  const { id, name, per, limits, budget, overrides, alerts, enforce, enabled } = policy;
  return {
    ...{ id, name, per, limits, budget, enforce, enabled },
    overrides: Object.fromEntries(overrides.map((override) => [override.value, showOverride(override)])),
    alerts: [...alerts],
    counts_since: policy.countsSince.toISOString(),
    created_at: policy.createdAt.toISOString(),
    updated_at: policy.updatedAt.toISOString(),
  };
}
