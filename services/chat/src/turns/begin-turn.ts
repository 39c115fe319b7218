import { textLimits } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { agentRef, agentTarget, modelNotFound, modelTarget, type Target } from '../catalogue/target.ts';
import type { Admission } from '../limits/admission.ts';
import type { Limiter } from '../limits/limiter.ts';
import { RequestAmounts } from '../limits/request-amounts.ts';
import { inputPreview, promptSample, type CompletionRequest } from '../openai/completion-request.ts';
import type { RequestSource } from '../openai/request-source.ts';
import type { AgentCaller, AgentClient } from '../peers/agents.ts';
import type { KeySettings } from '../peers/tenant-settings.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import { ActiveRun } from '../runs/active-run.ts';
import type { RunRecorder } from '../runs/run-recorder.ts';
import type { RunTelemetry } from '../runs/run-telemetry.ts';
import { Turn } from './turn.ts';

export interface TurnDependencies {
  catalogue: Catalogue;
  providers: ProviderRegistry;
  recorder: RunRecorder;
  pricing: Pricing;
  telemetry: RunTelemetry;
  agents: AgentClient;
  limiter: Limiter;
  log: Logger;
}

/** What a turn is asked for. */
export interface TurnRequest {
  request: CompletionRequest;
  source: RequestSource;
  caller: AgentCaller;
  settings: KeySettings;
  /** Where the request came in: `api`, `webhook`, … */
  channel: string;
  sessionId: string | null;
  /** By the monotonic clock. */
  arrivedAt: number;
  /** What it holds of the tenant's limits since it arrived. The turn releases it once it completes. */
  admission: Admission;
}

/**
 * Resolves the target of a request and checks every limit that its body decides. Throws 404 `model_not_found`, and as
 * `Limiter.admit` does. What it returns keeps neither the parsed request nor its text for longer than a provider
 * call may need them.
 */
export async function beginTurn(dependencies: TurnDependencies, asked: TurnRequest): Promise<Turn> {
  const { caller, settings, request, source, admission } = asked;
  const { tenantId, keyId: apiKeyId } = caller.principal;
  const target = await findTarget(dependencies, asked);
  const { providers, log, limiter, pricing } = dependencies;
  const amounts = new RequestAmounts(request, target, pricing);
  await limiter.admit(admission, { tenantId, apiKeyId, settings }, amounts);
  const { operation, model, stream, wantsUsage, choices } = request;
  return new Turn({
    request: { operation, model, stream, wantsUsage, choices },
    source,
    target,
    run: createRun(dependencies, asked, target),
    limitHeaders: admission.headers,
    providers,
    log,
  });
}

/** The models behind the request's `model`: a catalogue entry's, or an agent's. */
async function findTarget(
  { catalogue, agents }: TurnDependencies,
  { request, caller, settings }: TurnRequest,
): Promise<Target> {
  const ref = agentRef(request.model);
  if (ref === null) return modelTarget(catalogue, request.model, settings.allowedModels);
  if (request.operation !== 'chat' || request.model.length > textLimits.request_model)
    throw modelNotFound(request.model);
  const agent = await agents.resolve(caller, ref);
  if (agent === null) throw modelNotFound(request.model);
  return agentTarget(catalogue, agent, settings.allowedModels);
}

function createRun(dependencies: TurnDependencies, asked: TurnRequest, target: Target): ActiveRun {
  const { request, caller, admission, arrivedAt, channel, sessionId } = asked;
  const { recorder, pricing, telemetry } = dependencies;
  const { principal, requestId } = caller;
  const { previewChars } = asked.settings;
  const trace = telemetry.within(caller.trace);
  return new ActiveRun({
    identity: {
      id: newId(),
      tenantId: principal.tenantId,
      operation: request.operation,
      channel,
      requestId,
      traceId: trace.traceId,
      spanId: trace.spanId,
      apiKeyId: principal.keyId,
      userId: principal.actingUser,
      sessionId,
      agentId: target.agentId,
      requestModel: request.model,
      streamed: request.stream,
      inputPreview: previewChars === 0 ? null : inputPreview(request, previewChars),
      charges: admission.charges,
    },
    recorder,
    pricing,
    telemetry,
    trace,
    prompt: promptSample(request, target.systemPrompt ?? ''),
    previewChars,
    arrivedAt,
    admission,
  });
}
