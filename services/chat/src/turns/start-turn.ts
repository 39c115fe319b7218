import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Model } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { addedTexts } from '../catalogue/target.ts';
import type { Admission, Reservation } from '../limits/admission.ts';
import { lastingTexts, leastTokens, mostTokens } from '../limits/upper-bounds.ts';
import { answerBounds } from '../limits/hidden-tokens.ts';
import { CallAdmission } from '../limits/call-admission.ts';
import type { CountedPrompts } from '../limits/counted-prompts.ts';
import type { CallAmounts, Limiter, Payer } from '../limits/limiter.ts';
import { RequestAmounts } from '../limits/request-amounts.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import { withoutLimits } from '../shared/tenant-settings.ts';
import { ActiveRun } from '../recording/active-run.ts';
import type { ActiveRunOptions } from '../recording/active-run-options.ts';
import type { RunWriter } from '../recording/run-rows.ts';
import type { RunTelemetry } from '../recording/run-telemetry.ts';
import type { OpenTurn, RunStops } from '../stops/run-stops.ts';
import { runPoliciesOf } from './run-policies.ts';
import { Turn, type AnswerDependencies } from './turn.ts';
import type { StartedTurn, TurnContext, TurnInput, TurnStage } from './turn-stage.ts';

export interface TurnDependencies extends AnswerDependencies {
  recorder: RunWriter;
  pricing: Pricing;
  telemetry: RunTelemetry;
  limiter: Limiter;
  prompts: CountedPrompts;
  stops: Pick<RunStops, 'enter' | 'whenKnown'>;
}

/** Takes an arriving request's part of the limits, and returns it if the request is not accepted. */
export async function arrive(
  { limiter }: Pick<TurnDependencies, 'limiter'>,
  payer: Payer,
  accept: (admission: Admission) => Promise<Turn>,
): Promise<Turn> {
  const arriving = limiter.arrive(payer);
  const admission = arriving instanceof Promise ? await arriving : arriving;
  try {
    return await accept(admission);
  } catch (error) {
    admission.release();
    throw error;
  }
}

/** Lets every stage look up what it adds to a request; undefined where no stage does. */
export function prepareTurn(
  stages: readonly TurnStage[],
  turn: TurnContext,
  input: TurnInput,
): Promise<unknown> | undefined {
  const pending = stages.map((stage) => stage.prepare?.(turn, input)).filter((work) => work !== undefined);
  return pending.length === 0 ? undefined : Promise.all(pending);
}

/**
 * Prepares the stages of a turn, and checks every limit decided by the body of its request. Throws as they and
 * `Limiter.admit` do, and `run_stopped` while a stop selects it. The turn holds `input` until its stages have read it, and
 * the text no longer than a provider call may need it.
 */
export async function startTurn(
  dependencies: TurnDependencies,
  turn: TurnContext,
  input: TurnInput,
): Promise<Turn> {
  const open = openTurnOf(turn);
  const known = dependencies.stops.whenKnown();
  if (known !== undefined) await known;
  const leave = dependencies.stops.enter(open);
  try {
    const started = await prepareStart(dependencies, turn, input);
    open.runId = started.run.identity.id;
    return new Turn(dependencies, started, { leave, input });
  } catch (error) {
    leave();
    throw error;
  }
}

/** Holds no more of a turn than stops need: texts of its request are released sooner. */
function openTurnOf({ actor, sessionId, target: { agentId }, arrivedAt, ending }: TurnContext): OpenTurn {
  const { tenantId, userId, apiKeyId } = actor;
  return { tenantId, sessionId, userId, agentId, apiKeyId, arrivedAt, ending, runId: null };
}

async function prepareStart(
  dependencies: TurnDependencies,
  turn: TurnContext,
  input: TurnInput,
): Promise<StartedTurn> {
  // Nothing of a blocked request goes to another service.
  const isBlocked = (turn.guardrails?.refusal ?? null) !== null;
  const prepared = isBlocked ? undefined : prepareTurn(dependencies.stages, turn, input);
  if (prepared !== undefined) await prepared;
  const { limiter, pricing, prompts } = dependencies;
  const { actor, settings, target, admission, headers, tools, thoughtBytes, signal } = turn;
  const { tenantId, apiKeyId } = actor;
  const { facts, parts } = input;
  const toolText = tools?.definitions.text ?? null;
  const added = lastingTexts(target, toolText);
  const dialect = turn.dialect.name;
  let prompt = parts === null ? null : prompts.prompt({ tenantId, dialect, headers, parts, added });
  const amounts = new RequestAmounts(
    () => mostTokens(facts, target, headers, { toolText, thoughtBytes, prompt }),
    pricing,
  );
  const payer = {
    tenantId,
    apiKeyId,
    // A run paid by the tenant itself counts for no budget.
    settings: target.ownKeys === null ? settings : withoutLimits(settings, [Resource.BUDGET]),
  };
  const callAmounts = { amounts, leastTokens: leastTokens(facts, target), signal };
  const policies = runPoliciesOf(turn, limiter);
  const calls = new CallAdmission({ limiter, admission, payer, chain: target.chain, policies });
  const admitted = calls.begin(callAmounts);
  const maxTokens = admitted instanceof Promise ? await admitted : admitted;
  for (const stage of dependencies.stages) {
    const pending = stage.admitted?.(turn);
    if (pending !== undefined) await pending;
  }
  // A summary is asked for without the tools, and no limit depends on the tokens of a run with amounts unknown by now.
  const isNoted = facts.compaction === undefined && amounts.areKnown;
  const notePrompt = isNoted && prompt !== null ? prompt.note : null;
  // Its parts may take more memory than the body.
  prompt = null;
  const { feeTools = [] } = facts.requestedAmounts(target.defaults);
  const started: StartedTurn = {
    ...turn,
    run: createRun(dependencies, turn, { facts, feeTools, notePrompt }),
    maxTokens,
    unpricedTools: unpricedBy(pricing, admission.reservation, feeTools),
    limitHeaders: {
      ...admission.headers,
      ...(maxTokens !== null && { 'x-gateway-max-tokens': String(maxTokens) }),
    },
    admitMore: tools === null ? null : furtherCalls(calls, callAmounts),
    admitModel: calls.model,
    isStored: false,
    content: null,
  };
  return started;
}

/** Not part of `startTurn`: closures there keep the facts of the request. */
function furtherCalls(calls: CallAdmission, call: CallAmounts): StartedTurn['admitMore'] {
  return async (addedBytes) => calls.begin({ ...call, amounts: call.amounts.grown(addedBytes) });
}

/** An enforced budget pays for no tool without a price. Prices may change while the turn is under way. */
function unpricedBy(
  pricing: Pricing,
  { isEnforced }: Reservation,
  tools: readonly FeeTool[],
): (model: Model) => readonly FeeTool[] {
  const at = new Date();
  const hints = isEnforced ? tools.filter(({ isHint }) => isHint) : [];
  return (model) => (hints.length === 0 ? hints : pricing.unpricedTools(model, hints, at));
}

function createRun(
  { recorder, pricing, telemetry, log }: TurnDependencies,
  turn: TurnContext,
  {
    facts,
    feeTools,
    notePrompt,
  }: Pick<ActiveRunOptions, 'feeTools' | 'notePrompt'> & { facts: AcceptedRequest },
): ActiveRun {
  const { actor, target, client, admission, arrivedAt, channel, sessionId, tools } = turn;
  const { tenantId, apiKeyId, userId, requestId } = actor;
  const { previewChars } = turn.settings;
  // The record of the start has no text still to be checked outside.
  const isChecked = (turn.guardrails?.outside ?? null) === null;
  const trace = telemetry.within(actor.trace);
  return new ActiveRun({
    identity: {
      id: newId(),
      tenantId,
      operation: facts.operation,
      channel,
      dialect: client?.dialect ?? null,
      client: client?.name ?? null,
      requestId,
      traceId: trace.traceId,
      spanId: trace.spanId,
      apiKeyId,
      userId,
      groups: actor.groups.map(({ name }) => name),
      sessionId,
      agentId: target.agentId,
      requestModel: facts.model,
      streamed: facts.stream,
      ownKey: target.ownKeys !== null,
      inputPreview: previewChars === 0 || !isChecked ? null : facts.inputPreview(previewChars),
      recall: turn.recall,
      charges: admission.reservation.charges,
    },
    recorder,
    pricing,
    telemetry,
    log,
    trace,
    prompt: () =>
      facts.promptSample([...addedTexts(target), ...(tools === null ? [] : [tools.definitions.sample])]),
    previewChars,
    arrivedAt,
    admission,
    bounds: answerBounds(facts, target, turn.headers),
    feeTools: admission.reservation.charges === null ? [] : feeTools,
    signatures: turn.signatures,
    guardrails: turn.guardrails,
    notePrompt,
  });
}
