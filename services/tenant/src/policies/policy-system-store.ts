import { cacheKey } from '@gatehouse/kit/cache-key';
import { foldedGroup } from '@gatehouse/kit/folded-group';
import { parsePattern } from '@gatehouse/kit/name-pattern';
import { groupEntry, groupNameEntry } from '@gatehouse/kit/policy-matching';
import { Store } from '@gatehouse/pg/store';
import type { EnabledPolicy } from './enabled-policy.ts';

const columns = 'id, tenant_id, name, selection, per, limits, budget, enforce, overridden, counter_key';

/** The enabled policies of all tenants. `pool` acts as `tenant_system`. */
export class PolicySystemStore extends Store {
  /** The policies of tenants, each with the owner's for it. */
  async findEnabled(tenantIds: readonly string[]): Promise<EnabledPolicy[]> {
    const policies = await this.pool.all<EnabledPolicy>({
      name: 'find_enabled_policies',
      text: `select t.id as "tenantId", p.tenant_id is null as "fromOwner", p.id, p.name, p.selection, p.per, p.limits,
           p.budget, p.enforce, p.overridden, p.counter_key as "counterKey"
         from unnest($1::uuid[]) as t (id) cross join lateral (
           select ${columns} from tenant.policies where tenant_id = t.id and enabled
           union all
           select ${columns} from tenant.policies
           where tenant_id is null and (tenants is null or t.id = any (tenants)) and enabled) p
         order by p.id`,
      values: [tenantIds],
    });
    return this.#withGroups(policies);
  }

  /** Has policies select the groups that are there by their ids, which stay when they get other names. */
  async #withGroups(policies: readonly EnabledPolicy[]): Promise<EnabledPolicy[]> {
    const names = policies.flatMap(({ tenantId, selection }) =>
      (selection.groups ?? [])
        .filter((name) => parsePattern(name) === null)
        .map((name) => ({ tenantId, folded: foldedGroup(name) })),
    );
    const ids = await this.#groupIds(names);
    return policies.map(({ selection, ...policy }) => {
      const { groups, ...others } = selection;
      if (groups === undefined) return { ...policy, selection };
      const entries = groups.map((name) => {
        const id = ids.get(cacheKey(policy.tenantId, foldedGroup(name)));
        return id === undefined ? groupNameEntry(name) : groupEntry(id);
      });
      return { ...policy, selection: { ...others, groups: entries } };
    });
  }

  async #groupIds(names: readonly { tenantId: string; folded: string }[]): Promise<Map<string, string>> {
    if (names.length === 0) return new Map();
    const rows = await this.pool.all<{ tenantId: string; folded: string; id: string }>({
      name: 'find_selected_groups',
      text: `select n.tenant_id as "tenantId", n.folded, g.id
        from unnest($1::uuid[], $2::text[]) as n (tenant_id, folded) cross join lateral (
          select id from tenant.groups where tenant_id = n.tenant_id and folded = n.folded limit 1) g`,
      values: [names.map(({ tenantId }) => tenantId), names.map(({ folded }) => folded)],
    });
    return new Map(rows.map(({ tenantId, folded, id }) => [cacheKey(tenantId, folded), id]));
  }
}
