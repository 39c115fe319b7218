import type { IncomingMessage, ServerResponse } from 'node:http';
import { leaving, tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders, parseBody, readBody, readPart } from '@gatehouse/http/body';
import type { BodyBudget, TenantShare } from '@gatehouse/kit/body-budget';
import { openShare } from '@gatehouse/http/body-share';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { wasCutByStop } from '@gatehouse/http/server';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { passedHeaders, sessionOf } from './client-headers.ts';
import { HttpSink } from './client-sink-http.ts';
import type { Admission } from '../limits/admission.ts';
import type { CompletionRequest, Dialect, Operation, RequestInPath } from '@gatehouse/dialects/dialect';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import { withoutMark } from '@gatehouse/dialects/wire/answer-kind';
import { requestActor, type ProvenActor } from '../shared/actor.ts';
import type { KeptResponses } from '../kept-responses/kept-response-store.ts';
import { continuedRequest, heldShare } from './continued-request-http.ts';
import { RequestFacts } from './request-facts.ts';
import type { LargeWork } from '../shared/large-work.ts';
import { readInTurn, RequestLookups } from './request-lookups-http.ts';
import { clientNamed } from '../shared/client-name.ts';
import { keptDays, type KeySettings } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import type { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { beginTurn, type TurnDependencies } from '../turns/begin-turn.ts';
import { findTarget, type TargetDependencies } from '../turns/find-target.ts';
import { withTools, type ToolDependencies } from '../tools/tools.ts';
import { withMemory, type MemoryDependencies } from '../memory/with-memory.ts';
import type { Turn } from '../turns/turn.ts';
import { withSignatures, type SignatureDependencies } from '../turns/turn-signatures.ts';
import { withReasoning, type ReasoningDependencies } from '../turns/turn-reasoning.ts';

export interface CompletionDependencies
  extends
    TurnDependencies,
    TargetDependencies,
    MemoryDependencies,
    ToolDependencies,
    ReasoningDependencies,
    SignatureDependencies {
  settings: TenantSettingsClient;
  answers: AnswerBudget;
  responses: KeptResponses;
  bodyBudget: BodyBudget;
  silenceMs?: number | undefined;
}

/** Completions in each dialect, and embeddings: the routes whose bodies pass through unparsed. */
export function completionHandlers(dependencies: CompletionDependencies): Record<string, RawHandler> {
  const asked =
    (api: ApiName, operation: Operation): RawHandler =>
    (request, response, call) =>
      complete(dependencies, request, response, { ...call, dialect: dialects[api], operation });
  return {
    'chat.completions': asked('chat', 'chat'),
    'embeddings.create': asked('chat', 'embeddings'),
    'messages.create': asked('messages', 'chat'),
    'responses.create': asked('responses', 'chat'),
    'responses.compact': (request, response, call) =>
      complete(dependencies, request, response, {
        ...{ ...call, dialect: dialects.responses, operation: 'chat' },
        isCompaction: true,
      }),
    'azure.responses': asked('responses', 'chat'),
    'azure.v1.responses': asked('responses', 'chat'),
    'azure.v1.chat': asked('chat', 'chat'),
    'azure.v1.embeddings': asked('chat', 'embeddings'),
    'azure.deployments.chat': ofDeployment(dependencies, 'chat'),
    'azure.deployments.embeddings': ofDeployment(dependencies, 'embeddings'),
    ...methodsInPath(dependencies, 'gemini'),
    ...methodsInPath(dependencies, 'gemini.v1'),
  };
}

function methodsInPath(dependencies: CompletionDependencies, prefix: string): Record<string, RawHandler> {
  return {
    [`${prefix}.generateContent`]: askedInPath(dependencies, 'chat'),
    [`${prefix}.streamGenerateContent`]: askedInPath(dependencies, 'chat', { stream: true }),
    [`${prefix}.embedContent`]: askedInPath(dependencies, 'embeddings'),
    [`${prefix}.batchEmbedContents`]: askedInPath(dependencies, 'embeddings', { isBatch: true }),
  };
}

/** Clients of Azure OpenAI have the model in the path; the body may name it, too. */
function ofDeployment(dependencies: CompletionDependencies, operation: Operation): RawHandler {
  return (request, response, call) =>
    complete(dependencies, request, response, {
      ...{ ...call, dialect: dialects.chat, operation },
      inPath: { model: call.params['model'] ?? '', stream: false, isBatch: false },
    });
}

/** Google's API has the model in the path. A stream is an array unless the client asks for events. */
function askedInPath(
  dependencies: CompletionDependencies,
  operation: Operation,
  { stream = false, isBatch = false } = {},
): RawHandler {
  return (request, response, call) => {
    const [, query] = (request.url ?? '').split('?', 2);
    return complete(dependencies, request, response, {
      ...{ ...call, dialect: dialects.gemini, operation },
      inPath: { model: call.params['id'] ?? '', stream, isBatch },
      asArray: stream && new URLSearchParams(query).get('alt') !== 'sse',
    });
  };
}

/** The greatest age of settings when a request is accepted. */
const settingsGoodMs = 1_000;

type CompletionCall = Omit<RawCall, 'dialect'> & {
  dialect: Dialect & { name: ApiName };
  operation: Operation;
  inPath?: RequestInPath;
  /** Whether the client gets a stream as a JSON array. */
  asArray?: boolean;
  /** Whether the path asks for a summary of the conversation. */
  isCompaction?: boolean;
};

/** Checks limits that need no body before the body is read, and all others afterwards. */
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
  checkBodyHeaders(incoming, call.route);
  const settings = await dependencies.settings.getForKey(principal, call);
  const admission = await dependencies.limiter.arrive({ tenantId, apiKeyId, settings });
  const arrival = { incoming, response, call, admission, settings, sessionId, arrivedAt };
  const turn = await accept(dependencies, arrival).catch((error: unknown) => {
    admission.release({ tokens: 0, costPico: 0n });
    throw error;
  });
  const { runId, traceId, limitHeaders } = turn;
  const { answers, log, silenceMs } = dependencies;
  const { requestId, dialect, asArray } = call;
  await turn.complete(
    new HttpSink({
      response,
      dialect,
      requestId,
      tenantId,
      runId,
      traceId,
      headers: { ...limitHeaders, [requestIdHeader]: requestId },
      wasCut: () => wasCutByStop(response),
      answers,
      log,
      asArray,
      silenceMs,
    }),
  );
}

interface Arrival {
  incoming: IncomingMessage;
  response: ServerResponse;
  call: CompletionCall;
  admission: Admission;
  settings: KeySettings;
  sessionId: string | null;
  arrivedAt: number;
}

/** Reads and checks the body. Not part of `complete`, which would keep it as long as the run lasts. */
async function accept(dependencies: CompletionDependencies, arrival: Arrival): Promise<Turn> {
  const { incoming, response, call, admission, arrivedAt } = arrival;
  const { tenantId } = tenantOf(call);
  const { dialect } = call;
  const share = openShare(dependencies.bodyBudget, tenantId, response);
  const body = withoutMark(await readBody(incoming, call.route.bodyLimit, { share }));
  const signal = leaving(response);
  const { target: found, ...read } = await readAccepted(dependencies, arrival, { body, share, signal });
  const { request, text, ...others } = read;
  const { actor, settings, sessionId } = others;
  const { compaction } = request;
  const turn = { dialect, request, actor, target: found, sessionId, arrivedAt };
  const toolTurn = { ...turn, shown: wantsToolEvents(incoming) };
  const { summaries } = dependencies.responses;
  // A summary needs no memory and no tools, and is not remembered.
  const signatures = await withSignatures(dependencies, { dialect, text, target: found, tenantId, settings });
  const [{ target, recall, onAnswer }, tools, thoughts] =
    compaction === undefined
      ? await Promise.all([
          withMemory(dependencies, turn),
          withTools(dependencies, toolTurn),
          withReasoning(dependencies, { ...turn, share }),
        ])
      : [{ target: found, recall: null, onAnswer: null }, null, null];
  return beginTurn(dependencies, {
    dialect,
    headers: passedHeaders(incoming, dialect),
    request,
    ...others,
    target,
    recall,
    onAnswer,
    tools,
    thoughts,
    signatures,
    sealSummary: compaction === undefined ? undefined : (summary) => summaries.seal(summary, tenantId),
    channel: 'api',
    clientDialect: dialect.name,
    clientName: clientNamed(incoming.headers['user-agent']),
    arrivedAt,
    admission,
    signal,
  });
}

interface Body {
  body: Buffer;
  share: TenantShare;
  signal: AbortSignal;
}

interface Reading {
  work: LargeWork;
  actor: ProvenActor;
  lookups: RequestLookups;
}

/** The values of a large body are in memory while it is read here, and no longer. */
async function readAccepted(dependencies: CompletionDependencies, arrival: Arrival, given: Body) {
  const { call, arrivedAt } = arrival;
  const principal = tenantOf(call);
  const { tenantId, userId } = principal;
  const { body, signal } = given;
  // A body may take hours.
  const isLate = monotonicMs() - arrivedAt > settingsGoodMs;
  const settings = isLate ? await dependencies.settings.getForKey(principal, call) : arrival.settings;
  const actor = requestActor({ ...call, principal });
  const reader = { tenantId, userId, days: keptDays(settings) };
  const lookups = new RequestLookups(dependencies, { actor, reader });
  return readInTurn({ tenantId, bytes: body.length, signal }, lookups, (work) =>
    readRequest(dependencies, { ...arrival, settings }, { ...given, work, actor, lookups }),
  );
}

/** The request with everything that it names, and its models. */
async function readRequest(
  dependencies: CompletionDependencies,
  arrival: Arrival,
  { body, share, work, actor, lookups }: Body & Reading,
) {
  const { call, settings } = arrival;
  const principal = tenantOf(call);
  const { tenantId } = principal;
  const { dialect, operation, inPath, isCompaction = false } = call;
  const read = async (text: Buffer): Promise<CompletionRequest> => {
    const parsed = await parseBody(text, tenantId);
    const readNow = (): CompletionRequest =>
      (isCompaction ? dialect.readCompaction?.(text, parsed) : undefined) ??
      dialect.readRequest(operation, text, parsed, inPath);
    return readPart(text, tenantId, readNow);
  };
  const given = await read(body);
  const unread = lookups.unread(given, work);
  if (unread !== null) return unread;
  const sessionId = arrival.sessionId ?? given.session;
  const asked = { api: dialect.name, actor, settings, sessionId };
  const { request, target, keep, previousId, text } = await continuedRequest(dependencies.responses, {
    ...{ given, body, share, work, dialect, principal, days: keptDays(settings), read, lookups },
    findFor: (each) => findTarget({ ...dependencies, agents: lookups.agents }, { ...asked, request: each }),
  });
  // Kept answers and summaries repeat parts of the text.
  const isHeld = keep !== null || request.compaction === 'path';
  const facts = { target, previewChars: settings.previewChars };
  return readPart(text, tenantId, () => ({
    ...{ target, keep, previousId, text, actor, settings, sessionId },
    source: request.source(isHeld ? heldShare(share) : share),
    request: new RequestFacts(request, facts),
  }));
}

/** The optional `X-Stream-Events: tools`. */
function wantsToolEvents(incoming: IncomingMessage): boolean {
  const value = incoming.headers['x-stream-events'];
  if (value === undefined || value === 'tools') return value === 'tools';
  throw new AppError('invalid_value', 'X-Stream-Events must be "tools".', { param: 'X-Stream-Events' });
}
