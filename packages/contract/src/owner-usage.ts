import { owner, ok, routesWith, type Route } from './route.ts';
import {
  asOfExample,
  exportedCosts,
  maxExportedRows,
  ownerCostSummary,
  ownerExportQuery,
  ownerSummaryQuery,
  ownerUsageSummary,
  periodExample,
  totalsExample,
} from './usage.ts';

/** Usage and costs of all tenants: `/internal/v1/owner/usage/summary`, `/internal/v1/owner/costs/*`. */

const tenantKey = {
  tenant: '0198c2a5-0d1e-7b52-8c3a-4f5e6d7c8b9a',
  tenant_slug: 'acme',
  tenant_name: 'Acme Inc.',
};

const csvExample = [
  'tenant,tenant_slug,tenant_name,requests,input_tokens,cached_input_tokens,output_tokens,reasoning_tokens,total_usd,unpriced_requests,estimated_requests,estimated_usd,own_key_requests,own_key_usd,currency,timezone,as_of',
  `${Object.values(tenantKey).join(',')},40,1300,0,240,0,0.043008000000,0,0,0.000000000000,0,0.000000000000,USD,UTC,2026-01-10T23:59:58.000Z`,
]
  .map((line) => `${line}\r\n`)
  .join('');

const nothingOwn = { requests: 0, total_usd: '0.000000000000' };

const route = routesWith({ service: 'analytics', access: owner });

export const routes: readonly Route[] = [
  route('owner.usage.summary', 'GET /internal/v1/owner/usage/summary', {
    query: ownerSummaryQuery,
    response: ok(ownerUsageSummary),
    summary: 'Get requests and tokens of all tenants, in total and by group',
    description:
      'Like `GET /v1/usage/summary`, over all tenants or, with `tenant`, of one. Figures only: no users, sessions or text of a tenant. `unique_users` is the sum of those of each tenant.',
    examples: {
      tenants: {
        summary: 'The last 24 hours by tenant',
        query: { group_by: 'tenant' },
        response: {
          ...periodExample,
          as_of: asOfExample,
          totals: totalsExample,
          groups: [{ key: tenantKey, ...totalsExample }],
          previous: null,
          truncated: false,
        },
      },
    },
  }),
  route('owner.costs.summary', 'GET /internal/v1/owner/costs/summary', {
    query: ownerSummaryQuery,
    response: ok(ownerCostSummary),
    summary: 'Get the cost of runs of all tenants, in total and by group',
    description:
      'Like `GET /v1/costs/summary`, over all tenants or, with `tenant`, of one. The total is the sum of the totals of the tenants, to the last digit.',
    examples: {
      tenants: {
        summary: 'The last 24 hours by tenant',
        query: { group_by: 'tenant' },
        response: {
          currency: 'USD',
          ...periodExample,
          as_of: asOfExample,
          total_usd: '0.043008000000',
          unpriced: { requests: 2, models: ['local-llama'] },
          estimated: nothingOwn,
          own_key: nothingOwn,
          groups: [{ key: tenantKey, requests: 42, total_usd: '0.043008000000', unpriced_requests: 2 }],
          previous: null,
          truncated: false,
        },
      },
    },
  }),
  route('owner.costs.export', 'GET /internal/v1/owner/costs/export', {
    query: ownerExportQuery,
    response: { status: 200, shape: exportedCosts, csv: true },
    summary: 'Export the cost of runs of all tenants as CSV',
    description: `Like \`GET /v1/costs/export\`, over all tenants or, with \`tenant\`, of one: at most ${maxExportedRows.toLocaleString('en-US')} rows, complete only if the response ends normally. In FOCUS, each tenant is a billing account.`,
    examples: {
      tenants: {
        summary: 'By tenant',
        query: { group_by: 'tenant' },
        response: csvExample,
      },
    },
  }),
];
