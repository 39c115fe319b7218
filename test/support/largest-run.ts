import {
  maxCallTokens,
  maxGroups,
  maxInteger,
  maxRunTokens,
  maxSpans,
  textLimits,
  type RunEnded,
  type Span,
} from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';

/** A character that takes six bytes in JSON. */
const widest = '\u0001';
const longest = (limit: keyof typeof textLimits): string => widest.repeat(textLimits[limit]);

const pico = String(2n ** 63n - 1n);

const usageOf = (tokens: number) => ({
  input_tokens: tokens,
  cached_input_tokens: tokens,
  cache_write_tokens: tokens,
  output_tokens: tokens,
  reasoning_tokens: tokens,
  cost_pico: pico,
  price_source: 'genai-prices' as const,
  price_version: 'v'.repeat(64),
  usage_estimated: false,
});

function largestSpan(index: number): Span {
  return {
    id: newId(),
    kind: 'embedding',
    number: index + 1,
    provider: longest('provider'),
    model: longest('model'),
    upstream_model: longest('model'),
    response_model: longest('response_model'),
    status: 'interrupted',
    offset_ms: maxInteger,
    duration_ms: maxInteger,
    time_to_first_token_ms: maxInteger,
    http_status: 999,
    error_code: longest('error_code'),
    ...usageOf(maxCallTokens),
    cost_parts: { input: pico, cached_input: pico, cache_write: pico, output: pico, fees: pico },
  };
}

/** The end of a run in which every text, number and list has the maximum size of the schema. */
export function largestRunEnded(tenantId: string): RunEnded {
  const now = new Date().toISOString();
  return {
    run_id: newId(),
    tenant_id: tenantId,
    operation: 'embeddings',
    channel: longest('channel'),
    dialect: 'responses',
    client: longest('client'),
    request_id: longest('request_id'),
    trace_id: 'a'.repeat(textLimits.trace_id),
    span_id: longest('span_id'),
    api_key_id: newId(),
    user_id: longest('user_id'),
    groups: Array.from({ length: maxGroups }, () => 'ä'.repeat(textLimits.group)),
    session_id: longest('session_id'),
    agent_id: newId(),
    request_model: longest('request_model'),
    streamed: false,
    input_preview: longest('preview'),
    started_at: now,
    status: 'interrupted',
    ended_at: now,
    duration_ms: maxInteger,
    time_to_first_token_ms: maxInteger,
    provider: longest('provider'),
    model: longest('model'),
    response_model: longest('response_model'),
    error_type: longest('error_code'),
    error_message: longest('error_message'),
    output_preview: longest('preview'),
    tool_calls: maxInteger,
    priced: true,
    ...usageOf(maxRunTokens),
    spans: Array.from({ length: maxSpans }, (_, index) => largestSpan(index)),
  };
}

/** The statement that inserts such an end into the outbox of chat, for the superuser. */
export function insertRunEnded(run: RunEnded): [sql: string, values: unknown[]] {
  const { started_at: startedAt, ended_at: endedAt, ...data } = run;
  return [
    'insert into chat.outbox (tenant_id, run_id, started_at, ended_at, data) values ($1, $2, $3, $4, $5)',
    [run.tenant_id, run.run_id, startedAt, endedAt, JSON.stringify(data)],
  ];
}
