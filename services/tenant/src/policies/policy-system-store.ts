import { Store } from '@gatehouse/pg/store';
import type { EnabledPolicy } from './enabled-policy.ts';
import { withGroupIds } from './selected-groups-system-store.ts';

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
    return withGroupIds(this.pool, policies);
  }
}
