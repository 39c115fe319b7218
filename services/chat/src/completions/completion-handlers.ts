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
import type { Dialect, Operation } from '@gatehouse/dialects/dialect';
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

/** A route of completions or embeddings, beside its dialect. */
interface Entrance {
  operation?: Operation;
  /** The parameter of the path that names the model: of Google's API, and of deployments of Azure OpenAI. */
  modelIn?: string;
  /** Whether the path asks for a stream. In Google's API it is an array unless the client asks for events. */
  stream?: boolean;
  isBatch?: boolean;
  /** Whether the path asks for a summary of the conversation. */
  isCompaction?: boolean;
}

const embeddings: Entrance = { operation: 'embeddings' };
const googleMethods: Readonly<Record<string, Entrance>> = {
  generateContent: {},
  streamGenerateContent: { stream: true },
  embedContent: embeddings,
  batchEmbedContents: { ...embeddings, isBatch: true },
};

/** Completions in each dialect, and embeddings: the routes whose bodies pass through unparsed. */
export function completionHandlers(dependencies: CompletionDependencies): Record<string, RawHandler> {
  const entrance =
    (api: ApiName, options: Entrance = {}): RawHandler =>
    (request, response, call) =>
      complete(dependencies, request, response, { ...call, dialect: dialects[api], ...options });
  const methods = ['gemini', 'gemini.v1'].flatMap((prefix) =>
    Object.entries(googleMethods).map(
      ([method, options]) =>
        [`${prefix}.${method}`, entrance('gemini', { ...options, modelIn: 'id' })] as const,
    ),
  );
  return {
    'chat.completions': entrance('chat'),
    'embeddings.create': entrance('chat', embeddings),
    'messages.create': entrance('messages'),
    'responses.create': entrance('responses'),
    'responses.compact': entrance('responses', { isCompaction: true }),
    'azure.responses': entrance('responses'),
    'azure.v1.responses': entrance('responses'),
    'azure.v1.chat': entrance('chat'),
    'azure.v1.embeddings': entrance('chat', embeddings),
    'azure.deployments.chat': entrance('chat', { modelIn: 'model' }),
    'azure.deployments.embeddings': entrance('chat', { ...embeddings, modelIn: 'model' }),
    ...Object.fromEntries(methods),
  };
}

/** The greatest age of settings when a request is accepted. */
const settingsGoodMs = 1_000;

type CompletionCall = Omit<RawCall, 'dialect'> & Entrance & { dialect: Dialect & { name: ApiName } };

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
  const { requestId, dialect, stream = false } = call;
  const query = new URLSearchParams((incoming.url ?? '').split('?', 2)[1]);
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
      asArray: stream && query.get('alt') !== 'sse',
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

function parserOf(call: CompletionCall): RequestBody['parse'] {
  const { dialect, operation = 'chat', modelIn, stream = false, isBatch = false, isCompaction } = call;
  const inPath = modelIn === undefined ? undefined : { model: call.params[modelIn] ?? '', stream, isBatch };
  return (text, parsed) =>
    (isCompaction === true ? dialect.readCompaction?.(text, parsed) : undefined) ??
    dialect.readRequest(operation, text, parsed, inPath);
}

/** The optional `X-Stream-Events: tools`. */
function wantsToolEvents(incoming: IncomingMessage): boolean {
  const value = incoming.headers['x-stream-events'];
  if (value === undefined || value === 'tools') return value === 'tools';
  throw new AppError('invalid_value', 'X-Stream-Events must be "tools".', { param: 'X-Stream-Events' });
}
