import { z } from 'zod';
import { queryLimit, usd, utcTime, uuid } from './fields.ts';
import { ok, owner, route, type Route } from './route.ts';
import { tenantExample, tenantStatus } from './tenants.ts';

/** Budgets of tenants: `/internal/v1/owner/budgets`. */

export const listBudgets = z.strictObject({
  limit: queryLimit,
  tenant_id: uuid.optional().describe('The budget of this tenant alone'),
});

/** The budget of a tenant, with the names of `GET /v1/limits`. */
export const tenantBudget = z.strictObject({
  tenant: uuid,
  tenant_slug: z.string(),
  tenant_name: z.string(),
  status: tenantStatus,
  window: z.enum(['month', 'day']),
  limit: usd,
  used: usd.describe('Spent in the current window, without reservations of runs under way'),
  resets_at: utcTime,
});
export type TenantBudget = z.output<typeof tenantBudget>;

export const budgetList = z.strictObject({
  data: z.array(tenantBudget),
  has_more: z.boolean().describe('Whether further tenants have a budget'),
});

export const routes: readonly Route[] = [
  route('owner.budgets.get', 'GET /internal/v1/owner/budgets', {
    service: 'tenant',
    access: owner,
    query: listBudgets,
    response: ok(budgetList),
    summary: 'List the budgets of tenants and what is spent of them',
    description:
      'Those with the largest spent share first. Archived tenants are left out. `used` is the amount by which requests are limited.',
    examples: {
      highest: {
        summary: 'The budget with the largest spent share',
        query: { limit: 1 },
        response: {
          data: [
            {
              ...{ tenant: tenantExample.id, tenant_slug: tenantExample.slug },
              ...{ tenant_name: tenantExample.name, status: 'active' },
              ...{ window: 'month', limit: '500.000000000000', used: '431.204500000000' },
              resets_at: '2026-01-31T23:00:00.000Z',
            },
          ],
          has_more: true,
        },
      },
    },
  }),
];
