import { Store } from '@gatehouse/pg/store';
import { withGroupIds } from '../policies/selected-groups-system-store.ts';
import type { EnabledGuardrail } from './enabled-guardrail.ts';

const columns = 'id, tenant_id, name, selection, definition::text, secrets, version';

/** The enabled guardrails of all tenants. `pool` acts as `tenant_system`. */
export class GuardrailSystemStore extends Store {
  /** The guardrails of tenants, each with the owner's for it. */
  async findEnabled(tenantIds: readonly string[]): Promise<EnabledGuardrail[]> {
    const guardrails = await this.pool.all<EnabledGuardrail>({
      name: 'find_enabled_guardrails',
      text: `select t.id as "tenantId", g.tenant_id is null as "fromOwner", g.id, g.name, g.selection, g.definition,
           g.secrets, g.version
         from unnest($1::uuid[]) as t (id) cross join lateral (
           select ${columns} from tenant.guardrails where tenant_id = t.id and enabled
           union all
           select ${columns} from tenant.guardrails
           where tenant_id is null and (tenants is null or t.id = any (tenants)) and enabled) g
         order by g.id`,
      values: [tenantIds],
    });
    return withGroupIds(this.pool, guardrails);
  }
}
