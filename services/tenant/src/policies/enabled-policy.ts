import type { PolicyBudget, PolicyLimits, PolicyPer } from '@gatehouse/contract/policies';
import { Resource, type Policy as PolicyMessage } from '@gatehouse/proto/tenant/v1/tenant';
import { nameForTenant } from '../shared/holder.ts';
import { selectionLists, type Selection } from './selection.ts';

/** A policy as chat needs it. */
export interface EnabledPolicy {
  id: string;
  /** The tenant for which it holds. */
  tenantId: string;
  fromOwner: boolean;
  name: string;
  /** Names and patterns by field, of groups entries of `groupEntry`; fields without any are absent. */
  selection: Selection;
  per: PolicyPer | null;
  limits: PolicyLimits;
  budget: PolicyBudget | null;
  enforce: boolean;
  /** The members of limits set by overrides. */
  overridden: readonly string[];
  /** The key of the ids of its counters, sealed. */
  counterKey: Buffer;
}

const resourceOf: Record<keyof PolicyLimits, Resource> = {
  requests_per_minute: Resource.REQUESTS,
  tokens_per_minute: Resource.TOKENS,
  max_concurrent: Resource.CONCURRENCY,
};
/** The keys of the record above. */
const limitNames = Object.keys(resourceOf) as (keyof PolicyLimits)[];

/** A policy for chat, which matches runs with it. */
export function showEnabledPolicy(policy: EnabledPolicy): PolicyMessage {
  const { id, fromOwner, selection, per, enforce, counterKey } = policy;
  return {
    id,
    name: nameForTenant(policy),
    ...selectionLists(selection),
    ...(per !== null && { per }),
    limited: limitedBy(policy),
    ...{ enforce, fromOwner, counterKey },
  };
}

function limitedBy({ limits, budget, overridden }: EnabledPolicy): Resource[] {
  const names = limitNames.filter((name) => typeof limits[name] === 'number' || overridden.includes(name));
  return [...names.map((name) => resourceOf[name]), ...(budget === null ? [] : [Resource.BUDGET])];
}
