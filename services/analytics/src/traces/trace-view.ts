import type { Span as WireSpan, Trace } from '@gatehouse/contract/traces';
import { recallSpanName, type Recall, type Span, type ToolSpan } from '@gatehouse/events/run-event';
import { usdOf } from '@gatehouse/kit/money';
import type { Names } from '../shared/names.ts';
import type { Viewer } from '../shared/viewer.ts';
import type { StoredSpan, TraceRow } from './stored-run.ts';

export interface TraceView {
  viewer: Viewer;
  names: Names;
  /** Adds the attempts. */
  withSpans: boolean;
}

/** The trace of a run in its wire shape, as this viewer may see it. */
export function showTrace(row: TraceRow, { viewer, names, withSpans }: TraceView): Trace {
  const { all, user } = viewer.previewsOf;
  const previews = all || (user !== null && user === row.user_id);
  return {
    id: row.id,
    trace_id: row.trace_id,
    name: nameOf(row.operation, row.request_model),
    status: row.status,
    channel: row.channel,
    dialect: row.dialect,
    client: row.client,
    agent_id: row.agent_id,
    agent_key: (row.agent_id === null ? undefined : names.agents.get(row.agent_id)?.key) ?? null,
    user_id: row.user_id,
    session_id: row.session_id,
    api_key_id: row.api_key_id,
    api_key_name: (row.api_key_id === null ? undefined : names.apiKeys.get(row.api_key_id)?.name) ?? null,
    request_model: row.request_model,
    response_model: row.response_model,
    provider: row.provider,
    started_at: row.started_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    duration_ms: row.duration_ms,
    time_to_first_token_ms: row.time_to_first_token_ms,
    input_tokens: Number(row.input_tokens ?? 0),
    cached_input_tokens: Number(row.cached_input_tokens ?? 0),
    output_tokens: Number(row.output_tokens ?? 0),
    reasoning_tokens: Number(row.reasoning_tokens ?? 0),
    cost_usd: row.cost_pico === null ? null : usdOf(BigInt(row.cost_pico)),
    priced: row.priced ?? false,
    usage_estimated: row.usage_estimated ?? false,
    own_key: row.own_key,
    error: row.error_type === null ? null : { type: row.error_type, message: row.error_message ?? '' },
    input_preview: previews ? row.input_preview : null,
    output_preview: previews ? row.output_preview : null,
    ...(withSpans && { spans: (row.spans ?? []).map((span) => showSpan(span, row)) }),
  };
}

function showSpan(span: StoredSpan, row: TraceRow): WireSpan {
  if (span.kind === 'memory') return showRecall(span, row);
  return span.kind === 'tool' ? showTool(span, row) : showCall(span, row);
}

function showCall(span: Span, { started_at, operation }: TraceRow): WireSpan {
  return {
    id: span.id,
    kind: span.kind,
    name: nameOf(operation, span.model),
    status: span.status,
    provider: span.provider,
    request_model: span.upstream_model,
    response_model: span.response_model,
    started_at: startOf(span, started_at),
    duration_ms: span.duration_ms,
    time_to_first_token_ms: span.time_to_first_token_ms,
    http_status: span.http_status,
    input_tokens: span.input_tokens,
    cached_input_tokens: span.cached_input_tokens,
    output_tokens: span.output_tokens,
    reasoning_tokens: span.reasoning_tokens,
    cost_usd: span.cost_pico === null ? null : usdOf(BigInt(span.cost_pico)),
    price_version: span.price_version ?? null,
    usage_estimated: span.usage_estimated,
    error: span.error_code === null ? null : { type: span.error_code },
  };
}

/** The search in memory. */
function showRecall(span: Recall, row: TraceRow): WireSpan {
  const memory = { passages: span.passages, mode: span.mode };
  return { ...showStep(span, row), kind: 'memory', name: recallSpanName, memory };
}

function showTool(span: ToolSpan, row: TraceRow): WireSpan {
  return { ...showStep(span, row), kind: 'tool', name: `execute_tool ${span.name}` };
}

/** A span other than a provider call, in the shape of all spans: it has no provider, no model and no tokens. */
function showStep(
  span: Pick<ToolSpan, 'id' | 'outcome' | 'offset_ms' | 'duration_ms'>,
  { started_at }: TraceRow,
): Omit<WireSpan, 'kind' | 'name'> {
  return {
    id: span.id,
    status: span.outcome === 'ok' ? 'ok' : 'error',
    provider: null,
    request_model: null,
    response_model: null,
    started_at: startOf(span, started_at),
    duration_ms: span.duration_ms,
    time_to_first_token_ms: null,
    http_status: null,
    input_tokens: 0,
    cached_input_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cost_usd: null,
    price_version: null,
    usage_estimated: false,
    error: span.outcome === 'ok' ? null : { type: span.outcome },
  };
}

function startOf({ offset_ms: offset }: { offset_ms: number | null }, runStart: Date): string | null {
  return offset === null ? null : new Date(runStart.getTime() + offset).toISOString();
}

/** OpenTelemetry's name of a GenAI span: operation and requested model. */
function nameOf(operation: string, model: string): string {
  return `${operation} ${model}`;
}
