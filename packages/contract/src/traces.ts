import { z } from 'zod';
import { dialectNames } from './dialects.ts';
import { guardrailOutcomes } from './guardrail-results.ts';
import { guardedTexts } from './guardrail-rules.ts';
import {
  count,
  listOf,
  modelId,
  page,
  queryCursor,
  queryLimit,
  storableText,
  timestamp,
  tokenCounts,
  usd,
  userId,
  utcTime,
  uuid,
} from './fields.ts';
import { ok, pageOf, routesWith, scope, type Route } from './route.ts';

/** Traces: `/v1/traces*`. */

export const traceStatus = z.enum(['running', 'ok', 'error', 'cancelled', 'interrupted', 'blocked']);
/** The statuses of runs, and that of requests that began none. */
export const listedStatus = z.enum([...traceStatus.options, 'refused']);

const traceId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 lower-case hexadecimal digits');

/** One step of a run: a provider call, or the search in the agent's memory. */
export const span = z.strictObject({
  id: uuid,
  kind: z.enum(['llm', 'tool', 'memory', 'embedding']),
  name: z.string(),
  status: z.enum(['ok', 'error', 'cancelled', 'not_sent', 'interrupted']),
  purpose: z
    .enum(['guardrail'])
    .optional()
    .describe('`guardrail` for a call of a model by a guardrail; absent for all else'),
  provider: z.string().nullable().describe('Null for kinds without a provider, such as `memory`'),
  request_model: z.string().nullable(),
  response_model: z.string().nullable(),
  started_at: utcTime.nullable(),
  duration_ms: count.nullable(),
  time_to_first_token_ms: count.nullable(),
  http_status: z.int().nullable(),
  ...tokenCounts,
  cost_usd: usd.nullable(),
  cost_details: z
    .strictObject({
      input_usd: usd.describe("Input tokens neither read from the provider's cache nor written to it"),
      cached_input_usd: usd,
      cache_write_usd: usd,
      output_usd: usd.describe('Reasoning included'),
      other_usd: usd.describe("The fee of the call itself, and calls of the provider's tools"),
    })
    .nullable()
    .describe(
      '`cost_usd` by what it pays for: the exact sum of these. Null without a price, and for runs of release 0.3.0',
    ),
  price_version: z
    .string()
    .nullable()
    .describe('The version of the price that the call was charged by; null without a price'),
  usage_estimated: z.boolean(),
  error: z.strictObject({ type: z.string() }).nullable(),
  memory: z
    .strictObject({
      passages: count.describe('Passages in the prompt'),
      mode: z.string().nullable().describe('`hybrid` or `lexical`; null without a result'),
    })
    .optional()
    .describe('Only for the kind `memory`; its `error.type` is `timeout` or `unavailable`'),
  tool: z
    .strictObject({ server: z.string().describe('The MCP server'), name: z.string() })
    .optional()
    .describe(
      'Only for the kind `tool`, and tools of MCP servers; `name` of the span has the name for models',
    ),
});
export type Span = z.output<typeof span>;

export const trace = z.strictObject({
  id: uuid,
  trace_id: traceId,
  name: z.string(),
  status: listedStatus.describe(
    '`refused`: a request answered 4xx before any provider call, which is no run. `request_model` is empty if it was refused before it was read',
  ),
  channel: z.string(),
  dialect: z
    .enum(dialectNames)
    .nullable()
    .describe('The format in which the client asked; null for runs that no request of a client began'),
  client: z
    .string()
    .nullable()
    .describe(
      "The client's program by its `User-Agent`, from a closed list, or `other`; null like `dialect`",
    ),
  agent_id: uuid.nullable(),
  agent_key: z
    .string()
    .nullable()
    .describe('Null without an agent, if it is deleted, and while the service that has its name is away'),
  user_id: z.string().nullable(),
  groups: z.array(z.string()).describe('The names of the groups that the user had when the run began'),
  guardrails: z
    .array(
      z.strictObject({
        name: z.string(),
        on: z.enum(guardedTexts).describe('The kind of text that it checked'),
        outcome: z.enum(guardrailOutcomes),
        types: z
          .record(z.string(), count)
          .describe('Matches by their type, of the eight types with the most'),
        duration_ms: count,
        cost_usd: usd,
      }),
    )
    .describe('What its guardrails found, for each kind of text; no text is in it'),
  session_id: z.string().nullable(),
  api_key_id: uuid
    .nullable()
    .describe('Null for runs that no request with a key began, such as those of `memory`'),
  api_key_name: z.string().nullable().describe('Null without a key, and like `agent_key`'),
  request_model: z.string(),
  response_model: z.string().nullable(),
  provider: z.string().nullable(),
  started_at: utcTime,
  ended_at: utcTime.nullable(),
  duration_ms: count.nullable(),
  time_to_first_token_ms: count.nullable(),
  ...tokenCounts,
  cost_usd: usd.nullable(),
  priced: z.boolean(),
  usage_estimated: z.boolean(),
  own_key: z.boolean().describe("Whether it was made with keys of the tenant's own for its providers"),
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

export const listTraces = z.strictObject({
  ...page,
  from: timestamp.optional().describe('Inclusive, by `started_at`; 24 hours before `to` by default'),
  to: timestamp.optional().describe('Exclusive; now by default'),
  q: storableText(1, 200)
    .optional()
    .describe(
      'Names and ids that begin with this text, in any case: name, `id`, `trace_id`, `request_model`, `response_model`, `agent_key`, name of the agent, `api_key_name`, `user_id`, `session_id`. In periods of 7 days at most also previews that contain it, as far as they are shown to the caller',
    ),
  model: modelId.optional().describe('The requested model, or the one that answered'),
  provider: storableText(1, 128).optional(),
  agent_id: uuid.optional(),
  api_key_id: uuid.optional(),
  user_id: userId.optional(),
  session_id: storableText(1, 255).optional(),
  channel: storableText(1, 64).optional(),
  dialect: z.enum(dialectNames).optional().describe('The API of the client'),
  status: listedStatus
    .optional()
    .describe('`refused` lists refused requests, which are in no other list, newest first'),
  error_code: storableText(1, 64).optional().describe('`error.type` of the run, or of the refused request'),
  min_cost_usd: usd.optional(),
  min_duration_ms: z.coerce.number().int().min(0).max(2_147_483_647).optional(),
  sort: z
    .enum(['started_at', 'cost', 'duration'])
    .optional()
    .describe(
      'Descending, by `started_at` if not set. A run without a cost or duration counts as 0. By `cost` and `duration`, a period of more than 10,000 runs has its first 10,000 by that order',
    ),
});
export type ListTraces = z.output<typeof listTraces>;

export const traceList = listOf(trace);

export const tracePage = z.strictObject({
  traces: z.array(trace),
  next_cursor: z.string(),
  has_more: z.boolean(),
  server_time: utcTime,
  poll_after_ms: count.describe('Milliseconds to wait before the next call'),
});

export const tokensExample = {
  input_tokens: 1_200,
  cached_input_tokens: 0,
  output_tokens: 340,
  reasoning_tokens: 0,
};

export const traceExample = {
  id: '0198c2c4-0a6b-7e25-9c81-7d3f5e2a1b64',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  name: 'chat gpt-4.1-mini',
  status: 'ok',
  channel: 'api',
  dialect: 'chat',
  client: 'openai-sdk',
  agent_id: null,
  agent_key: null,
  user_id: 'ada',
  groups: ['Engineering'],
  guardrails: [],
  session_id: 'order-4711',
  api_key_id: '0198c2a5-1f3e-7c64-9d3b-5a0f6f3b2c11',
  api_key_name: 'Web shop',
  request_model: 'gpt-4.1-mini',
  response_model: 'gpt-4.1-mini-2025-04-14',
  provider: 'openai',
  started_at: '2026-01-10T09:15:00.120Z',
  ended_at: '2026-01-10T09:15:01.480Z',
  duration_ms: 1_360,
  time_to_first_token_ms: 410,
  ...tokensExample,
  cost_usd: '0.001024000000',
  priced: true,
  usage_estimated: false,
  own_key: false,
  error: null,
  input_preview: 'Where is my order?',
  output_preview: 'It is on its way.',
};

const spanExample = {
  id: '0198c2c4-0a6c-7f91-8d02-1e4b6a7c8d95',
  kind: 'llm',
  name: 'chat gpt-4.1-mini',
  status: 'ok',
  provider: 'openai',
  request_model: 'gpt-4.1-mini',
  response_model: 'gpt-4.1-mini-2025-04-14',
  started_at: '2026-01-10T09:15:00.131Z',
  duration_ms: 1_340,
  time_to_first_token_ms: 400,
  http_status: 200,
  ...tokensExample,
  cost_usd: '0.001024000000',
  cost_details: {
    input_usd: '0.000480000000',
    cached_input_usd: '0.000000000000',
    cache_write_usd: '0.000000000000',
    output_usd: '0.000544000000',
    other_usd: '0.000000000000',
  },
  price_version: 'genai-prices@0.1.8',
  usage_estimated: false,
  error: null,
};

const memorySpanExample = {
  ...spanExample,
  id: '0198c2c4-0a6b-7b40-9e11-3c5d7f9a1b2d',
  kind: 'memory',
  name: 'search_memory',
  provider: null,
  request_model: null,
  response_model: null,
  started_at: '2026-01-10T09:15:00.123Z',
  duration_ms: 6,
  time_to_first_token_ms: null,
  http_status: null,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: null,
  cost_details: null,
  price_version: null,
  memory: { passages: 3, mode: 'hybrid' },
};

const route = routesWith({ service: 'analytics', access: scope('analytics.read'), actingUser: true });

export const routes: readonly Route[] = [
  route('traces.follow', 'GET /v1/traces/follow', {
    query: followTraces,
    response: ok(tracePage),
    summary: 'List runs that started or ended since the last call',
    description:
      'Call it repeatedly: after `poll_after_ms`, send `next_cursor` with the same filters. Returns each changed run in its latest state, in a stable order. A page may be empty although `has_more` is true. Without a cursor, starts at `since`, by default one hour ago.',
    examples: {
      finished: {
        summary: 'Successful runs',
        query: { status: 'ok', limit: 20 },
        response: {
          traces: [traceExample],
          next_cursor: 'eyJ2IjoxLCJhZnRlciI6NDJ9',
          has_more: false,
          server_time: '2026-01-10T09:15:03.000Z',
          poll_after_ms: 2_000,
        },
      },
    },
  }),
  route('traces.list', 'GET /v1/traces', {
    query: listTraces,
    response: ok(traceList),
    summary: 'List runs, newest first',
    description:
      'One page reads 10,000 runs at most, so with filters that match few of them a page may have fewer items than `limit`, or none, although `has_more` is true: continue with `next_cursor`. A cursor belongs to its filters, and keeps the period of its first page.',
    examples: {
      expensive: {
        summary: 'Expensive runs of a day',
        query: {
          from: '2026-01-10T00:00:00Z',
          to: '2026-01-11T00:00:00Z',
          min_cost_usd: '0.001',
          sort: 'cost',
        },
        response: pageOf(traceExample),
      },
    },
  }),
  route('traces.get', 'GET /v1/traces/{id}', {
    response: ok(trace),
    summary: 'Get a run with its steps',
    description:
      'The id is the `x-run-id` header of the response. Each provider call is a span, and so is the search in the memory of an agent.',
    examples: {
      run: {
        summary: 'A run with one call',
        params: { id: traceExample.id },
        response: { ...traceExample, spans: [spanExample] },
      },
      memory: {
        summary: 'A run of an agent that searched its memory',
        params: { id: traceExample.id },
        response: {
          ...traceExample,
          agent_id: '0198c2b0-3d5a-7a41-8f2e-6b1c9d0e4f32',
          agent_key: 'support',
          spans: [memorySpanExample, spanExample],
        },
      },
    },
  }),
];
