import type { Span as WireSpan, Trace } from '@gatehouse/contract/traces';
import {
  recallSpanName,
  type CostParts,
  type GuardrailResult,
  type Recall,
  type Span,
  type ToolSpan,
} from '@gatehouse/events/run-event';
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
  const durationMs = durationOf(row);
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
    groups: row.groups ?? [],
    guardrails: (row.guardrails ?? []).map(showGuardrail),
    session_id: row.session_id,
    api_key_id: row.api_key_id,
    api_key_name: (row.api_key_id === null ? undefined : names.apiKeys.get(row.api_key_id)?.name) ?? null,
    request_model: row.request_model,
    response_model: row.response_model,
    provider: row.provider,
    started_at: row.started_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    duration_ms: durationMs,
    time_to_first_token_ms:
      durationMs === null ? row.time_to_first_token_ms : atMost(row.time_to_first_token_ms, durationMs),
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

function showGuardrail({ cost_pico: cost, ...result }: GuardrailResult): Trace['guardrails'][number] {
  return { ...result, cost_usd: usdOf(BigInt(cost)) };
}

function showSpan(span: StoredSpan, row: TraceRow): WireSpan {
  if (span.kind === 'memory') return showRecall(span, row);
  return span.kind === 'tool' ? showTool(span, row) : showCall(span, row);
}

function showCall(span: Span, row: TraceRow): WireSpan {
  return {
    id: span.id,
    kind: span.kind,
    name: nameOf(row.operation, span.model),
    status: span.status,
    ...(span.purpose !== undefined && { purpose: span.purpose }),
    provider: span.provider,
    request_model: span.upstream_model,
    response_model: span.response_model,
    ...timesWithin(row, span),
    http_status: span.http_status,
    input_tokens: span.input_tokens,
    cached_input_tokens: span.cached_input_tokens,
    output_tokens: span.output_tokens,
    reasoning_tokens: span.reasoning_tokens,
    cost_usd: span.cost_pico === null ? null : usdOf(BigInt(span.cost_pico)),
    cost_details: costDetails(span.cost_parts),
    price_version: span.price_version ?? null,
    usage_estimated: span.usage_estimated,
    error: span.error_code === null ? null : { type: span.error_code },
  };
}

function costDetails(parts: CostParts | undefined): WireSpan['cost_details'] {
  if (parts === undefined) return null;
  const usd = (pico = '0'): string => usdOf(BigInt(pico));
  return {
    input_usd: usd(parts.input),
    cached_input_usd: usd(parts.cached_input),
    cache_write_usd: usd(parts.cache_write),
    output_usd: usd(parts.output),
    other_usd: usd(parts.fees),
  };
}

/** The search in memory. */
function showRecall(span: Recall, row: TraceRow): WireSpan {
  const memory = { passages: span.passages, mode: span.mode };
  return { ...showStep(span, row), kind: 'memory', name: recallSpanName, memory };
}

function showTool(span: ToolSpan, row: TraceRow): WireSpan {
  const { server, tool: name } = span;
  return {
    ...{ ...showStep(span, row), kind: 'tool', name: `execute_tool ${span.name}` },
    ...(server !== undefined && name !== undefined && { tool: { server, name } }),
  };
}

/** A span other than a provider call, in the shape of all spans: it has no provider, no model and no tokens. */
function showStep(
  span: Pick<ToolSpan, 'id' | 'outcome' | 'offset_ms' | 'duration_ms'>,
  row: TraceRow,
): Omit<WireSpan, 'kind' | 'name'> {
  return {
    id: span.id,
    status: span.outcome === 'ok' ? 'ok' : 'error',
    provider: null,
    request_model: null,
    response_model: null,
    ...timesWithin(row, { ...span, time_to_first_token_ms: null }),
    http_status: null,
    input_tokens: 0,
    cached_input_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cost_usd: null,
    cost_details: null,
    price_version: null,
    usage_estimated: false,
    error: span.outcome === 'ok' ? null : { type: span.outcome },
  };
}

/** Runs stored by release 0.3.0 have a duration by another clock than their times. */
function durationOf({ started_at: start, ended_at: end, duration_ms: stored }: TraceRow): number | null {
  return end === null || stored === null ? null : Math.max(0, end.getTime() - start.getTime());
}

/** The times of a span, none of them outside its run. Offsets are rounded, and those of 0.3.0 are by another clock. */
function timesWithin(
  { started_at: start, ended_at: end }: Pick<TraceRow, 'started_at' | 'ended_at'>,
  span: Pick<Span, 'offset_ms' | 'duration_ms' | 'time_to_first_token_ms'>,
): Pick<WireSpan, 'started_at' | 'duration_ms' | 'time_to_first_token_ms'> {
  const runMs = Math.max(0, (end ?? start).getTime() - start.getTime());
  const offset = span.offset_ms === null ? null : Math.min(Math.max(span.offset_ms, 0), runMs);
  const duration = atMost(span.duration_ms, runMs - (offset ?? 0));
  return {
    started_at: offset === null ? null : new Date(start.getTime() + offset).toISOString(),
    duration_ms: duration,
    time_to_first_token_ms: atMost(span.time_to_first_token_ms, duration ?? runMs),
  };
}

function atMost(value: number | null, most: number): number | null {
  return value === null ? null : Math.min(value, most);
}

/** OpenTelemetry's name of a GenAI span: operation and requested model. */
function nameOf(operation: string, model: string): string {
  return `${operation} ${model}`;
}
