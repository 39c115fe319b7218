import { z } from 'zod';
import {
  modelId,
  queryCursor,
  queryLimit,
  storableText,
  timestamp,
  usd,
  userId,
  utcTime,
  uuid,
} from './fields.ts';
import { isTimezone } from './timezone.ts';

/** Traces, usage and costs: `/v1/traces*`, `/v1/usage/summary`, `/v1/costs/summary` (contract §3). */

export const traceStatus = z.enum(['running', 'ok', 'error', 'cancelled', 'interrupted']);

const count = z.int().min(0);
const traceId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 lower-case hexadecimal digits');

const tokens = {
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
};

/** One provider call of a run. */
export const span = z.strictObject({
  id: uuid,
  kind: z.enum(['llm', 'tool', 'memory', 'embedding']),
  name: z.string(),
  status: z.enum(['ok', 'error', 'cancelled', 'not_sent', 'interrupted']),
  provider: z.string(),
  request_model: z.string(),
  response_model: z.string().nullable(),
  started_at: utcTime.nullable(),
  duration_ms: count.nullable(),
  time_to_first_token_ms: count.nullable(),
  http_status: z.int().nullable(),
  ...tokens,
  cost_usd: usd.nullable(),
  usage_estimated: z.boolean(),
  error: z.strictObject({ type: z.string() }).nullable(),
});
export type Span = z.output<typeof span>;

export const trace = z.strictObject({
  id: uuid,
  trace_id: traceId,
  name: z.string(),
  status: traceStatus,
  channel: z.string(),
  agent_id: uuid.nullable(),
  user_id: z.string().nullable(),
  session_id: z.string().nullable(),
  api_key_id: uuid,
  request_model: z.string(),
  response_model: z.string().nullable(),
  provider: z.string().nullable(),
  started_at: utcTime,
  ended_at: utcTime.nullable(),
  duration_ms: count.nullable(),
  time_to_first_token_ms: count.nullable(),
  ...tokens,
  cost_usd: usd.nullable(),
  priced: z.boolean(),
  usage_estimated: z.boolean(),
  error: z.strictObject({ type: z.string(), message: z.string() }).nullable(),
  input_preview: z.string().nullable(),
  output_preview: z.string().nullable(),
  spans: z.array(span).optional(),
});
export type Trace = z.output<typeof trace>;

const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

export const followTraces = z.strictObject({
  cursor: queryCursor.optional(),
  since: timestamp.optional(),
  limit: queryLimit,
  agent_id: uuid.optional(),
  session_id: storableText(1, 255).optional(),
  user_id: userId.optional(),
  status: traceStatus.optional(),
  channel: storableText(1, 64).optional(),
  trace_id: traceId.optional(),
  include_spans: flag.default(false),
});
export type FollowTraces = z.output<typeof followTraces>;

export const tracePage = z.strictObject({
  traces: z.array(trace),
  next_cursor: z.string(),
  has_more: z.boolean(),
  server_time: utcTime,
  poll_after_ms: count.describe('How long to wait before the next call'),
});

export const dimension = z.enum([
  'hour',
  'day',
  'month',
  'agent',
  'model',
  'provider',
  'channel',
  'user',
  'api_key',
]);
export type Dimension = z.output<typeof dimension>;

const dimensionPattern = `(${dimension.options.join('|')})`;

const groupBy = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(
    z
      .array(dimension)
      .max(3)
      .refine((names) => new Set(names).size === names.length, 'must not name a dimension twice'),
  )
  .meta({
    description: 'At most three dimensions, parted by commas',
    pattern: `^${dimensionPattern}(,${dimensionPattern}){0,2}$`,
  });

export const summaryQuery = z.strictObject({
  from: timestamp.optional().describe('Inclusive'),
  to: timestamp.optional().describe('Exclusive'),
  agent_id: uuid.optional(),
  model: modelId.optional(),
  provider: storableText(1, 128).optional(),
  channel: storableText(1, 64).optional(),
  user_id: userId.optional(),
  api_key_id: uuid.optional(),
  group_by: groupBy.optional(),
  timezone: z
    .string()
    .max(64)
    .refine(isTimezone, 'must be an IANA time zone such as "Europe/Berlin"')
    .default('UTC')
    .describe('IANA time zone of days and months'),
  compare: z.literal('previous').optional().describe('Tell the period before, just as long, too'),
});
export type SummaryQuery = z.output<typeof summaryQuery>;

const groupKey = z
  .partialRecord(dimension, z.string().nullable())
  .describe(
    'By the names in `group_by`: a day is `2026-03-29`, a month `2026-03`, an hour the time it begins',
  );

const usageTotals = {
  requests: count,
  errors: count,
  cancelled: count,
  ...tokens,
  total_tokens: count,
  tool_calls: count,
  unique_users: count,
  avg_duration_ms: z.number().nullable(),
};

const period = { from: utcTime, to: utcTime };

export const usageSummary = z.strictObject({
  ...period,
  as_of: utcTime.describe('Every run that ended before this time is counted'),
  totals: z.strictObject(usageTotals),
  groups: z.array(z.strictObject({ key: groupKey, ...usageTotals })),
  previous: z.strictObject({ ...period, totals: z.strictObject(usageTotals) }).nullable(),
  truncated: z
    .boolean()
    .describe('Whether there are more groups than are listed: at most 10,000, and as many as fit into 4 MiB'),
});
export type UsageSummary = z.output<typeof usageSummary>;

const costTotals = {
  total_usd: usd,
  unpriced: z.strictObject({ requests: count, models: z.array(z.string()) }),
  estimated: z.strictObject({ requests: count, total_usd: usd }),
};

export const costSummary = z.strictObject({
  currency: z.literal('USD'),
  ...period,
  as_of: utcTime,
  ...costTotals,
  groups: z.array(
    z.strictObject({ key: groupKey, requests: count, total_usd: usd, unpriced_requests: count }),
  ),
  previous: z.strictObject({ ...period, ...costTotals }).nullable(),
  truncated: z.boolean(),
});
export type CostSummary = z.output<typeof costSummary>;
