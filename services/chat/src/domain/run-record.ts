import type { RunEnded, RunStarted, Span } from '@gatehouse/events/run-event';
import type { Cost } from './price.ts';
import type { Attempt, AttemptEnd, AttemptStart, RunEnd, RunIdentity } from './run.ts';

/*
 * Runs as they are written down: the data of the events about them, but for the times, which are the database's. What
 * is kept of a run under way is read by replicas of the release before and after this one (the reaper's), like a table:
 * a member may be added if its absence means something, and is never renamed.
 */

export type StartedRun = Omit<RunStarted, 'started_at'>;
/** What its end adds to that. */
export type RunEnding = Omit<RunEnded, keyof RunStarted | 'ended_at'>;
export type EndedRun = StartedRun & RunEnding;

export function startedRun(run: RunIdentity): StartedRun {
  return {
    run_id: run.id,
    tenant_id: run.tenantId,
    operation: run.operation,
    channel: run.channel,
    request_id: run.requestId,
    trace_id: run.traceId,
    span_id: run.spanId,
    api_key_id: run.apiKeyId,
    user_id: run.userId,
    session_id: run.sessionId,
    agent_id: run.agentId,
    request_model: run.requestModel,
    streamed: run.streamed,
    input_preview: run.inputPreview,
  };
}

export function runEnding({ operation }: StartedRun, end: RunEnd, attempts: readonly Attempt[]): RunEnding {
  return {
    status: end.status,
    duration_ms: end.durationMs,
    time_to_first_token_ms: end.timeToFirstTokenMs,
    provider: end.provider,
    model: end.model,
    response_model: end.responseModel,
    error_type: end.errorType,
    error_message: end.errorMessage,
    output_preview: end.outputPreview,
    // Calls of tools by the gateway itself, which calls none yet; what a model asks the client to call is none.
    tool_calls: 0,
    priced: end.cost.priced,
    ...figures(end),
    spans: attempts.map((attempt) => spanOf(attempt, operation)),
  };
}

function spanOf(attempt: Attempt, operation: StartedRun['operation']): Span {
  return {
    id: attempt.id,
    kind: operation === 'embeddings' ? 'embedding' : 'llm',
    number: attempt.number,
    provider: attempt.provider,
    model: attempt.model,
    upstream_model: attempt.upstreamModel,
    response_model: attempt.responseModel,
    status: attempt.status,
    offset_ms: attempt.offsetMs,
    duration_ms: attempt.durationMs,
    time_to_first_token_ms: attempt.timeToFirstTokenMs,
    http_status: attempt.httpStatus,
    error_code: attempt.errorCode,
    ...figures(attempt),
  };
}

type Figures = Pick<
  Span,
  | 'input_tokens'
  | 'cached_input_tokens'
  | 'cache_write_tokens'
  | 'output_tokens'
  | 'reasoning_tokens'
  | 'usage_estimated'
  | 'cost_pico'
  | 'price_source'
>;

/** Amounts as text: they may be more than JSON's numbers hold exactly. */
function figures({ usage, cost }: Pick<AttemptEnd, 'usage'> & Pick<AttemptEnd | RunEnd, 'cost'>): Figures {
  return {
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    usage_estimated: usage.estimated,
    cost_pico: cost?.costPico?.toString() ?? null,
    price_source: cost?.source ?? null,
  };
}

/** JSON has no bigints. */
type KeptEnd = Omit<Attempt, 'cost'> & { cost: { costPico: string; source: Cost['source'] } | null };

/** The calls of a run under way, as they are kept. */
export interface KeptAttempts {
  ended: KeptEnd[];
  open: AttemptStart;
}

export function keptAttempt(attempt: Attempt): KeptEnd {
  const { cost } = attempt;
  return { ...attempt, cost: cost === null ? null : { ...cost, costPico: cost.costPico.toString() } };
}

/** What `keptAttempt` made of an attempt. */
export function readKeptEnd(kept: KeptEnd): Attempt {
  const { cost } = kept;
  return { ...kept, cost: cost === null ? null : { ...cost, costPico: BigInt(cost.costPico) } };
}
