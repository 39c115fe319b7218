import { sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import { inTenantOrder, type Pool } from '@gatehouse/pg/pool';
import type { ApiKey } from '../keys/api-key.ts';
import type { Tenant } from './tenant.ts';
import { tenantColumns } from './tenant-store.ts';

export interface StoredSettings extends Tenant {
  someKeyLimited: boolean;
  /** Whether it has keys of its own for providers. */
  hasProviderKeys: boolean;
  /** Whether it has enabled policies, or the owner has one for it. */
  hasPolicies: boolean;
  /** Whether it has enabled guardrails, or the owner has one for it. */
  hasGuardrails: boolean;
  /** Whether it has users in its directory. */
  hasUsers: boolean;
  /** Whether sessions have budgets set by their requests. */
  hasSessionBudgets: boolean;
}

export type LimitedKey = Pick<ApiKey, 'id' | 'limits' | 'budget'>;

/** Settings of tenants, for as many as are needed at once. `known` acts as `tenant_system`. */
export function findSettings(known: Pool, tenantIds: readonly string[]): Promise<StoredSettings[]> {
  return known.all<StoredSettings>({
    name: 'find_tenant_settings',
    text: `select ${tenantColumns}, exists (
         select from tenant.api_keys k
         where k.tenant_id = t.id and (k.limits is not null or k.budget is not null)) as "someKeyLimited",
         exists (select from tenant.provider_keys p where p.tenant_id = t.id) as "hasProviderKeys",
         exists (select from tenant.policies o where o.enabled and (o.tenant_id = t.id
           or o.tenant_id is null and (o.tenants is null or t.id = any (o.tenants)))) as "hasPolicies",
         exists (select from tenant.guardrails g where g.enabled and (g.tenant_id = t.id
           or g.tenant_id is null and (g.tenants is null or t.id = any (g.tenants)))) as "hasGuardrails",
         exists (select from tenant.user_directories d where d.tenant_id = t.id) as "hasUsers",
         exists (
           select from tenant.policy_counters c where c.policy_id = $2 and c.tenant_id = t.id) as "hasSessionBudgets"
       from tenant.tenants t where id = any($1)`,
    values: [tenantIds, sessionBudgetPolicyId],
  });
}

/**
 * The active keys of a tenant with limits of their own: all of them or one, newest first. `proved` acts as
 * `tenant_system`.
 */
export function findLimitedKeys(
  proved: Pool,
  tenantId: string,
  { id, max }: { id: string | null; max: number },
): Promise<LimitedKey[]> {
  return inTenantOrder(proved, tenantId, (db) =>
    db.all<LimitedKey>(
      `select id, limits, budget from tenant.api_keys
       where tenant_id = $1 and ($2::uuid is null or id = $2) and (limits is not null or budget is not null)
         and revoked_at is null and (expires_at is null or expires_at > now())
       order by id desc limit $3`,
      [tenantId, id, max],
    ),
  );
}
