import type { DialectName } from '@gatehouse/contract/dialects';
import type { Recall } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Model } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { addedTexts, type Target } from '../catalogue/target.ts';
import type { Admission } from '../limits/admission.ts';
import { leastTokens, mostTokens } from '../limits/bounds.ts';
import { answerBounds } from '../limits/hidden-tokens.ts';
import type { Limiter } from '../limits/limiter.ts';
import { RequestAmounts } from '../limits/request-amounts.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { Additions, Dialect, RequestSource } from '@gatehouse/dialects/dialect';
import { responseId } from '../kept-responses/response-id.ts';
import type { KeepAnswer } from '../runs/run.ts';
import type { Actor } from '../shared/actor.ts';
import type { ClientName } from '../shared/client-name.ts';
import type { FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import { withoutLimits, type KeySettings } from '../shared/tenant-settings.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import { ActiveRun, type RunWriter } from '../recording/active-run.ts';
import type { RunTelemetry } from '../recording/run-telemetry.ts';
import type { TurnTools } from '../tools/tools.ts';
import type { TurnReasoning } from './turn-reasoning.ts';
import { Turn } from './turn.ts';
import type { OnAnswer } from '../memory/remembering.ts';

export interface TurnDependencies {
  providers: ProviderRegistry;
  recorder: RunWriter;
  pricing: Pricing;
  telemetry: RunTelemetry;
  limiter: Limiter;
  log: Logger;
}

/** The request that a turn answers. */
export interface TurnRequest {
  /** The format of the request and its answer. */
  dialect: Dialect;
  request: AcceptedRequest;
  source: RequestSource;
  actor: Actor;
  settings: KeySettings;
  target: Target;
  /** The search in memory that the target's reference is from. */
  recall: Recall | null;
  /** The dialect of the client; null where no client's request began the turn. */
  clientDialect: DialectName | null;
  /** The program of the client; null with `clientDialect`. */
  clientName: ClientName | null;
  /** The entrance of the request: `api`, `memory`, … */
  channel: string;
  sessionId: string | null;
  /** By the monotonic clock. */
  arrivedAt: number;
  /** The amounts of the tenant's limits that it holds since it arrived. The turn releases them once it completes. */
  admission: Admission;
  /** Gets the text of the answer once the run has ended well. */
  onAnswer: OnAnswer | null;
  /** Headers of the client that its API passes on. */
  headers: Readonly<Record<string, string>>;
  /** Tools that the gateway calls; null without any. */
  tools: TurnTools | null;
  /** Thoughts that the client's API has no place for; null where none is kept. */
  thoughts: TurnReasoning | null;
  /** The origins of signatures that the client has, or gets; null where there is one origin. */
  signatures: SignatureOrigins | null;
  /** Keeps the answer; null where it is not kept. */
  keep: KeepAnswer | null;
  /** Seals the summary of a conversation, for a request that asks for one. */
  sealSummary?: ((summary: string) => string) | undefined;
  /** The kept answer that the request goes on from, as its client names it. */
  previousId: string | null;
  /** Aborts when the answer is no longer wanted. */
  signal: AbortSignal;
}

/**
 * Checks every limit that a request's body decides. Throws as `Limiter.admit` does. The turn keeps neither the parsed
 * request nor its text for longer than a provider call may need them.
 */
export async function beginTurn(dependencies: TurnDependencies, asked: TurnRequest): Promise<Turn> {
  const { actor, settings, dialect, request, source, target, admission, onAnswer } = asked;
  const { tenantId, apiKeyId } = actor;
  const { providers, log, limiter, pricing } = dependencies;
  const ofRequest = new RequestAmounts(() => mostTokens(request, target, asked.headers), pricing);
  const amounts = asked.tools === null ? ofRequest : ofRequest.grown(asked.tools.definitions.text.length);
  const payer = {
    tenantId,
    apiKeyId,
    // A run that the tenant pays itself counts for no budget.
    settings: target.ownKeys === null ? settings : withoutLimits(settings, [Resource.BUDGET]),
  };
  const callAmounts = { amounts, leastTokens: leastTokens(request, target), signal: asked.signal };
  const maxTokens = await limiter.admit(admission, payer, callAmounts);
  const run = createRun(dependencies, asked);
  const { operation, model, stream, wantsUsage, choices, isBatch, compaction } = request;
  const { keep, previousId, sealSummary } = asked;
  const additions: Additions = {
    systemPrompt: target.systemPrompt,
    toolNames: new Set(asked.tools?.byName.keys()),
    kept:
      keep === null && previousId === null
        ? null
        : { id: keep === null ? null : responseId(run.identity.id), previousId },
  };
  const view = request.viewWith?.(additions) ?? undefined;
  const keptView = keep === null ? undefined : request.keptView?.(additions);
  return new Turn({
    dialect,
    headers: asked.headers,
    request: { operation, model, stream, wantsUsage, choices, isBatch, compaction, sealSummary, view },
    source,
    target,
    run,
    maxTokens,
    unpricedTools: unpricedBy(pricing, admission, request.requestedAmounts(target.defaults).feeTools ?? []),
    limitHeaders: {
      ...admission.headers,
      ...(maxTokens !== null && { 'x-gateway-max-tokens': String(maxTokens) }),
    },
    providers,
    log,
    onAnswer,
    thoughts: asked.thoughts,
    signatures: asked.signatures,
    kept: keep !== null && keptView !== undefined ? { keep, view: keptView } : null,
    tools:
      asked.tools === null
        ? null
        : {
            ...asked.tools,
            callIds: request.callIds,
            admitMore: (addedBytes) =>
              limiter.admit(admission, payer, { ...callAmounts, amounts: amounts.grown(addedBytes) }),
            callEnded: () => admission.lessen(run.spent),
          },
  });
}

/** A budget pays for no tool without a price. Prices may change while the turn is under way. */
function unpricedBy(
  pricing: Pricing,
  { charges }: Admission,
  tools: readonly FeeTool[],
): (model: Model) => readonly FeeTool[] {
  const at = new Date();
  const hints = charges === null ? [] : tools.filter(({ isHint }) => isHint);
  return (model) => (hints.length === 0 ? hints : pricing.unpricedTools(model, hints, at));
}

function createRun(dependencies: TurnDependencies, asked: TurnRequest): ActiveRun {
  const { request, actor, target, recall, admission, arrivedAt, channel, sessionId } = asked;
  const { recorder, pricing, telemetry, log } = dependencies;
  const { tenantId, apiKeyId, userId, requestId } = actor;
  const { previewChars } = asked.settings;
  const trace = telemetry.within(actor.trace);
  return new ActiveRun({
    identity: {
      id: newId(),
      tenantId,
      operation: request.operation,
      channel,
      dialect: asked.clientDialect,
      client: asked.clientName,
      requestId,
      traceId: trace.traceId,
      spanId: trace.spanId,
      apiKeyId,
      userId,
      sessionId,
      agentId: target.agentId,
      requestModel: request.model,
      streamed: request.stream,
      ownKey: target.ownKeys !== null,
      inputPreview: previewChars === 0 ? null : request.inputPreview(previewChars),
      recall,
      charges: admission.charges,
    },
    recorder,
    pricing,
    telemetry,
    log,
    trace,
    prompt: request.promptSample([
      ...addedTexts(target),
      ...(asked.tools === null ? [] : [asked.tools.definitions.sample]),
    ]),
    previewChars,
    arrivedAt,
    admission,
    bounds: answerBounds(request, target, asked.headers),
    feeTools: admission.charges === null ? [] : (request.requestedAmounts(target.defaults).feeTools ?? []),
    signatures: asked.signatures,
  });
}
