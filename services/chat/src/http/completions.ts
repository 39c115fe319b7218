import type { IncomingMessage, ServerResponse } from 'node:http';
import { tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { isJson, parseJson, readBody } from '@gatehouse/http/body';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Catalogue } from '../domain/catalogue.ts';
import {
  inputPreview,
  readChatRequest,
  readEmbeddingsRequest,
  type CompletionRequest,
} from '../domain/completion-request.ts';
import type { Pricing } from '../domain/pricing.ts';
import { agentRef, agentTarget, modelNotFound, modelTarget, type Target } from '../domain/target.ts';
import { ActiveRun } from '../exchange/active-run.ts';
import { Exchange } from '../exchange/exchange.ts';
import type { RunTelemetry } from '../exchange/run-telemetry.ts';
import type { Quotas } from '../limits/quotas.ts';
import type { Meter } from '../metering/meter.ts';
import type { AgentClient } from '../peers/agents.ts';
import type { TenantSettings, TenantSettingsClient } from '../peers/tenant-settings.ts';
import type { ProviderRegistry } from '../providers/registry.ts';

export interface CompletionDependencies {
  catalogue: Catalogue;
  providers: ProviderRegistry;
  meter: Meter;
  pricing: Pricing;
  telemetry: RunTelemetry;
  agents: AgentClient;
  settings: TenantSettingsClient;
  quotas: Quotas;
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

type CompletionCall = RawCall & { read: (body: Buffer, parsed: unknown) => CompletionRequest };

async function complete(
  dependencies: CompletionDependencies,
  incoming: IncomingMessage,
  response: ServerResponse,
  call: CompletionCall,
): Promise<void> {
  const arrivedAt = monotonicMs();
  const principal = tenantOf(call);
  const sessionId = sessionOf(incoming);
  if (!isJson(incoming.headers['content-type'])) {
    throw new AppError('unsupported_media_type', 'The request body must be application/json.');
  }
  const body = await readBody(incoming, call.route.bodyLimit);
  const request = call.read(body, parseJson(body));
  const settings = await dependencies.settings.getForKey(principal, call);
  const target = await findTarget(dependencies, call, request, settings);
  const admission = await dependencies.quotas.admit({
    tenantId: principal.tenantId,
    apiKeyId: principal.keyId,
    settings,
    request,
    target,
  });
  const trace = dependencies.telemetry.within(call.trace);
  const identity = {
    id: newId(),
    tenantId: principal.tenantId,
    operation: request.operation,
    channel: 'api',
    requestId: call.requestId,
    traceId: trace.traceId,
    spanId: trace.spanId,
    apiKeyId: principal.keyId,
    userId: principal.actingUser,
    sessionId,
    agentId: target.agentId,
    requestModel: request.model,
    streamed: request.stream,
    inputPreview: settings.previewChars === 0 ? null : inputPreview(request, settings.previewChars),
    charges: admission?.charges ?? null,
  };
  const { previewChars } = settings;
  const systemPrompt = target.systemPrompt ?? '';
  const run = new ActiveRun({
    identity,
    meter: dependencies.meter,
    pricing: dependencies.pricing,
    telemetry: dependencies.telemetry,
    trace,
    request,
    systemPrompt,
    previewChars,
    arrivedAt,
    admission,
  });
  const { requestId } = call;
  const headers = admission?.headers ?? {};
  await new Exchange({
    ...dependencies,
    request,
    target,
    run,
    response,
    requestId,
    trace,
    headers,
  }).execute();
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
  if (request.operation !== 'chat') throw modelNotFound(request.model);
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
