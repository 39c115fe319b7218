import { z } from 'zod';
import { listOf, page, storableText, utcTime, uuid } from './fields.ts';
import { ok, owner, pageOf, route, scope, type Route } from './route.ts';
import { tenantExample } from './tenants.ts';

/** Counters of policies: `GET /v1/policies/{policy}/counters`, and the same of the owner. */

/** The orders of the list. */
const counterSorts = ['spent', 'remaining'] as const;

export const listPolicyCounters = z.strictObject({
  ...page,
  q: storableText(1, 256).optional().describe('Values that begin with this text, in any case'),
  sort: z
    .enum(counterSorts)
    .optional()
    .describe(
      '`spent` (without it, too): the most spent first; `remaining`: the least remaining first, without reservations',
    ),
});

export const listOwnerPolicyCounters = listPolicyCounters.extend({
  tenant_id: uuid.optional().describe('Counters of this tenant alone'),
});

const counterAmount = z.int();
export const policyCounter = z.strictObject({
  value: z
    .string()
    .nullable()
    .describe(
      'The value of `per`; `null` if the policy has one counter. The id of the counter if the data of its user was deleted',
    ),
  limits: z
    .array(
      z.strictObject({
        resource: z.enum(['requests', 'tokens', 'concurrency']),
        limit: counterAmount,
        used: counterAmount,
        remaining: counterAmount,
        resets_at: utcTime.nullable(),
      }),
    )
    .describe('Those of the policy, or of the override for the value'),
  budget_usd: z.string().nullable().describe('`null` without a budget for this value'),
  spent_usd: z.string().nullable().describe('`null` if the policy has no budget'),
  reserved_usd: z.string().nullable().describe('Held for requests under way; the unspent part is released'),
  remaining_usd: z.string().nullable(),
  resets_at: utcTime.nullable().describe('The end of the window of the budget; `null` without an end'),
});
export type PolicyCounter = z.output<typeof policyCounter>;
export const policyCounterList = listOf(policyCounter);

/** With the names of `GET /internal/v1/owner/budgets`. */
export const ownerPolicyCounter = z.strictObject({
  ...{ tenant: uuid, tenant_slug: z.string(), tenant_name: z.string() },
  ...policyCounter.shape,
});
export type OwnerPolicyCounter = z.output<typeof ownerPolicyCounter>;
export const ownerPolicyCounterList = listOf(ownerPolicyCounter);

const counterExample: PolicyCounter = {
  value: 'ada',
  limits: [
    {
      resource: 'requests',
      limit: 60,
      used: 3,
      remaining: 57,
      resets_at: '2026-01-10T09:01:00.000Z',
    },
  ],
  budget_usd: '20.000000000000',
  spent_usd: '12.340500000000',
  reserved_usd: '0.096000000000',
  remaining_usd: '7.563500000000',
  resets_at: '2026-02-01T00:00:00.000Z',
};

export const routes: readonly Route[] = [
  route('policies.counters.list', 'GET /v1/policies/{policy}/counters', {
    service: 'tenant',
    access: scope('policies.write'),
    query: listPolicyCounters,
    response: ok(policyCounterList),
    summary: 'List the counters of a policy and their use',
    description:
      'Those in their present windows; a value that has not been counted in its window has none. Also of policies of the operator, for this tenant.',
    examples: {
      page: {
        summary: 'The most spent first',
        params: { policy: 'people' },
        query: { sort: 'spent', limit: 20 },
        response: pageOf(counterExample),
      },
    },
  }),
  route('owner.policies.counters.list', 'GET /internal/v1/owner/policies/{policy}/counters', {
    service: 'tenant',
    access: owner,
    query: listOwnerPolicyCounters,
    response: ok(ownerPolicyCounterList),
    summary: 'List the counters of a policy of all tenants and their use',
    description: 'Each tenant has counters of its own, in the windows of its time zone.',
    examples: {
      page: {
        summary: 'The most spent first',
        params: { policy: 'free-tier' },
        query: { sort: 'spent', limit: 20 },
        response: pageOf({
          ...{ tenant: tenantExample.id, tenant_slug: tenantExample.slug },
          ...{ ...counterExample, tenant_name: tenantExample.name },
          value: '0198c2f8-0a1b-7c2d-8e3f-405162738495',
        }),
      },
    },
  }),
];
