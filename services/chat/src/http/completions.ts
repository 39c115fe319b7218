import type { IncomingMessage, ServerResponse } from 'node:http';
import { textLimits } from '@gatehouse/events/run-event';
import { tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders, parseJson, readBody } from '@gatehouse/http/body';
import type { BodyBudget } from '@gatehouse/http/body-budget';
import { openShare } from '@gatehouse/http/body-share';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Catalogue } from '../catalogue/catalogue.ts';
import {
  inputPreview,
  promptSample,
  readChatRequest,
  readEmbeddingsRequest,
  type CompletionRequest,
} from '../openai/completion-request.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { agentRef, agentTarget, modelNotFound, modelTarget, type Target } from '../catalogue/target.ts';
import { ActiveRun } from '../runs/active-run.ts';
import { Exchange } from '../turns/exchange.ts';
import { RequestSource } from '../openai/request-source.ts';
import type { RunTelemetry } from '../runs/run-telemetry.ts';
import type { Quotas } from '../limits/quotas.ts';
import type { RequestAdmission } from '../limits/request-admission.ts';
import type { Meter } from '../runs/meter.ts';
import type { AgentClient } from '../peers/agents.ts';
import type { KeySettings, TenantSettings, TenantSettingsClient } from '../peers/tenant-settings.ts';
import type { AnswerBudget } from '../providers/answer-budget.ts';
import type { ProviderRegistry } from '../providers/registry.ts';

export interface CompletionDependencies {
  catalogue: Catalogue;
  providers: ProviderRegistry;
  answers: AnswerBudget;
  meter: Meter;
  pricing: Pricing;
  telemetry: RunTelemetry;
  agents: AgentClient;
  settings: TenantSettingsClient;
  quotas: Quotas;
  bodyBudget: BodyBudget;
  log: Logger;
  silenceMs?: number;
}

/** `POST /v1/chat/completions` and `POST /v1/embeddings`: the routes whose bodies pass through unparsed. */
export function completionHandlers(dependencies: CompletionDependencies): Record<string, RawHandler> {
  return {
    'chat.completions': (request, response, call) =>
      complete(dependencies, request, response, { ...call, read: readChatRequest }),
    'embeddings.create': (request, response, call) =>
      complete(dependencies, request, response, { ...call, read: readEmbeddingsRequest }),
  };
}

/** How old settings may be when a request is accepted. */
const settingsGoodMs = 1_000;

type CompletionCall = RawCall & { read: (body: Buffer, parsed: unknown) => CompletionRequest };

/** Limits that need no body come before it is read, and all others after it. */
async function complete(
  dependencies: CompletionDependencies,
  incoming: IncomingMessage,
  response: ServerResponse,
  call: CompletionCall,
): Promise<void> {
  const arrivedAt = monotonicMs();
  const principal = tenantOf(call);
  const { tenantId, keyId: apiKeyId } = principal;
  const sessionId = sessionOf(incoming);
  checkBodyHeaders(incoming, call.route.bodyLimit);
  const settings = await dependencies.settings.getForKey(principal, call);
  const admission = await dependencies.quotas.arrive({ tenantId, apiKeyId, settings });
  const arrival = { incoming, response, call, admission, settings, sessionId, arrivedAt };
  const exchange = await accept(dependencies, arrival).catch((error: unknown) => {
    admission.release({ tokens: 0, costPico: 0n });
    throw error;
  });
  await exchange.execute();
}

interface Arrival {
  incoming: IncomingMessage;
  response: ServerResponse;
  call: CompletionCall;
  admission: RequestAdmission;
  settings: KeySettings;
  sessionId: string | null;
  arrivedAt: number;
}

/** Reads and checks the body. Apart from `complete`, which would keep the parsed body as long as the run lasts. */
async function accept(dependencies: CompletionDependencies, arrival: Arrival): Promise<Exchange> {
  const { incoming, response, call, admission, arrivedAt } = arrival;
  const principal = tenantOf(call);
  const { tenantId, keyId: apiKeyId } = principal;
  const share = openShare(dependencies.bodyBudget, tenantId, incoming, response);
  const body = await readBody(incoming, call.route.bodyLimit, { share });
  const request = call.read(body, parseJson(body));
  const source = new RequestSource(body, share);
  // A body may take hours.
  const isLate = monotonicMs() - arrivedAt > settingsGoodMs;
  const settings = isLate ? await dependencies.settings.getForKey(principal, call) : arrival.settings;
  const target = await findTarget(dependencies, call, request, settings);
  await dependencies.quotas.admit(admission, { tenantId, apiKeyId, settings }, { request, target });
  return createExchange(dependencies, { ...arrival, settings, request, source, target });
}

/** A request that has passed every check and limit. */
interface Accepted extends Arrival {
  request: CompletionRequest;
  source: RequestSource;
  target: Target;
}

function createExchange(dependencies: CompletionDependencies, accepted: Accepted): Exchange {
  const { response, call, request, source, target, settings, admission, sessionId, arrivedAt } = accepted;
  const principal = tenantOf(call);
  const { requestId } = call;
  const { previewChars } = settings;
  const trace = dependencies.telemetry.within(call.trace);
  const identity = {
    id: newId(),
    tenantId: principal.tenantId,
    operation: request.operation,
    channel: 'api',
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
  };
  const { meter, pricing, telemetry } = dependencies;
  const run = new ActiveRun({
    identity,
    meter,
    pricing,
    telemetry,
    trace,
    prompt: promptSample(request, target.systemPrompt ?? ''),
    previewChars,
    arrivedAt,
    admission,
  });
  const { headers } = admission;
  const { operation, model, stream, wantsUsage, choices } = request;
  const head = { operation, model, stream, wantsUsage, choices };
  return new Exchange({
    ...dependencies,
    ...{ request: head, source, target, run, response, requestId, trace, headers },
  });
}

/** The models behind the request's `model`: a catalogue entry's, or an agent's. */
async function findTarget(
  dependencies: CompletionDependencies,
  call: RawCall,
  request: CompletionRequest,
  settings: TenantSettings,
): Promise<Target> {
  const { catalogue, agents } = dependencies;
  const ref = agentRef(request.model);
  if (ref === null) return modelTarget(catalogue, request.model, settings.allowedModels);
  if (request.operation !== 'chat' || request.model.length > textLimits.request_model)
    throw modelNotFound(request.model);
  const agent = await agents.resolve({ ...call, principal: tenantOf(call) }, ref);
  if (agent === null) throw modelNotFound(request.model);
  return agentTarget(catalogue, agent, settings.allowedModels);
}

/** The optional `X-Session-Id`, which groups runs into a conversation. */
function sessionOf(incoming: IncomingMessage): string | null {
  const value = incoming.headers['x-session-id'];
  if (value === undefined) return null;
  if (typeof value === 'string' && /^[\x20-\x7e]{1,255}$/.test(value)) return value;
  throw new AppError('invalid_value', 'X-Session-Id must be 1 to 255 printable ASCII characters.', {
    param: 'X-Session-Id',
  });
}
