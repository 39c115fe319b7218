import { z } from 'zod';
import { dialectNames } from './dialects.ts';
import {
  count,
  modelId,
  storableText,
  timestamp,
  tokenCounts,
  usd,
  userId,
  utcTime,
  uuid,
} from './fields.ts';
import { csvQuery, ok, routesWith, scope, type Route } from './route.ts';
import { isTimezone, timezonePattern } from './timezone.ts';
import { tokensExample } from './traces.ts';
import { groupName } from './users.ts';

/** Usage and costs: `/v1/usage/summary`, `/v1/costs/summary`, `/v1/costs/export`. */

const sharedDimensions = [
  'hour',
  'day',
  'month',
  'agent',
  'model',
  'provider',
  'channel',
  'dialect',
  'client',
  'api_key',
  'error_code',
] as const;

/** Groups of the runs of a tenant. */
const dimension = z.enum([...sharedDimensions, 'user', 'session', 'group']);
/** Groups of the runs of all tenants: figures without people. */
const ownerDimension = z.enum(['tenant', ...sharedDimensions]);
export type Dimension = z.output<typeof dimension> | z.output<typeof ownerDimension>;

function groupsOf<const Names extends Readonly<Record<string, string>>>(
  dimensions: z.ZodEnum<Names>,
  { most, note = '' }: { most: number; note?: string },
) {
  const names = dimensions.options.join('|');
  return z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(
      z
        .array(dimensions)
        .max(most)
        .refine((list) => new Set(list).size === list.length, 'must not repeat a dimension'),
    )
    .meta({
      description: `At most ${most} of ${dimensions.options.join(', ')}, separated by commas${note}`,
      pattern: `^(${names})(,(${names})){0,${most - 1}}$`,
    });
}

const sharedFilters = {
  from: timestamp.optional().describe('Inclusive; 24 hours before `to` by default'),
  to: timestamp.optional().describe('Exclusive; now by default'),
  agent_id: uuid.optional(),
  model: modelId.optional(),
  provider: storableText(1, 128).optional(),
  channel: storableText(1, 64).optional(),
  dialect: z.enum(dialectNames).optional().describe('The API of the client'),
  api_key_id: uuid.optional(),
};
const filters = {
  ...sharedFilters,
  user_id: userId.optional(),
  group: groupName
    .optional()
    .describe('A group, in any case, that the user of the run had when the run began'),
};
const ownerFilters = {
  ...sharedFilters,
  tenant: storableText(1, 64).optional().describe('ID or slug of a tenant'),
  tenant_id: uuid.optional().describe('The same as `tenant`, with an ID'),
};

const timezone = z
  .string()
  .max(64)
  .refine(isTimezone, 'must be an IANA time zone such as "Europe/Berlin"')
  .meta({ pattern: timezonePattern })
  .default('UTC')
  .describe('IANA time zone of days and months');

const compare = z
  .literal('previous')
  .optional()
  .describe('`previous` adds the totals of the period before, of the same length');

const summarized = 3;
export const summaryQuery = z.strictObject({
  ...filters,
  group_by: groupsOf(dimension, { most: summarized }).optional(),
  timezone,
  compare,
});
export type SummaryQuery = z.output<typeof summaryQuery>;

export const ownerSummaryQuery = z.strictObject({
  ...ownerFilters,
  group_by: groupsOf(ownerDimension, { most: summarized }).optional(),
  timezone,
  compare,
});
export type OwnerSummaryQuery = z.output<typeof ownerSummaryQuery>;

/** The rows of an export as CSV, if the query does not say otherwise. */
export const exportDimensions: readonly Dimension[] = ['day', 'model', 'agent', 'user', 'api_key'];
/** The same of an owner's export. */
export const ownerExportDimensions: readonly Dimension[] = ['tenant', 'day', 'model'];

const format = (rows: string) =>
  z
    .enum(['csv', 'focus'])
    .default('csv')
    .describe(`\`focus\`: the columns of FOCUS 1.2, a row for each ${rows}`);
const exported = (byDefault: readonly Dimension[]) => ({
  most: 6,
  note: `; ${byDefault.join(',')} by default. Not with \`focus\``,
});

export const exportQuery = z.strictObject({
  ...filters,
  format: format('day, model, provider, agent, user and key'),
  group_by: groupsOf(dimension, exported(exportDimensions)).optional(),
  timezone,
  ...csvQuery.shape,
});
export type ExportQuery = z.output<typeof exportQuery>;

export const ownerExportQuery = z.strictObject({
  ...ownerFilters,
  format: format('tenant, day, model, provider, agent and key'),
  group_by: groupsOf(ownerDimension, exported(ownerExportDimensions)).optional(),
  timezone,
  ...csvQuery.shape,
});
export type OwnerExportQuery = z.output<typeof ownerExportQuery>;

const keyOfGroups =
  'One member for each name in `group_by`: a day is `2026-03-29`, a month `2026-03`, an hour its start time. `client` is the program that its `User-Agent` names, from a closed list, or `other`; null where a run has none of these. `error_code` is that of refused requests; null for runs';
/** Names beside the ids of groups. */
const keyNames = ['agent_key', 'api_key_name'] as const;
const tenantNames = ['tenant_slug', 'tenant_name'] as const;
const text = z.string().nullable();
const namesBeside = 'null if it is not known';
const groupKey = z
  .partialRecord(z.enum([...dimension.options, ...keyNames]), text)
  .describe(
    `${keyOfGroups}. \`group\` is a group that the user of the run had when the run began, null without one; a run counts in each of its groups, and once in totals. Beside \`agent\` is \`agent_key\`, beside \`api_key\` \`api_key_name\`; ${namesBeside}`,
  );
const ownerGroupKey = z
  .partialRecord(z.enum([...ownerDimension.options, ...tenantNames]), text)
  .describe(
    `${keyOfGroups}. Beside \`tenant\`, which is its id, are \`tenant_slug\` and \`tenant_name\`; ${namesBeside}`,
  );
export type GroupKey = z.output<typeof groupKey> & z.output<typeof ownerGroupKey>;

const usageTotals = {
  requests: count,
  errors: count,
  cancelled: count,
  ...tokenCounts,
  total_tokens: count,
  tool_calls: count,
  unique_users: count,
  avg_duration_ms: z.number().nullable(),
  refused: count.describe(
    'Requests answered 4xx before any provider call, which are in no other figure: those of quarters of an hour that begin in the period, and after two days of days',
  ),
  blocked: count.describe('Runs with an answer that a guardrail ended'),
};

const period = { from: utcTime, to: utcTime };

const usageSummaryBy = <Key extends z.ZodType>(key: Key) =>
  z.strictObject({
    ...period,
    as_of: utcTime.describe('All runs that ended before this time are included'),
    totals: z.strictObject(usageTotals),
    groups: z.array(z.strictObject({ key, ...usageTotals })),
    previous: z.strictObject({ ...period, totals: z.strictObject(usageTotals) }).nullable(),
    truncated: z
      .boolean()
      .describe('Whether groups are missing because the response reached 10,000 groups or 4 MiB'),
  });
export const usageSummary = usageSummaryBy(groupKey);
export const ownerUsageSummary = usageSummaryBy(ownerGroupKey);
export type UsageSummary = z.output<typeof usageSummary>;

const costTotals = {
  total_usd: usd,
  unpriced: z.strictObject({ requests: count, models: z.array(z.string()) }),
  estimated: z.strictObject({ requests: count, total_usd: usd }),
  own_key: z
    .strictObject({ requests: count, total_usd: usd })
    .describe("Runs with keys of the tenant's own for providers; in no other amount"),
};

const costSummaryBy = <Key extends z.ZodType>(key: Key) =>
  z.strictObject({
    currency: z.literal('USD'),
    ...period,
    as_of: utcTime,
    ...costTotals,
    groups: z.array(z.strictObject({ key, requests: count, total_usd: usd, unpriced_requests: count })),
    previous: z.strictObject({ ...period, ...costTotals }).nullable(),
    truncated: z.boolean(),
  });
export const costSummary = costSummaryBy(groupKey);
export const ownerCostSummary = costSummaryBy(ownerGroupKey);
export type CostSummary = z.output<typeof costSummary>;

export const exportedCosts = z
  .string()
  .describe('Lines of CSV (RFC 4180) after one with the names of columns');

/** The most rows of an export. */
export const maxExportedRows = 100_000;

export const totalsExample = {
  requests: 42,
  errors: 1,
  cancelled: 0,
  ...tokensExample,
  total_tokens: 1_540,
  tool_calls: 0,
  unique_users: 7,
  avg_duration_ms: 1_290.5,
  refused: 3,
  blocked: 0,
};

export const periodExample = { from: '2026-01-10T00:00:00.000Z', to: '2026-01-11T00:00:00.000Z' };

export const asOfExample = '2026-01-10T23:59:58.000Z';

const csvExample = [
  'day,model,requests,input_tokens,cached_input_tokens,output_tokens,reasoning_tokens,total_usd,unpriced_requests,estimated_requests,estimated_usd,own_key_requests,own_key_usd,currency,timezone,as_of',
  '2026-01-10,gpt-4.1-mini,40,1300,0,240,0,0.043008000000,0,0,0.000000000000,0,0.000000000000,USD,Europe/Berlin,2026-01-10T23:59:58.000Z',
  '2026-01-10,local-llama,2,40,0,12,0,0.000000000000,2,0,0.000000000000,0,0.000000000000,USD,Europe/Berlin,2026-01-10T23:59:58.000Z',
]
  .map((line) => `${line}\r\n`)
  .join('');

const route = routesWith({ service: 'analytics', access: scope('analytics.read'), actingUser: true });

export const routes: readonly Route[] = [
  route('usage.summary', 'GET /v1/usage/summary', {
    query: summaryQuery,
    response: ok(usageSummary),
    summary: 'Get requests and tokens, in total and by group',
    description:
      'The period is the last 24 hours by default, and at most 400 days. `from` is inclusive, `to` exclusive. All runs that ended before `as_of` are included.',
    examples: {
      models: {
        summary: 'The last 24 hours by model',
        query: { group_by: 'model' },
        response: {
          ...periodExample,
          as_of: asOfExample,
          totals: totalsExample,
          groups: [{ key: { model: 'gpt-4.1-mini' }, ...totalsExample }],
          previous: null,
          truncated: false,
        },
      },
      clients: {
        summary: 'The last 24 hours by the program and the API of the clients',
        query: { group_by: 'client,dialect' },
        response: {
          ...periodExample,
          as_of: asOfExample,
          totals: totalsExample,
          groups: [{ key: { client: 'claude-code', dialect: 'messages' }, ...totalsExample }],
          previous: null,
          truncated: false,
        },
      },
    },
  }),
  route('costs.summary', 'GET /v1/costs/summary', {
    query: summaryQuery,
    response: ok(costSummary),
    summary: 'Get the cost of runs, in total and by group',
    description:
      'Amounts are exact decimal text in USD. Runs of models without a price are listed under `unpriced`; they never count as free.',
    examples: {
      days: {
        summary: 'By day and user, in a time zone, compared with the previous period',
        query: { group_by: 'day,user', timezone: 'Europe/Berlin', compare: 'previous' },
        response: {
          currency: 'USD',
          ...periodExample,
          as_of: asOfExample,
          total_usd: '0.043008000000',
          unpriced: { requests: 2, models: ['local-llama'] },
          estimated: { requests: 0, total_usd: '0.000000000000' },
          own_key: { requests: 0, total_usd: '0.000000000000' },
          groups: [
            {
              key: { day: '2026-01-10', user: 'ada' },
              requests: 42,
              total_usd: '0.043008000000',
              unpriced_requests: 2,
            },
          ],
          previous: {
            from: '2026-01-09T00:00:00.000Z',
            to: periodExample.from,
            total_usd: '0.039120000000',
            unpriced: { requests: 0, models: [] },
            estimated: { requests: 0, total_usd: '0.000000000000' },
            own_key: { requests: 0, total_usd: '0.000000000000' },
          },
          truncated: false,
        },
      },
    },
  }),
  route('costs.export', 'GET /v1/costs/export', {
    query: exportQuery,
    response: { status: 200, shape: exportedCosts, csv: true },
    summary: 'Export the cost of runs as CSV',
    description: `Streams one row for each group, all of them as at one moment; their amounts add up to those of \`GET /v1/costs/summary\`, unless by \`group\`, where a run is in the row of each of its groups. Text that begins like a formula of a spreadsheet has an apostrophe before it. An export of more than ${maxExportedRows.toLocaleString('en-US')} rows returns 400. An export is complete only if the response ends normally; \`x-gateway-rows\` says how many rows it has, besides the first with the names.`,
    examples: {
      days: {
        summary: 'By day and model, in a time zone',
        query: { group_by: 'day,model', timezone: 'Europe/Berlin' },
        response: csvExample,
      },
    },
  }),
];
