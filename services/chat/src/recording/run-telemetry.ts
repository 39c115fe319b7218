import { recallSpanName, type Recall } from '@gatehouse/events/run-event';
import type { MeasureAttributes, Meter, RecordValue } from '@gatehouse/kit/meter';
import { Histogram, type Registry } from '@gatehouse/kit/metrics';
import { childSpan, type TraceContext } from '@gatehouse/kit/trace-context';
import type { SpanAttributes, Tracer } from '@gatehouse/kit/tracing';
import type { AttemptEnd, AttemptStart, AttemptStatus, RunEnd, RunIdentity, RunStatus } from '../runs/run.ts';
import type { Model } from '../catalogue/catalogue.ts';
import { ProviderMetrics } from './provider-metrics.ts';

/** The place of an ended operation in its trace. Times are by `monotonicMs`. */
interface Timing {
  trace: TraceContext;
  startedAt: number;
  endedAt: number;
}

export interface EndedAttempt extends Timing {
  run: RunIdentity;
  attempt: AttemptStart & AttemptEnd;
  model: Model;
}

export interface EndedRun extends Timing {
  run: RunIdentity;
  end: RunEnd;
  /** How many provider calls it took. */
  calls: number;
}

/** A search in an agent's memory. */
export interface EndedRecall extends Timing {
  tenantId: string;
  agentId: string;
  sessionId: string | null;
  outcome: Recall['outcome'];
  mode: string | null;
  passages: number;
}

/** Call of a tool made by the gateway. */
export interface EndedTool extends Timing {
  run: RunIdentity;
  name: string;
  outcome: string;
}

const recallBuckets = [0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2];
const durationBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Metrics and spans of runs and their provider calls. Prompts, answers, keys and users are in neither. */
export class RunTelemetry {
  readonly #tracer: Tracer | undefined;
  readonly #genAi: GenAiMetrics | undefined;
  readonly #duration: Histogram<'status' | 'operation'>;
  readonly #providerMetrics: ProviderMetrics;
  readonly #recalls: Histogram<'outcome'>;
  readonly #toolCalls: Histogram<'outcome'>;
  #onUnpriced: (model: Model) => void = () => undefined;

  constructor(registry: Registry, tracer: Tracer | undefined, meter: Meter | undefined) {
    this.#tracer = tracer;
    this.#genAi = meter === undefined ? undefined : new GenAiMetrics(meter);
    this.#providerMetrics = new ProviderMetrics(registry);
    const registers = [registry];
    this.#duration = new Histogram({
      name: 'gatehouse_run_duration_seconds',
      help: 'Time from the arrival of a request to the end of its run',
      labelNames: ['status', 'operation'],
      buckets: durationBuckets,
      registers,
    });
    this.#toolCalls = new Histogram({
      name: 'gatehouse_tool_call_duration_seconds',
      help: 'Time of calls of tools that the gateway made, by outcome: ok, error, or what went wrong',
      labelNames: ['outcome'],
      buckets: durationBuckets,
      registers,
    });
    this.#recalls = new Histogram({
      name: 'gatehouse_recall_duration_seconds',
      help: "Time that a search in an agent's memory delayed a turn, by its outcome: ok, timeout or unavailable",
      labelNames: ['outcome'],
      buckets: recallBuckets,
      registers,
    });
  }

  /** A new span within the parent, or the parent itself without a tracer. */
  within(parent: TraceContext): TraceContext {
    return this.#tracer === undefined ? parent : childSpan(parent);
  }

  attemptEnded(ended: EndedAttempt): void {
    const { attempt, run } = ended;
    if (attempt.cost === null) this.#onUnpriced(ended.model);
    const { usage } = attempt;
    const timeToFirstTokenMs = run.streamed ? attempt.timeToFirstTokenMs : null;
    this.#providerMetrics.ended({ ...attempt, timeToFirstTokenMs });
    this.#genAi?.callEnded((ended.endedAt - ended.startedAt) / 1_000, usage, measuredAttributes(ended));
    this.#tracer?.record({
      context: ended.trace,
      name: `${run.operation} ${attempt.upstreamModel}`,
      kind: 'client',
      startedAt: ended.startedAt,
      endedAt: ended.endedAt,
      attributes: attemptAttributes(ended),
      failed: isFailure(attempt.status),
    });
  }

  /** Calls `listener` with the model of each call without a price. */
  onUnpriced(listener: (model: Model) => void): void {
    this.#onUnpriced = listener;
  }

  /** Span of a search as https://github.com/open-telemetry/semantic-conventions-genai has it (search_memory). */
  recalled({ trace, startedAt, endedAt, ...search }: EndedRecall): void {
    const { outcome } = search;
    this.#recalls.observe({ outcome }, (endedAt - startedAt) / 1_000);
    this.#tracer?.record({
      context: trace,
      name: recallSpanName,
      kind: 'internal',
      startedAt,
      endedAt,
      attributes: {
        'gen_ai.operation.name': recallSpanName,
        'gen_ai.agent.id': search.agentId,
        'gen_ai.conversation.id': search.sessionId ?? undefined,
        'error.type': outcome === 'ok' ? undefined : outcome,
        'gatehouse.tenant_id': search.tenantId,
        'gatehouse.memory.outcome': outcome,
        'gatehouse.memory.mode': search.mode ?? undefined,
        'gatehouse.memory.passages': search.passages,
      },
      failed: outcome !== 'ok',
    });
  }

  /** Span of a tool as https://github.com/open-telemetry/semantic-conventions-genai has it (execute_tool). */
  toolEnded({ run, trace, name, outcome, startedAt, endedAt }: EndedTool): void {
    this.#toolCalls.observe({ outcome }, (endedAt - startedAt) / 1_000);
    const failed = outcome !== 'ok';
    this.#tracer?.record({
      context: trace,
      name: `execute_tool ${name}`,
      kind: 'internal',
      ...{ startedAt, endedAt, failed },
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.type': 'extension',
        'gen_ai.agent.id': run.agentId ?? undefined,
        'gen_ai.conversation.id': run.sessionId ?? undefined,
        'error.type': failed ? outcome : undefined,
        'gatehouse.tenant_id': run.tenantId,
      },
    });
  }

  runEnded({ run, end, calls, trace, startedAt, endedAt }: EndedRun): void {
    this.#duration.observe({ status: end.status, operation: run.operation }, (endedAt - startedAt) / 1_000);
    this.#tracer?.record({
      context: trace,
      name: `${run.operation} ${run.requestModel}`,
      kind: 'internal',
      startedAt,
      endedAt,
      // Only the spans of calls have tokens, so the sum over a trace does not count them twice.
      attributes: {
        'gen_ai.operation.name': run.operation,
        'gen_ai.request.model': run.requestModel,
        'gen_ai.request.stream': run.streamed || undefined,
        'gen_ai.response.model': end.responseModel ?? undefined,
        'gen_ai.provider.name': end.provider ?? undefined,
        'gen_ai.agent.id': run.agentId ?? undefined,
        'gen_ai.conversation.id': run.sessionId ?? undefined,
        'error.type': end.errorType ?? undefined,
        'gatehouse.run_id': run.id,
        'gatehouse.tenant_id': run.tenantId,
        'gatehouse.status': end.status,
        'gatehouse.calls': calls,
      },
      failed: isFailure(end.status),
    });
  }
}

function isFailure(status: AttemptStatus | RunStatus): boolean {
  return status === 'error' || status === 'interrupted';
}

/** Attributes of both the span and the metrics of a call. */
function callAttributes({ run, attempt, model }: EndedAttempt): MeasureAttributes {
  const url = new URL(model.provider.base_url);
  return {
    'gen_ai.operation.name': run.operation,
    'gen_ai.provider.name': attempt.provider,
    'gen_ai.request.model': attempt.upstreamModel,
    'gen_ai.response.model': attempt.responseModel ?? undefined,
    'server.address': url.hostname,
    'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    'error.type': isFailure(attempt.status) ? (attempt.errorCode ?? undefined) : undefined,
  };
}

/** Clients invent names behind a pattern, and some providers answer with the name they got. */
function measuredAttributes(ended: EndedAttempt): MeasureAttributes {
  const attributes = callAttributes(ended);
  const { pattern } = ended.model;
  if (pattern === null) return attributes;
  return {
    ...attributes,
    'gen_ai.request.model': pattern.upstreamModel,
    'gen_ai.response.model': undefined,
  };
}

/** Span of a call as https://github.com/open-telemetry/semantic-conventions-genai has it (gen_ai.client.inference). */
function attemptAttributes(ended: EndedAttempt): SpanAttributes {
  const { run, attempt } = ended;
  const { usage, timeToFirstTokenMs } = attempt;
  const counted = usage.inputTokens + usage.outputTokens > 0;
  return {
    ...callAttributes(ended),
    'gen_ai.request.stream': run.streamed || undefined,
    'gen_ai.response.time_to_first_chunk':
      run.streamed && timeToFirstTokenMs !== null ? timeToFirstTokenMs / 1_000 : undefined,
    'gen_ai.usage.input_tokens': counted ? usage.inputTokens : undefined,
    'gen_ai.usage.output_tokens': counted ? usage.outputTokens : undefined,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens || undefined,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens || undefined,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens || undefined,
    'gen_ai.agent.id': run.agentId ?? undefined,
    'gen_ai.conversation.id': run.sessionId ?? undefined,
    'http.response.status_code': attempt.httpStatus ?? undefined,
    'gatehouse.run_id': run.id,
    'gatehouse.attempt': attempt.number,
    'gatehouse.status': attempt.status,
    'gatehouse.price_version': attempt.cost?.version ?? undefined,
    'gatehouse.usage_estimated': usage.estimated || undefined,
  };
}

/** Bounds of the buckets as the convention gives them. */
const durationSeconds = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
const tokenCounts = Array.from({ length: 14 }, (_, power) => 4 ** power);

/**
 * Metrics of provider calls as https://github.com/open-telemetry/semantic-conventions-genai has them
 * (gen_ai.client.*), for export by OTLP.
 */
class GenAiMetrics {
  readonly #duration: RecordValue;
  readonly #tokens: RecordValue;

  constructor(meter: Meter) {
    this.#duration = meter.histogram({
      name: 'gen_ai.client.operation.duration',
      description: 'Time from a provider call to its end',
      unit: 's',
      boundaries: durationSeconds,
    });
    this.#tokens = meter.histogram({
      name: 'gen_ai.client.token.usage',
      description: 'Tokens of a provider call, as the provider reported them',
      unit: '{token}',
      boundaries: tokenCounts,
    });
  }

  callEnded(seconds: number, usage: AttemptEnd['usage'], attributes: MeasureAttributes): void {
    this.#duration(seconds, attributes);
    // By the convention, tokens not reported by the provider have no metric.
    if (usage.estimated) return;
    const { 'error.type': _error, ...labels } = attributes;
    if (usage.inputTokens > 0) this.#tokens(usage.inputTokens, { ...labels, 'gen_ai.token.type': 'input' });
    if (usage.outputTokens > 0)
      this.#tokens(usage.outputTokens, { ...labels, 'gen_ai.token.type': 'output' });
  }
}
