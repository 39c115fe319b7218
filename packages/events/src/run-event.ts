import { z } from 'zod';
import { withData } from './cloud-event.ts';

/** What happened to a run, as chat tells it and analytics counts it (`gatehouse.usage.v1`). */

/** Before it comes the operator's prefix. */
export const usageTopic = 'gatehouse.usage.v1';
export const runStarted = 'gatehouse.run.started';
export const runEnded = 'gatehouse.run.ended';

const time = z.iso.datetime({ offset: true });
const count = z.int().min(0);
/** Integer pico-USD as text: beyond what a JSON number holds exactly. */
const pico = z.string().regex(/^\d{1,30}$/);

const identity = {
  run_id: z.uuid(),
  tenant_id: z.uuid(),
  operation: z.enum(['chat', 'embeddings']),
  channel: z.string(),
  request_id: z.string(),
  trace_id: z.string(),
  span_id: z.string(),
  api_key_id: z.uuid(),
  user_id: z.string().nullable(),
  session_id: z.string().nullable(),
  agent_id: z.uuid().nullable(),
  request_model: z.string(),
  streamed: z.boolean(),
  input_preview: z.string().nullable(),
  started_at: time,
};

const usage = {
  input_tokens: count,
  /** Read from the provider's cache; part of the input, as are those written to it. */
  cached_input_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  /** Part of the output. */
  reasoning_tokens: count,
  /** Null where no price is known for the model. */
  cost_pico: pico.nullable(),
  /** Where the price is from; of a run, the last of its calls. */
  price_source: z.enum(['catalogue', 'genai-prices']).nullish(),
  usage_estimated: z.boolean(),
};

/** One provider call. */
export const span = z.object({
  id: z.uuid(),
  kind: z.enum(['llm', 'embedding']),
  number: z.int().min(1),
  provider: z.string(),
  model: z.string(),
  upstream_model: z.string(),
  response_model: z.string().nullable(),
  status: z.enum(['ok', 'error', 'cancelled', 'not_sent', 'interrupted']),
  offset_ms: z.int().nullable(),
  duration_ms: count.nullable(),
  time_to_first_token_ms: count.nullable(),
  http_status: z.int().nullable(),
  error_code: z.string().nullable(),
  ...usage,
});
export type Span = z.output<typeof span>;

export const runStartedData = z.object(identity);
export type RunStarted = z.output<typeof runStartedData>;

export const runEndedData = z.object({
  ...identity,
  status: z.enum(['ok', 'error', 'cancelled', 'interrupted']),
  ended_at: time,
  duration_ms: count.nullable(),
  time_to_first_token_ms: count.nullable(),
  provider: z.string().nullable(),
  /** Id in the catalogue of the model that answered, or was last asked. */
  model: z.string().nullable(),
  response_model: z.string().nullable(),
  error_type: z.string().nullable(),
  error_message: z.string().nullable(),
  output_preview: z.string().nullable(),
  tool_calls: count,
  /** Whether every call with tokens in it has a price. */
  priced: z.boolean(),
  ...usage,
  spans: z.array(span),
});
export type RunEnded = z.output<typeof runEndedData>;

/** What is told of a run. Its times are the database's, and all else is written down by the process that has it. */
export interface ToldRun {
  runId: string;
  tenantId: string;
  /** ISO 8601, as is the other. */
  startedAt: string;
  /** Null while it is under way. */
  endedAt: string | null;
  /** JSON of `RunStarted` or `RunEnded` but for the times. */
  data: string;
}

/** Of a start and of an end there is one event each, however often it is told. */
export function writeRunEvent(
  source: string,
  { runId, tenantId, startedAt, endedAt, data }: ToldRun,
): string {
  const ended = endedAt === null ? '' : `,"ended_at":"${endedAt}"`;
  return withData(
    {
      id: `${runId}.${endedAt === null ? 'started' : 'ended'}`,
      source,
      type: endedAt === null ? runStarted : runEnded,
      time: endedAt ?? startedAt,
      subject: runId,
      partitionkey: tenantId,
    },
    `{"started_at":"${startedAt}"${ended},${data.slice(1)}`,
  );
}
