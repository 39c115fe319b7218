import type { IncomingMessage, ServerResponse } from 'node:http';
import { leaving, tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders, readBody } from '@gatehouse/http/body';
import type { BodyBudget } from '@gatehouse/kit/body-budget';
import { openShare } from '@gatehouse/http/body-share';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { wasCutByStop } from '@gatehouse/http/server';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { passedHeaders, sessionOf } from './client-headers.ts';
import { HttpSink } from './client-sink-handlers.ts';
import type { Admission } from '../limits/admission.ts';
import type { Dialect, Operation, RequestInPath } from '@gatehouse/dialects/dialect';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import { withoutMark } from '@gatehouse/dialects/wire/answer-kind';
import { requestActor } from '../shared/actor.ts';
import { readNamed, type ReaderDependencies, type RequestBody } from './named-request-handlers.ts';
import { clientNamed } from '../shared/client-name.ts';
import type { KeySettings } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import type { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { arrive, startTurn, type TurnDependencies } from '../turns/start-turn.ts';
import type { Turn } from '../turns/turn.ts';
import { turnContext } from '../turns/turn-stage.ts';

export interface CompletionDependencies extends TurnDependencies, ReaderDependencies {
  settings: TenantSettingsClient;
  answers: AnswerBudget;
  bodyBudget: BodyBudget;
  silenceMs?: number | undefined;
}

/** Completions in each dialect, and embeddings: the routes whose bodies pass through unparsed. */
export function completionHandlers(dependencies: CompletionDependencies): Record<string, RawHandler> {
  const completing =
    (api: ApiName, operation: Operation): RawHandler =>
    (request, response, call) =>
      complete(dependencies, request, response, { ...call, dialect: dialects[api], operation });
  return {
    'chat.completions': completing('chat', 'chat'),
    'embeddings.create': completing('chat', 'embeddings'),
    'messages.create': completing('messages', 'chat'),
    'responses.create': completing('responses', 'chat'),
    'responses.compact': (request, response, call) =>
      complete(dependencies, request, response, {
        ...{ ...call, dialect: dialects.responses, operation: 'chat' },
        isCompaction: true,
      }),
    'azure.responses': completing('responses', 'chat'),
    'azure.v1.responses': completing('responses', 'chat'),
    'azure.v1.chat': completing('chat', 'chat'),
    'azure.v1.embeddings': completing('chat', 'embeddings'),
    'azure.deployments.chat': completingAtDeployment(dependencies, 'chat'),
    'azure.deployments.embeddings': completingAtDeployment(dependencies, 'embeddings'),
    ...methodsInPath(dependencies, 'gemini'),
    ...methodsInPath(dependencies, 'gemini.v1'),
  };
}

function methodsInPath(dependencies: CompletionDependencies, prefix: string): Record<string, RawHandler> {
  return {
    [`${prefix}.generateContent`]: completingInPath(dependencies, 'chat'),
    [`${prefix}.streamGenerateContent`]: completingInPath(dependencies, 'chat', { stream: true }),
    [`${prefix}.embedContent`]: completingInPath(dependencies, 'embeddings'),
    [`${prefix}.batchEmbedContents`]: completingInPath(dependencies, 'embeddings', { isBatch: true }),
  };
}

/** Clients of Azure OpenAI have the model in the path; the body may name it, too. */
function completingAtDeployment(dependencies: CompletionDependencies, operation: Operation): RawHandler {
  return (request, response, call) =>
    complete(dependencies, request, response, {
      ...{ ...call, dialect: dialects.chat, operation },
      inPath: { model: call.params['model'] ?? '', stream: false, isBatch: false },
    });
}

/** Google's API has the model in the path. A stream is an array unless the client asks for events. */
function completingInPath(
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
  const turn = await arrive(dependencies, { tenantId, apiKeyId, settings }, (admission) =>
    accept(dependencies, { incoming, response, call, admission, settings, sessionId, arrivedAt }),
  );
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

/** Reads the body and starts its turn. Not part of `complete`, which would keep the body as long as the run lasts. */
async function accept(dependencies: CompletionDependencies, arrival: Arrival): Promise<Turn> {
  const { incoming, response, call, admission, sessionId, arrivedAt } = arrival;
  const principal = tenantOf(call);
  const { dialect } = call;
  const share = openShare(dependencies.bodyBudget, principal.tenantId, response);
  const body = withoutMark(await readBody(incoming, call.route.bodyLimit, { share }));
  // A body may take hours.
  const isLate = monotonicMs() - arrivedAt > settingsGoodMs;
  const settings = isLate ? await dependencies.settings.getForKey(principal, call) : arrival.settings;
  const actor = requestActor({ ...call, principal });
  const signal = leaving(response);
  const { facts, text, ...request } = await readNamed(dependencies, {
    ...{ dialect, body, share, parse: parserOf(call), actor, settings, sessionId, signal, isAnswered: true },
  });
  const entrance = {
    ...{ channel: 'api', headers: passedHeaders(incoming, dialect), showsTools: wantsToolEvents(incoming) },
    client: { dialect: dialect.name, name: clientNamed(incoming.headers['user-agent']) },
    ...{ dialect, actor, member: actor, settings, arrivedAt, admission, signal },
  };
  const turn = turnContext({ ...request, ...entrance }, facts);
  return startTurn(dependencies, turn, { facts, text, share });
}

function parserOf({
  dialect,
  operation,
  inPath,
  isCompaction = false,
}: CompletionCall): RequestBody['parse'] {
  return (text, parsed) =>
    (isCompaction ? dialect.readCompaction?.(text, parsed) : undefined) ??
    dialect.readRequest(operation, text, parsed, inPath);
}

/** The optional `X-Stream-Events: tools`. */
function wantsToolEvents(incoming: IncomingMessage): boolean {
  const value = incoming.headers['x-stream-events'];
  if (value === undefined || value === 'tools') return value === 'tools';
  throw new AppError('invalid_value', 'X-Stream-Events must be "tools".', { param: 'X-Stream-Events' });
}
