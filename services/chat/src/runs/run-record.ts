import { cutText } from '@gatehouse/events/cut-text';
import {
  costPartNames,
  costParts,
  maxCallTokens,
  maxGroups,
  maxGuardrailResults,
  maxInteger,
  maxMatchTypes,
  maxRunTokens,
  maxSpans,
  maxToolSpans,
  runStartedData,
  textLimits,
  type CostParts as WireCostParts,
  type GuardrailResult as WireGuardrailResult,
  type Recall,
  type RunEnded,
  type RunStarted,
  type Span,
  type ToolSpan as WireToolSpan,
} from '@gatehouse/events/run-event';
import { z } from 'zod';
import { toTokens } from '@gatehouse/dialects/usage/tokens';
import { noParts, type Cost, type CostParts } from '../catalogue/price.ts';
import {
  missingTool,
  type Attempt,
  type AttemptEnd,
  type AttemptStart,
  type GuardrailResult,
  type RunEnd,
  type RunIdentity,
  type ToolSpan,
} from './run.ts';

/*
 * Stored form of runs: the data of their events without the times, which the database adds. Reapers of the previous and
 * of the next release read the stored form of a run under way, as they read a table: a member may be added if its
 * absence means something, and is never renamed.
 *
 * Every text and number is cut here to the size an event may hold, so no request and no answer makes an event
 * impossible to publish or read.
 */

export type StartedRun = Omit<RunStarted, 'started_at'>;
/** Members added by the end of a run. */
export type RunEnding = Omit<RunEnded, keyof RunStarted | 'ended_at'> &
  Partial<Pick<RunStarted, 'input_preview'>>;
export type EndedRun = StartedRun & RunEnding;

export function startedRun(run: RunIdentity): StartedRun {
  return {
    run_id: run.id,
    tenant_id: run.tenantId,
    operation: run.operation,
    channel: cutText(run.channel, textLimits.channel),
    dialect: run.dialect,
    client: run.client,
    request_id: cutText(run.requestId, textLimits.request_id),
    trace_id: cutText(run.traceId, textLimits.trace_id),
    span_id: cutText(run.spanId, textLimits.span_id),
    api_key_id: run.apiKeyId,
    user_id: cutOrNull(run.userId, textLimits.user_id),
    ...groupsOf(run),
    session_id: cutOrNull(run.sessionId, textLimits.session_id),
    agent_id: run.agentId,
    request_model: cutText(run.requestModel, textLimits.request_model),
    streamed: run.streamed,
    ...(run.ownKey && { own_key: true }),
    input_preview: cutOrNull(run.inputPreview, textLimits.preview),
    ...(run.recall === null ? {} : { recall: cutRecall(run.recall) }),
  };
}

/** Absent for a run without groups. */
function groupsOf({ groups = [] }: RunIdentity): Pick<StartedRun, 'groups'> {
  const names = groups.slice(0, maxGroups).map((name) => cutName(name, textLimits.group));
  return names.length === 0 ? {} : { groups: names };
}

export function runEnding({ operation }: StartedRun, end: RunEnd, attempts: readonly Attempt[]): RunEnding {
  return {
    status: end.status,
    duration_ms: atMost(end.durationMs, maxInteger),
    time_to_first_token_ms: atMost(end.timeToFirstTokenMs, maxInteger),
    provider: cutOrNull(end.provider, textLimits.provider),
    model: cutOrNull(end.model, textLimits.model),
    response_model: cutOrNull(end.responseModel, textLimits.response_model),
    error_type: cutOrNull(end.errorType, textLimits.error_code),
    error_message: cutOrNull(end.errorMessage, textLimits.error_message),
    output_preview: cutOrNull(end.outputPreview, textLimits.preview),
    // A second member of the name in the text of an event: readers take the last one.
    ...(end.inputPreview !== undefined && { input_preview: cutText(end.inputPreview, textLimits.preview) }),
    // Calls made by the gateway itself, not those a model asks the client to make.
    tool_calls: Math.min(end.tools.filter(({ outcome }) => outcome !== missingTool).length, maxInteger),
    priced: end.cost.priced,
    ...figures(end, maxRunTokens),
    spans: attempts.slice(0, maxSpans).map((attempt) => spanOf(attempt, operation)),
    ...guardrailsOf(end),
    ...(end.tools.length > 0 && { tools: end.tools.slice(0, maxToolSpans).map(toolSpanOf) }),
  };
}

function spanOf(attempt: Attempt, operation: StartedRun['operation']): Span {
  return {
    id: attempt.id,
    kind: operation === 'embeddings' ? 'embedding' : 'llm',
    number: attempt.number,
    provider: cutName(attempt.provider, textLimits.provider),
    model: cutName(attempt.model, textLimits.model),
    upstream_model: cutName(attempt.upstreamModel, textLimits.model),
    ...(attempt.purpose !== undefined && { purpose: attempt.purpose }),
    response_model:
      attempt.responseModel === null ? null : cutName(attempt.responseModel, textLimits.response_model),
    status: attempt.status,
    offset_ms: atMost(attempt.offsetMs, maxInteger),
    duration_ms: atMost(attempt.durationMs, maxInteger),
    time_to_first_token_ms: atMost(attempt.timeToFirstTokenMs, maxInteger),
    http_status: attempt.httpStatus,
    error_code: cutOrNull(attempt.errorCode, textLimits.error_code),
    ...figures(attempt, maxCallTokens),
    ...(attempt.cost?.parts && { cost_parts: wireParts(attempt.cost.parts) }),
  };
}

function wireParts(parts: CostParts): WireCostParts {
  const names = costPartNames.filter((name) => parts[name] !== 0n);
  return Object.fromEntries(names.map((name) => [name, String(parts[name])]));
}

function toolSpanOf({ id, name, server, tool, outcome, offsetMs, durationMs }: ToolSpan): WireToolSpan {
  return {
    id,
    name: cutName(name, textLimits.tool_name),
    ...(server !== null && {
      server: cutName(server, textLimits.tool_server),
      tool: cutName(tool, textLimits.tool_name),
    }),
    outcome: cutName(outcome, textLimits.error_code),
    offset_ms: Math.min(offsetMs, maxInteger),
    duration_ms: Math.min(durationMs, maxInteger),
  };
}

/** Absent for a run without guardrails. */
function guardrailsOf({ guardrails = [] }: RunEnd): Pick<RunEnding, 'guardrails'> {
  return guardrails.length === 0 ? {} : { guardrails: resultsInEvent(guardrails, maxGuardrailResults) };
}

/** So many results of guardrails as an event has them: those that blocked are the first, and those without a finding the last. */
export function resultsInEvent(results: readonly GuardrailResult[], most: number): WireGuardrailResult[] {
  const rank = ({ outcome }: GuardrailResult) => (outcome === 'blocked' ? 0 : outcome === 'passed' ? 2 : 1);
  return results
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, most)
    .map(guardrailResultOf);
}

function guardrailResultOf(result: GuardrailResult): WireGuardrailResult {
  const { name, on, outcome, types, durationMs, costPico } = result;
  const sorted = Object.entries(types).toSorted(([, a], [, b]) => b - a);
  const counts = sorted
    .slice(0, maxMatchTypes)
    .map(([type, matches]) => [cutName(type, textLimits.match_type), Math.min(matches, maxInteger)] as const);
  return {
    ...{ name: cutName(name, textLimits.guardrail), on, outcome, types: Object.fromEntries(counts) },
    ...{ duration_ms: Math.min(Math.round(durationMs), maxInteger), cost_pico: String(costPico) },
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
  | 'price_version'
>;

/** Amounts are text, since they may exceed what JSON's numbers hold exactly. */
function figures(
  { usage, cost }: Pick<AttemptEnd, 'usage'> & Pick<AttemptEnd | RunEnd, 'cost'>,
  maxTokens: number,
): Figures {
  return {
    input_tokens: Math.min(toTokens(usage.inputTokens), maxTokens),
    cached_input_tokens: Math.min(toTokens(usage.cachedInputTokens), maxTokens),
    cache_write_tokens: Math.min(toTokens(usage.cacheWriteTokens), maxTokens),
    output_tokens: Math.min(toTokens(usage.outputTokens), maxTokens),
    reasoning_tokens: Math.min(toTokens(usage.reasoningTokens), maxTokens),
    usage_estimated: usage.estimated,
    cost_pico: cost?.costPico?.toString() ?? null,
    price_source: cost?.source ?? null,
    price_version: cutOrNull(cost?.version ?? null, textLimits.price_version),
  };
}

function cutRecall(recall: Recall): Recall {
  return {
    ...recall,
    mode: cutOrNull(recall.mode, textLimits.recall_mode),
    offset_ms: Math.min(recall.offset_ms, maxInteger),
    duration_ms: Math.min(recall.duration_ms, maxInteger),
  };
}

/**
 * A name in a span, without characters that take six bytes in JSON: there are up to 1,000 names in an event, and none of
 * them has such a character by right.
 */
function cutName(text: string, max: number): string {
  return cutText(text, max).replace(/[\p{Cc}\p{Cs}]/gu, '\ufffd');
}

function cutOrNull(text: string | null, max: number): string | null {
  return text === null ? null : cutText(text, max);
}

function atMost(value: number | null, max: number): number | null {
  return value === null ? null : Math.min(value, max);
}

/** JSON has no bigints. */
type StoredEnd = Omit<Attempt, 'cost' | 'chargePico'> & {
  cost: (Omit<Cost, 'costPico' | 'parts'> & { costPico: string; parts?: WireCostParts }) | null;
  chargePico?: string;
};

/** The stored calls of a run under way. */
export interface StoredAttempts {
  ended: StoredEnd[];
  /** Null for a run without a call of a model, written from the next release on. */
  open: AttemptStart | null;
}

export function storedAttempt(attempt: Attempt): StoredEnd {
  const { cost, responseModel, chargePico, ...rest } = attempt;
  return {
    ...rest,
    ...(chargePico !== undefined && { chargePico: String(chargePico) }),
    responseModel: cutOrNull(responseModel, textLimits.response_model),
    cost:
      cost === null
        ? null
        : {
            ...{ costPico: cost.costPico.toString(), source: cost.source },
            version: cutOrNull(cost.version, textLimits.price_version),
            ...(cost.parts && { parts: wireParts(cost.parts) }),
          },
  };
}

const startedRunShape = runStartedData.omit({ started_at: true });

/** Reads a stored run under way; null otherwise. */
export function readStartedRun(text: string): StartedRun | null {
  return startedRunShape.safeParse(parseJson(text)).data ?? null;
}

const attemptStart = { id: z.uuid(), provider: z.string(), model: z.string(), upstreamModel: z.string() };
const pico = z.string().regex(/^\d{1,19}$/);
const charges = z.array(z.object({ subjectId: z.uuid(), windowStart: z.int() })).optional();
/** Members needed to end a run. */
const storedAttemptsShape = z.object({
  open: z
    .object({
      ...attemptStart,
      number: z.int().min(1),
      inputTokensGuess: z.int().min(0),
      reservedPico: pico.optional(),
      charges,
    })
    .nullable(),
  ended: z.array(
    z.object({
      ...attemptStart,
      responseModel: z.string().nullable(),
      errorCode: z.string().nullable(),
      usage: z.looseObject({ inputTokens: z.number(), outputTokens: z.number() }),
      cost: z.object({ costPico: pico, parts: costParts.optional() }).nullable(),
      chargePico: pico.optional(),
      charges,
    }),
  ),
});

/** Reads the stored calls of a run under way; null otherwise. */
export function readStoredAttempts(text: string): { ended: Attempt[]; open: AttemptStart | null } | null {
  const value = parseJson(text);
  if (!storedAttemptsShape.safeParse(value).success) return null;
  const { ended, open } = value as StoredAttempts;
  return { ended: ended.map(readStoredEnd), open };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The inverse of `storedAttempt`. */
function readStoredEnd(stored: StoredEnd): Attempt {
  const { cost, chargePico, ...rest } = stored;
  const charge = chargePico === undefined ? {} : { chargePico: BigInt(chargePico) };
  return { ...rest, ...charge, cost: cost === null ? null : readStoredCost(cost) };
}

function readStoredCost({ costPico, parts, ...rest }: NonNullable<StoredEnd['cost']>): Cost {
  const cost = { ...rest, costPico: BigInt(costPico) };
  return parts === undefined ? cost : { ...cost, parts: readParts(parts) };
}

function readParts(parts: WireCostParts): CostParts {
  const amounts = { ...noParts };
  for (const name of costPartNames) amounts[name] = BigInt(parts[name] ?? 0);
  return amounts;
}

/** Members of a run's record naming a user or a session, or holding a text. */
const texts = ['user_id', 'session_id', 'input_preview', 'output_preview', 'error_message'];

/** JSON to take them from a record. */
export const withoutUser = JSON.stringify(Object.fromEntries(texts.map((name) => [name, null])));

/** A run's record, as JSON, without its user, its session and all texts. */
export function anonymous(json: string): string {
  const record = JSON.parse(json) as Record<string, unknown>;
  const removed = texts.filter((name) => Object.hasOwn(record, name)).map((name) => [name, null]);
  return JSON.stringify({ ...record, ...(Object.fromEntries(removed) as Record<string, null>) });
}

/** The same of what an end adds to a record: JSON with a comma in place of its first brace. */
export function anonymousEnding(ending: string): string {
  return `,${anonymous(`{${ending.slice(1)}`).slice(1)}`;
}
