import type { GroupKey } from '@gatehouse/contract/usage';
import type { NamesClient } from '../shared/names-client.ts';
import type { Viewer } from '../shared/viewer.ts';
import type { GroupLabels } from './summary.ts';

/** Returns the key of each of these groups as responses show it, with names beside the ids. Owners are no viewers. */
export type NamesOfGroups = (
  viewer: Viewer | null,
  groups: readonly GroupLabels[],
) => Promise<(labels: GroupLabels) => GroupKey>;

/** Keys of agents and names of API keys, for the groups of a tenant. */
export function tenantsOwnNames(names: NamesClient): NamesOfGroups {
  return async (viewer, groups) => {
    if (viewer === null) return (labels) => labels;
    const [agents, apiKeys] = await Promise.all([
      names.agents(viewer, idsOf(groups, 'agent')),
      names.apiKeys(viewer.tenantId, idsOf(groups, 'api_key')),
    ]);
    return (labels) => ({
      ...labels,
      ...(labels.agent !== undefined && { agent_key: agents.get(labels.agent ?? '')?.key ?? null }),
      ...(labels.api_key !== undefined && { api_key_name: apiKeys.get(labels.api_key ?? '')?.name ?? null }),
    });
  };
}

/** Slugs and names of tenants, for the groups of all of them. */
export function namesOfTenants(names: NamesClient): NamesOfGroups {
  return async (_viewer, groups) => {
    const tenants = await names.tenants(idsOf(groups, 'tenant'));
    return (labels) => {
      if (labels.tenant === undefined) return labels;
      const { slug = null, name = null } = tenants.get(labels.tenant ?? '') ?? {};
      return { ...labels, tenant_slug: slug, tenant_name: name };
    };
  };
}

function idsOf(groups: readonly GroupLabels[], dimension: keyof GroupLabels): (string | null)[] {
  return groups.map((labels) => labels[dimension] ?? null);
}
