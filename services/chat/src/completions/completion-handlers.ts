import type { IncomingMessage, ServerResponse } from 'node:http';
import { tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders } from '@gatehouse/http/body';
import type { BodyBudget } from '@gatehouse/kit/body-budget';
import { monotonicMs } from '@gatehouse/kit/clock';
import { HttpSink } from './client-sink-handlers.ts';
import type { Dialect, Operation } from '@gatehouse/dialects/dialect';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import {
  readTurn,
  type IncomingRequest,
  type ReaderDependencies,
  type RequestBody,
} from './named-request-handlers.ts';
import type { KeySettings } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import type { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { arrive, startTurn, type TurnDependencies } from '../turns/start-turn.ts';
import type { Turn } from '../turns/turn.ts';
import type { RefusedRequests } from '@gatehouse/events/refused-requests';
import { notingModel, originOf } from './refusal-handlers.ts';
import { noteRefusal, type RequestedFacts } from './refusals.ts';

export interface CompletionDependencies extends TurnDependencies, ReaderDependencies {
  settings: TenantSettingsClient;
  answers: AnswerBudget;
  bodyBudget: BodyBudget;
  silenceMs?: number | undefined;
  refusals: Pick<RefusedRequests, 'note'>;
}

/** A route beside its dialect. */
interface Entrance {
  operation?: Operation;
  /** The path parameter with the model's name: of Google's API, and of deployments of Azure OpenAI. */
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

/** Completions in each dialect, embeddings and moderations: the routes with bodies passed through unparsed. */
export function completionHandlers(dependencies: CompletionDependencies): Record<string, RawHandler> {
  const entrance =
    (api: ApiName, options: Entrance = {}): RawHandler =>
    (request, response, call) =>
      answer(dependencies, request, response, { ...call, dialect: dialects[api], ...options });
  const methods = ['gemini', 'gemini.v1'].flatMap((prefix) =>
    Object.entries(googleMethods).map(
      ([method, options]) =>
        [`${prefix}.${method}`, entrance('gemini', { ...options, modelIn: 'id' })] as const,
    ),
  );
  return {
    'chat.completions': entrance('chat'),
    'embeddings.create': entrance('chat', embeddings),
    'moderations.create': entrance('chat', { operation: 'moderations' }),
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

type CompletionCall = Omit<RawCall, 'dialect'> & Entrance & { dialect: Dialect & { name: ApiName } };

/** Answers a request, and counts it if it is refused before any provider call. */
async function answer(
  dependencies: CompletionDependencies,
  incoming: IncomingMessage,
  response: ServerResponse,
  call: CompletionCall,
): Promise<void> {
  const { operation = 'chat', modelIn, params } = call;
  const model = modelIn === undefined ? '' : (params[modelIn] ?? '');
  const unread = { settings: null, target: null, guardrails: null, turn: null };
  const facts: RequestedFacts = { operation, model, ...unread };
  try {
    await complete(dependencies, { incoming, response, call, facts });
  } catch (error) {
    noteRefusal(dependencies, { origin: originOf(incoming, call), facts }, error);
    throw error;
  }
}

interface Answering {
  incoming: IncomingMessage;
  response: ServerResponse;
  call: CompletionCall;
  facts: RequestedFacts;
}

/** Checks limits before the body is read where they don't depend on it, and all others afterwards. */
async function complete(
  dependencies: CompletionDependencies,
  { incoming, response, call, facts }: Answering,
): Promise<void> {
  const arrivedAt = monotonicMs();
  const principal = tenantOf(call);
  const { tenantId, keyId: apiKeyId } = principal;
  checkBodyHeaders(incoming, call.route);
  const { settings: store } = dependencies;
  const settings = store.peekForKey(principal) ?? (await store.getForKey(principal, call));
  facts.settings = settings;
  const turn = await arrive(dependencies, { tenantId, apiKeyId, settings }, (admission) =>
    accept(dependencies, { incoming, response, call, admission, arrivedAt, facts }, settings),
  );
  facts.turn = turn;
  const { runId, traceId, limitHeaders } = turn;
  const { answers, log, silenceMs } = dependencies;
  const { requestId, dialect, stream = false } = call;
  await turn.complete(
    new HttpSink({
      response,
      dialect,
      requestId,
      tenantId,
      runId,
      traceId,
      limitHeaders,
      signal: turn.signal,
      answers,
      log,
      asArray: stream && new URLSearchParams((incoming.url ?? '').split('?', 2)[1]).get('alt') !== 'sse',
      streams: turn.streams,
      silenceMs,
    }),
  );
}

/** Reads the body and starts its turn. Not part of `complete`, which would keep the body as long as the run lasts. */
async function accept(
  dependencies: CompletionDependencies,
  arrival: IncomingRequest & { call: CompletionCall; facts: RequestedFacts },
  known: KeySettings,
): Promise<Turn> {
  const { call, arrivedAt, facts } = arrival;
  const { turn, input } = await readTurn(dependencies, arrival, {
    parse: notingModel(facts, parserOf(call)),
    isAnswered: true,
    // A body may take hours. Settings are a second old at most when a request is accepted.
    settings: () =>
      monotonicMs() - arrivedAt > 1_000 ? dependencies.settings.getForKey(tenantOf(call), call) : known,
  });
  facts.target = turn.target;
  facts.guardrails = turn.guardrails;
  return startTurn(dependencies, turn, input);
}

function parserOf(call: CompletionCall): RequestBody['parse'] {
  const { dialect, operation = 'chat', modelIn, stream = false, isBatch = false, isCompaction } = call;
  const inPath = modelIn === undefined ? undefined : { model: call.params[modelIn] ?? '', stream, isBatch };
  return (text, parsed) =>
    (isCompaction === true ? dialect.readCompaction?.(text, parsed) : undefined) ??
    dialect.readRequest(operation, text, parsed, inPath);
}
