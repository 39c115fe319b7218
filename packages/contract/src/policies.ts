import { z } from 'zod';
import { setOf, storableText, usd } from './fields.ts';

/** Limits and budgets of the runs that a policy selects. */

export const policyPers = ['user', 'group', 'agent', 'api_key', 'session', 'model'] as const;
export type PolicyPer = (typeof policyPers)[number];

export const policyPeriods = ['hour', 'day', 'week', 'month', 'quarter', 'year', 'total'] as const;

const selected = setOf(storableText(1, 256)).max(200);

export const policySelect = z
  .strictObject({
    users: selected.describe('Ids of users'),
    groups: selected.describe('Names of groups of the acting user, in any case'),
    agents: selected.describe('Ids or keys of agents'),
    api_keys: selected.describe('Ids of API keys'),
    models: selected.describe('Ids of models; a call counts by the model called'),
  })
  .describe(
    'The runs that the policy is for: those with one of the values of each field that is not empty. `*` in a value stands for any text. All empty: every run',
  );
export type PolicySelect = z.output<typeof policySelect>;

export const policyLimits = z.strictObject({
  requests_per_minute: z
    .int()
    .min(0)
    .max(10_000_000)
    .nullable()
    .optional()
    .describe('0 forbids: 403 `forbidden_by_policy`'),
  tokens_per_minute: z.int().min(1).max(1_000_000_000).nullable().optional(),
  max_concurrent: z.int().min(1).max(1_000_000).nullable().optional(),
});
export type PolicyLimits = z.output<typeof policyLimits>;

export const policyBudget = z.strictObject({ usd, period: z.enum(policyPeriods) });
export type PolicyBudget = z.output<typeof policyBudget>;
