import { dialectNames, runOperations } from '@gatehouse/contract/dialects';
import { guardrailOutcomes } from '@gatehouse/contract/guardrail-results';
import { guardedTexts } from '@gatehouse/contract/guardrail-rules';
import { z } from 'zod';
import { withData } from './cloud-event.ts';
import { cutText } from './cut-text.ts';
import type { EventObject } from './sink.ts';

/** Events about runs (`gatehouse.usage.v1`): chat publishes them and analytics counts them. */

export const runStarted = 'gatehouse.run.started';
export const runEnded = 'gatehouse.run.ended';
/**
 * The exact end of a run published with an estimated end before; its data are those of an end. At most one for each
 * run.
 */
export const runCorrected = 'gatehouse.run.corrected';

/**
 * Maximum lengths of texts in UTF-16 units. Chat cuts texts to these lengths when it records them, to keep the largest
 * event below `maxEventBytes`. A reader cuts longer texts.
 */
export const textLimits = {
  channel: 32,
  client: 32,
  request_id: 128,
  trace_id: 32,
  span_id: 16,
  user_id: 255,
  group: 256,
  session_id: 255,
  request_model: 256,
  /** The maximum of `previews.max_chars` of a tenant. */
  preview: 10_000,
  provider: 64,
  model: 256,
  response_model: 256,
  error_code: 64,
  error_message: 2_000,
  recall_mode: 32,
  tool_name: 64,
  tool_server: 64,
  price_version: 64,
  guardrail: 128,
  match_type: 64,
} as const;

/** The first of a run; `tool_calls` counts all. */
export const maxToolSpans = 100;
/** Results with a finding are the first. A tenant has 40, each on five kinds of text at most. */
export const maxGuardrailResults = 80;
/** The types of the matches of a guardrail with the most matches. */
export const maxMatchTypes = 8;
/** 11 models, each called 11 times: the catalogue allows 10 fallbacks and 10 retries. */
export const maxSpans = 121;
export const maxCallTokens = 1e13;
/** Below 2^53, above which sums of JSON numbers are inexact. */
export const maxRunTokens = maxSpans * maxCallTokens;
/** The maximum of a PostgreSQL `integer`: 24 days in milliseconds. */
export const maxInteger = 2_147_483_647;

const text = (limit: keyof typeof textLimits) =>
  z
    .string()
    .overwrite((value) => cutText(value, textLimits[limit]))
    .max(textLimits[limit]);
const count = (max: number) =>
  z
    .int()
    .min(0)
    .overwrite((value) => Math.min(value, max))
    .max(max);
const time = z.iso.datetime({ offset: true }).max(40);
/** Integer pico-USD as text, because a JSON number would not be exact. */
const pico = z
  .string()
  .regex(/^\d{1,30}$/)
  .max(30);

/** The search in the memory of the run's agent before its first provider call. */
export const recall = z.object({
  id: z.uuid(),
  outcome: z.enum(['ok', 'timeout', 'unavailable']),
  /** How memory searched: `hybrid` or `lexical`. Null without a result. */
  mode: text('recall_mode').nullable(),
  /** The number of passages in the prompt. */
  passages: count(1_000),
  /** From the arrival of the request. */
  offset_ms: count(maxInteger),
  duration_ms: count(maxInteger),
});
export type Recall = z.output<typeof recall>;
/** The name of its span, also in OpenTelemetry (gen_ai.operation.name). */
/** Groups of a user in an event; chat leaves out further ones. */
export const maxGroups = 100;

export const recallSpanName = 'search_memory';

const identity = {
  run_id: z.uuid(),
  tenant_id: z.uuid(),
  operation: z.enum(runOperations),
  channel: text('channel'),
  /** The format of the client's request; null or absent for runs without a client's request. */
  dialect: z.enum(dialectNames).nullish(),
  /** The program of the client, by chat's name for it; null or absent for the same runs. */
  client: text('client').nullish(),
  request_id: text('request_id'),
  trace_id: text('trace_id'),
  span_id: text('span_id'),
  /** Null for runs no request with a key began. */
  api_key_id: z.uuid().nullable(),
  user_id: text('user_id').nullable(),
  /** The names of the groups of its user at its beginning; absent without one. */
  groups: z.array(text('group')).max(maxGroups).optional(),
  session_id: text('session_id').nullable(),
  agent_id: z.uuid().nullable(),
  request_model: text('request_model'),
  streamed: z.boolean(),
  /** Whether it was made with keys of the tenant's own for its providers; absent otherwise. */
  own_key: z.boolean().optional(),
  input_preview: text('preview').nullable(),
  /** Absent for runs without one. */
  recall: recall.optional(),
  started_at: time,
};

const usage = (maxTokens: number) => ({
  input_tokens: count(maxTokens),
  /** Input tokens read from the provider's cache. `input_tokens` includes these and `cache_write_tokens`. */
  cached_input_tokens: count(maxTokens),
  cache_write_tokens: count(maxTokens),
  output_tokens: count(maxTokens),
  /** `output_tokens` includes these. */
  reasoning_tokens: count(maxTokens),
  /** Null when the model has no price. */
  cost_pico: pico.nullable(),
  /** The source of the price; for a run, the source for its last call. */
  price_source: z.enum(['catalogue', 'genai-prices']).nullish(),
  /** The version of the price; null or absent for runs of earlier releases, too. */
  price_version: text('price_version').nullish(),
  usage_estimated: z.boolean(),
});

/** A call of a tool the gateway made for an agent. */
export const toolSpan = z.object({
  id: z.uuid(),
  /** As models get it. */
  name: text('tool_name'),
  /** Its server, and its name there; absent for tools of the gateway, and in runs of earlier releases. */
  server: text('tool_server').optional(),
  tool: text('tool_name').optional(),
  /** `ok`, `error`, or what went wrong. */
  outcome: text('error_code'),
  /** From the arrival of the request. */
  offset_ms: count(maxInteger),
  duration_ms: count(maxInteger),
});
export type ToolSpan = z.output<typeof toolSpan>;

/** The findings of a guardrail in the texts of one kind. */
export const guardrailResult = z.object({
  name: text('guardrail'),
  on: z.enum(guardedTexts),
  outcome: z.enum(guardrailOutcomes),
  /** Matches by their type. */
  types: z
    .record(text('match_type'), count(maxInteger))
    .refine((types) => Object.keys(types).length <= maxMatchTypes)
    .meta({ maxProperties: maxMatchTypes }),
  duration_ms: count(maxInteger),
  cost_pico: pico,
});
export type GuardrailResult = z.output<typeof guardrailResult>;

/** The parts of a cost by what they pay for; those of 0 are absent. */
export const costParts = z.object({
  input: pico.optional(),
  cached_input: pico.optional(),
  cache_write: pico.optional(),
  /** With reasoning. */
  output: pico.optional(),
  /** For the call itself, and for calls of the provider's tools. */
  fees: pico.optional(),
});
export type CostParts = z.output<typeof costParts>;
export const costPartNames = costParts.keyof().options;

/** One provider call. */
export const span = z.object({
  id: z.uuid(),
  kind: z.enum(['llm', 'embedding']),
  number: z.int().min(1).max(maxInteger),
  provider: text('provider'),
  model: text('model'),
  upstream_model: text('model'),
  /** Absent for a call for the answer. */
  purpose: z.enum(['guardrail']).optional(),
  response_model: text('response_model').nullable(),
  status: z.enum(['ok', 'error', 'cancelled', 'not_sent', 'interrupted']),
  offset_ms: z.int().min(-maxInteger).max(maxInteger).nullable(),
  duration_ms: count(maxInteger).nullable(),
  time_to_first_token_ms: count(maxInteger).nullable(),
  http_status: z.int().min(0).max(999).nullable(),
  error_code: text('error_code').nullable(),
  ...usage(maxCallTokens),
  /** Their sum is `cost_pico`. Absent without a price, and in runs of earlier releases. */
  cost_parts: costParts.optional(),
});
export type Span = z.output<typeof span>;

export const runStartedData = z.object(identity);
export type RunStarted = z.output<typeof runStartedData>;

export const runEndedData = z.object({
  ...identity,
  /** `blocked`: a guardrail has ended it. */
  status: z.enum(['ok', 'error', 'cancelled', 'interrupted', 'blocked']),
  ended_at: time,
  duration_ms: count(maxInteger).nullable(),
  time_to_first_token_ms: count(maxInteger).nullable(),
  provider: text('provider').nullable(),
  /** The catalogue id of the last answering or called model. */
  model: text('model').nullable(),
  response_model: text('response_model').nullable(),
  error_type: text('error_code').nullable(),
  error_message: text('error_message').nullable(),
  output_preview: text('preview').nullable(),
  tool_calls: count(maxInteger),
  /** Whether every call with tokens has a price. */
  priced: z.boolean(),
  ...usage(maxRunTokens),
  spans: z.array(span).max(maxSpans),
  /** Absent for runs without any. */
  tools: z.array(toolSpan).max(maxToolSpans).optional(),
  /** Absent for runs without guardrails. */
  guardrails: z.array(guardrailResult).max(maxGuardrailResults).optional(),
});
export type RunEnded = z.output<typeof runEndedData>;

/** The content of a run event. The times are from the database clock. */
export interface RunEventFields {
  runId: string;
  tenantId: string;
  /** ISO 8601, like `endedAt`. */
  startedAt: string;
  /** Null while the run is in progress. */
  endedAt: string | null;
  /** Whether it replaces an already published end. */
  corrects: boolean;
  /** JSON of `RunStarted` or `RunEnded`, without the times. */
  data: string;
}

/**
 * Serializes a run event. The id depends only on the run and its phase, so repeated events of a start, an end or a
 * correction are duplicates.
 */
export function writeRunEvent(
  source: string,
  { runId, tenantId, startedAt, endedAt, corrects, data }: RunEventFields,
): string {
  const ended = endedAt === null ? '' : `,"ended_at":"${endedAt}"`;
  const type = endedAt === null ? runStarted : corrects ? runCorrected : runEnded;
  return withData(
    {
      id: `${runId}.${type.slice(type.lastIndexOf('.') + 1)}`,
      source,
      type,
      time: endedAt ?? startedAt,
      subject: runId,
      partitionkey: tenantId,
    },
    `{"started_at":"${startedAt}"${ended},${data.slice(1)}`,
  );
}

/** The end of a run as an object. `data` has the same members as the fields' data, and the times. */
export class RunEndObject implements EventObject {
  readonly type = runEnded;
  readonly key: string;
  readonly source: string;
  readonly data: RunEnded;
  readonly #fields: RunEventFields;

  constructor(source: string, fields: RunEventFields, data: RunEnded) {
    this.key = fields.tenantId;
    this.source = source;
    this.#fields = fields;
    this.data = data;
  }

  get bytes(): number {
    return this.#fields.data.length;
  }

  get json(): string {
    return writeRunEvent(this.source, this.#fields);
  }
}
