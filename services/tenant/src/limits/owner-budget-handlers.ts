import type { listBudgets, TenantBudget } from '@gatehouse/contract/owner-budgets';
import type { Call, Handler } from '@gatehouse/http/app';
import { picoOf, usdOf } from '@gatehouse/kit/money';
import type { z } from 'zod';
import type { BudgetSystemStore, BudgetUse } from './budget-system-store.ts';

/** `GET /internal/v1/owner/budgets`: what tenants have spent of their budgets. */
export function budgetHandlers(budgets: BudgetSystemStore): Record<string, Handler> {
  return {
    'owner.budgets.get': async (call: Call<unknown, z.output<typeof listBudgets>>) => {
      const { limit, tenant_id: tenantId = null } = call.query;
      const { rows, more } = await budgets.list({ tenantId, limit });
      return { body: { data: rows.map(showBudget), has_more: more } };
    },
  };
}

function showBudget({ id, slug, name, status, budget, used, resetsAt }: BudgetUse): TenantBudget {
  return {
    tenant: id,
    tenant_slug: slug,
    tenant_name: name,
    status,
    window: budget.period,
    limit: usdOf(picoOf(budget.usd)),
    used: usdOf(BigInt(used)),
    resets_at: resetsAt.toISOString(),
  };
}
