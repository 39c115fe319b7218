import type { AttemptEnd, AttemptStart, RunEnd, RunIdentity } from './run.ts';
import type { Usage } from './usage.ts';

/** Event types on `gatehouse.usage.v1` (architecture decision 5). */
export const runStarted = 'gatehouse.run.started';
export const runEnded = 'gatehouse.run.ended';

/** `data` of a started event. Times are the outbox row's: chat's database clock, not a replica's. */
export function startedEvent(run: RunIdentity): Record<string, unknown> {
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

/** `data` of an ended event: the run's identity, its end, and one `llm` span per provider call. */
export function endedEvent(
  run: RunIdentity,
  end: RunEnd,
  attempts: readonly (AttemptStart & AttemptEnd)[],
): Record<string, unknown> {
  return {
    ...startedEvent(run),
    status: end.status,
    duration_ms: end.durationMs,
    time_to_first_token_ms: end.timeToFirstTokenMs,
    provider: end.provider,
    model: end.model,
    response_model: end.responseModel,
    ...tokens(end.usage),
    error: end.errorType === null ? null : { type: end.errorType, message: end.errorMessage },
    output_preview: end.outputPreview,
    spans: attempts
      .filter((attempt) => attempt.status !== 'not_sent')
      .map((attempt) => ({
        id: attempt.id,
        kind: 'llm',
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
        ...tokens(attempt.usage),
      })),
  };
}

function tokens(usage: Usage): Record<string, unknown> {
  return {
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    usage_estimated: usage.estimated,
  };
}
