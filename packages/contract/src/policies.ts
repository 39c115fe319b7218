import { z } from 'zod';
import {
  listOf,
  page,
  recordOf,
  setOf,
  slug,
  storableText,
  timestamp,
  usd,
  utcTime,
  uuid,
} from './fields.ts';
import {
  created,
  noContent,
  ok,
  owner,
  pageExample,
  pick,
  routesWith,
  scope,
  type Access,
  type Route,
} from './route.ts';
import { ownerSelectFields, runSelect, selectFields } from './run-select.ts';

/** Limits and budgets of selected runs: `/v1/policies*`, and the same of the owner. */

/** The most policies of one tenant, and of the owner. */
export const maxPolicies = { ofTenant: 32, ofOwner: 8 } as const;
/** The most overrides of one policy. */
export const maxOverrides = 10_000;

export const policyPers = ['user', 'group', 'agent', 'api_key', 'session', 'model'] as const;
export type PolicyPer = (typeof policyPers)[number];

export const policyPeriods = ['hour', 'day', 'week', 'month', 'quarter', 'year', 'total'] as const;
export type PolicyPeriod = (typeof policyPeriods)[number];

export const policySelect = runSelect('policy');
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

const overrideAmounts = {
  budget_usd: usd
    .nullable()
    .optional()
    .describe("In place of the budget's amount: `null` for none. Absent: the amount of the policy"),
  limits: policyLimits
    .nullable()
    .optional()
    .describe(
      "In place of the policy's limits: `null` for none, and for a member that is `null`. Absent members are those of the policy",
    ),
};

export const putPolicyOverride = z.strictObject({
  ...overrideAmounts,
  until: timestamp.nullable().default(null).describe('Without effect from then on; `null` for no end'),
  note: storableText(0, 500).nullable().default(null),
});
export type PutPolicyOverride = z.output<typeof putPolicyOverride>;

export const policyOverride = z.strictObject({
  ...overrideAmounts,
  until: utcTime.nullable(),
  note: z.string().nullable(),
});
export type PolicyOverride = z.output<typeof policyOverride>;

/** A value of `per`, of a session with its user or key; or `group:<name>` for the users of a group. */
export const overrideValue = storableText(1, 512);

const alerts = setOf(z.int().min(1).max(100))
  .max(10)
  .describe('Percentages of the budget at which the event `budget.threshold` is sent, once in each window');

const settings = {
  name: slug,
  limits: policyLimits,
  budget: policyBudget.nullable(),
  alerts,
  enforce: z
    .boolean()
    .describe('`false`: the budget counts what has ended and sends its events, but refuses nothing'),
  enabled: z.boolean(),
};

const commonFields = {
  id: uuid,
  ...settings,
  name: z.string().describe('Begins with `owner:` for one of the operator, who alone changes it'),
  per: z
    .enum(policyPers)
    .nullable()
    .describe('Each value has a counter of its own; `null`: one counter for all runs. Never changes'),
  overrides: z
    .record(z.string(), policyOverride)
    .meta({ maxProperties: maxOverrides })
    .describe('Amounts of single values of `per`; for `per: "user"` also of the users of `group:<name>`'),
  counts_since: utcTime.describe(
    'Its creation, the last change of `select`, or the last reset of all of its counters: earlier runs do not count',
  ),
  created_at: utcTime,
  updated_at: utcTime,
};

export const policy = z.strictObject({ ...commonFields, select: policySelect });
export type Policy = z.output<typeof policy>;

export const policyList = listOf(policy);

/** The most values of a preview. */
export const maxPreviewedValues = 100;

export const policyPreview = z
  .strictObject({
    runs: z.int().describe('Runs of the last 7 days that it would have counted'),
    values_over: z
      .array(
        z.strictObject({
          value: z.string().nullable().describe('A value of `per`; `null` if it has one counter'),
          spent_usd: z.string().describe('In the window with the most'),
          budget_usd: z.string(),
        }),
      )
      .max(maxPreviewedValues)
      .describe('Those that spent more than their budget in a window of its period, the most spent first'),
    truncated: z.boolean().describe('Whether runs or values are left out'),
  })
  .nullable()
  .describe('`null` while runs cannot be read, and for policies of the operator');
export type PolicyPreview = z.output<typeof policyPreview>;

export const ownerPolicy = z.strictObject({
  ...commonFields,
  select: z.strictObject(ownerSelectFields),
  tenants: z
    .array(uuid)
    .nullable()
    .describe('The tenants that it holds for; `null` for all. Each counts apart'),
});
export type OwnerPolicy = z.output<typeof ownerPolicy>;
export const ownerPolicyList = listOf(ownerPolicy);

const newOverrides = recordOf(overrideValue, putPolicyOverride, maxOverrides);

const creation = {
  ...settings,
  limits: settings.limits.default({}),
  budget: settings.budget.default(null),
  alerts: alerts.default([50, 80, 100]),
  enforce: settings.enforce.default(true),
  enabled: settings.enabled.default(true),
  overrides: newOverrides.default({}),
};

export const createPolicy = z.strictObject({
  ...creation,
  select: z.strictObject(selectFields).partial().default({}),
  per: z.enum(policyPers).nullable().default(null),
});
export type CreatePolicy = z.output<typeof createPolicy>;

const tenants = setOf(uuid).min(1).max(1_000).nullable();

export const createOwnerPolicy = z.strictObject({
  ...creation,
  select: z.strictObject(ownerSelectFields).partial().default({}),
  per: z.enum(['agent', 'api_key', 'session', 'model']).nullable().default(null),
  tenants: tenants.default(null),
});
export type CreateOwnerPolicy = z.output<typeof createOwnerPolicy>;

/** Part of a JSON merge patch (RFC 7396): the period stays. */
const patchedBudget = policyBudget
  .extend({ period: policyBudget.shape.period.optional().describe('Never changes') })
  .nullable();

const patch = {
  ...settings,
  limits: policyLimits.describe('Absent members stay unchanged; `null` is no limit'),
  budget: patchedBudget,
  overrides: newOverrides.describe('All overrides in place of the present ones'),
};

export const patchPolicy = z
  .strictObject({ ...patch, select: z.strictObject(selectFields).partial() })
  .partial();
export type PatchPolicy = z.output<typeof patchPolicy>;

export const patchOwnerPolicy = z
  .strictObject({ ...patch, select: z.strictObject(ownerSelectFields).partial(), tenants })
  .partial();
export type PatchOwnerPolicy = z.output<typeof patchOwnerPolicy>;

export const resetPolicy = z.strictObject({
  value: overrideValue
    .optional()
    .describe('The value of `per` with the counter, as in the list of counters. Absent: all counters'),
});
export type ResetPolicy = z.output<typeof resetPolicy>;

export const listPolicies = z.strictObject(page);

const example: Policy = {
  id: '0198c2f8-1b3d-7c5e-9f70-8a9bacbdcedf',
  name: 'people',
  select: { users: [], groups: [], agents: [], api_keys: [], models: [] },
  per: 'user',
  limits: { requests_per_minute: 60 },
  budget: { usd: '20.00', period: 'month' },
  overrides: {
    grace: { budget_usd: '100.00', until: '2026-03-01T00:00:00.000Z', note: 'Migration project' },
  },
  alerts: [50, 80, 100],
  enforce: true,
  enabled: true,
  counts_since: '2026-01-10T09:00:00.000Z',
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};
const ownerExample = {
  ...example,
  name: 'free-tier',
  ...{ select: { agents: [], api_keys: [], models: ['gpt-5*'] }, per: 'agent', overrides: {}, limits: {} },
  tenants: ['0198c2a4-8b1d-7f02-a6a1-0c9e4d7b8e55'],
};

interface Audience {
  prefix: string;
  path: `/${string}`;
  access: Access;
  shapes: { one: z.ZodType; list: z.ZodType; create: z.ZodType; patch: z.ZodType };
  example: Readonly<Record<string, unknown>> & { name: string };
}

/** The same routes for a tenant and for the owner. */
function routesOf(audience: Audience): Route[] {
  const { prefix, path, access, shapes, example: one } = audience;
  const route = routesWith({ service: 'tenant', access });
  const params = { policy: one.name };
  const onlyInDryRun = { preview: policyPreview };
  return [
    route(`${prefix}.list`, `GET ${path}`, {
      query: listPolicies,
      response: ok(shapes.list),
      summary: 'List policies',
      examples: pageExample('The newest policy', one),
    }),
    route(`${prefix}.create`, `POST ${path}`, {
      idempotencyKey: true,
      body: shapes.create,
      response: created(shapes.one),
      nullInDryRun: ['id'],
      onlyInDryRun,
      summary: 'Create a policy',
      description:
        'Holds within 5 seconds for runs that begin then, beside the limits and the budget of the tenant and of the key.',
      examples: {
        policy: {
          summary: 'A policy',
          body: pick(one, ...['name', 'select', 'per', 'limits', 'budget'].filter((name) => name in one)),
          response: { ...one, overrides: {} },
        },
      },
    }),
    route(`${prefix}.get`, `GET ${path}/{policy}`, {
      response: ok(shapes.one),
      summary: 'Get a policy by its id or name',
      examples: { policy: { summary: 'A policy', params, response: one } },
    }),
    route(`${prefix}.patch`, `PATCH ${path}/{policy}`, {
      body: shapes.patch,
      response: ok(shapes.one),
      onlyInDryRun,
      summary: 'Change a policy',
      description:
        'A JSON merge patch (RFC 7396), but for `overrides`. `per` and the period of the budget never change. A new amount counts what the window has spent; with another `select` the policy counts from now on. Runs under way stay in the policies that matched when they began.',
      examples: {
        disable: {
          summary: 'Disable it',
          params,
          body: { enabled: false },
          response: { ...one, enabled: false },
        },
      },
    }),
    route(`${prefix}.delete`, `DELETE ${path}/{policy}`, {
      response: noContent,
      summary: 'Delete a policy with its overrides and counters',
      examples: { policy: { summary: 'A policy', params } },
    }),
    ...counterRoutesOf(audience),
  ];
}

/** The routes of single counters and values. */
function counterRoutesOf({ prefix, path, access, shapes, example: one }: Audience): Route[] {
  const route = routesWith({ service: 'tenant', access });
  const params = { policy: one.name };
  return [
    route(`${prefix}.reset`, `POST ${path}/{policy}/reset`, {
      body: resetPolicy,
      response: ok(shapes.one),
      summary: 'Begin a new window of one counter, or of all',
      description:
        'Holds within 5 seconds. Calls under way count in the window that they began in. A value without a counter has nothing to reset.',
      examples: {
        value: {
          summary: 'The counter of one value',
          params,
          body: { value: 'grace' },
          response: one,
        },
      },
    }),
    route(`${prefix}.overrides.put`, `PUT ${path}/{policy}/overrides/{value}`, {
      body: putPolicyOverride,
      response: ok(policyOverride),
      summary: 'Set the amounts of one value',
      description:
        "A value of the policy's `per`, or `group:<name>` where that is `user`. A session is `user:<encoded user_id>/<session id>`, or without a user `key:<key id>/<session id>`. A user's own override counts before those of groups; of several groups, the largest amount.",
      examples: {
        user: {
          summary: 'More for one user, for two months',
          params: { ...params, value: 'grace' },
          body: { budget_usd: '100.00', until: '2026-03-01T00:00:00Z', note: 'Migration project' },
          response: { budget_usd: '100.00', until: '2026-03-01T00:00:00.000Z', note: 'Migration project' },
        },
      },
    }),
    route(`${prefix}.overrides.delete`, `DELETE ${path}/{policy}/overrides/{value}`, {
      response: noContent,
      summary: 'Delete an override: the amounts of the policy hold again',
      examples: { user: { summary: 'That of a user', params: { ...params, value: 'grace' } } },
    }),
  ];
}

export const routes: readonly Route[] = [
  ...routesOf({
    ...{ prefix: 'policies', path: '/v1/policies', access: scope('policies.write') },
    ...{ shapes: { one: policy, list: policyList, create: createPolicy, patch: patchPolicy }, example },
  }),
  ...routesOf({
    ...{ prefix: 'owner.policies', path: '/internal/v1/owner/policies', access: owner },
    shapes: { one: ownerPolicy, list: ownerPolicyList, create: createOwnerPolicy, patch: patchOwnerPolicy },
    example: ownerExample,
  }),
];
