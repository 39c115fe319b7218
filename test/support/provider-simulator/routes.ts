import { openAiFormat } from './answer-format.ts';
import type { Answer, AnswerFormat } from './answer-format.ts';
import { isOfBatches } from './batches.ts';
import { answerChat } from './chat-answer.ts';
import { readChatRequest } from './chat-request.ts';
import { converseFormat } from './converse/converse-format.ts';
import { bedrockModel, bedrockRoute } from './converse/bedrock-routes.ts';
import { sendAnswer, sendJson } from './delivery.ts';
import { embeddingBody, embeddingUsage, readEmbeddingRequest } from './embeddings.ts';
import { RefusedRequest } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { geminiFormat } from './gemini/gemini-format.ts';
import { geminiRoute, isGemini } from './gemini/gemini-routes.ts';
import { errorOf, type Fault } from './faults.ts';
import { isOfMessageBatches } from './messages/message-batches.ts';
import { messagesFormat } from './messages/messages-format.ts';
import { messagesRoutes } from './messages/messages-routes.ts';
import { responsesFormat } from './responses/responses-format.ts';
import { responsesRoutes } from './responses/responses-routes.ts';
import { moderationBody, readModerationRequest } from './moderations.ts';
import type { Route, RouteContext } from './route.ts';
import { vertexModel, vertexRoute } from './vertex/vertex-routes.ts';
import { completionBody, streamFrames } from './wire.ts';

const routes: Record<string, Route> = {
  'POST /v1/chat/completions': answerChatCompletion,
  'POST /v1/embeddings': answerEmbeddings,
  'POST /v1/moderations': answerModerations,
  ...messagesRoutes,
  ...responsesRoutes,
};

const models = ['gpt-4o', 'gpt-4o-mini', 'text-embedding-3-small'];

const modelObject = (id: string) => ({ id, object: 'model', created: 1_735_689_600, owned_by: 'simulator' });

const modelList = JSON.stringify({ object: 'list', data: models.map(modelObject) });

/** The format of the API that has this path. */
export function formatOf(path: string, newId: RouteContext['newId']): AnswerFormat {
  if (isGemini(path)) return geminiFormat;
  if (bedrockModel(path) !== null) return converseFormat;
  if (path.startsWith('/v1/responses')) return responsesFormat;
  const isMessages = path.startsWith('/v1/messages') || vertexModel(path) !== null;
  return isMessages ? messagesFormat(newId('req_')) : openAiFormat;
}

/** Answers one authenticated request. @throws RefusedRequest for requests that the provider rejects. */
export function answer(context: RouteContext): void {
  const { exchange, fault } = context;
  const { method, path } = exchange.record;
  const name = `${method} ${path.split('?', 1)[0] ?? ''}`;
  const route = routes[name] ?? routeInPath(method, path);
  if (fault.status !== undefined) sendFaultStatus(exchange, fault, fault.status);
  else if (route !== undefined) sendAnswer(exchange, route(context), fault);
  else if (isOfMessageBatches(path)) context.messageBatches.answer(exchange, context.newId);
  else if (isOfBatches(path)) context.batches.answer(exchange, context.newId);
  else if (name === 'GET /v1/models') sendJson(exchange, { status: 200, body: modelList }, fault);
  else if (name.startsWith('GET /v1/models/')) {
    const id = decodeURIComponent(name.slice('GET /v1/models/'.length));
    sendJson(exchange, { status: 200, body: JSON.stringify(modelObject(id)) }, fault);
  } else {
    throw new RefusedRequest(`Invalid URL (${name})`, { status: 404 });
  }
}

/** The route of an API that has the model in its paths; undefined for other paths. */
function routeInPath(method: string, path: string): Route | undefined {
  return geminiRoute(method, path) ?? bedrockRoute(method, path) ?? vertexRoute(method, path);
}

function sendFaultStatus(exchange: Exchange, fault: Fault, status: number): void {
  const { format } = exchange;
  const body = format.errorBody(errorOf(format.defaultError(status), fault));
  sendJson(exchange, { status, body }, fault);
}

function answerChatCompletion({ exchange, fault, newId }: RouteContext): Answer {
  const request = readChatRequest(exchange.record.body);
  const chat = answerChat(request, fault, newId('chatcmpl-'));
  return {
    id: chat.id,
    usage: chat.usage,
    streamed: request.stream,
    // A stream that was not requested has no options either, so it includes usage.
    frames: () => streamFrames(chat, request.includeUsage || !request.stream, fault),
    whole: () => completionBody(chat, fault),
  };
}

function answerEmbeddings({ exchange, fault }: RouteContext): Answer {
  const request = readEmbeddingRequest(exchange.record.body);
  const usage = embeddingUsage(request, fault);
  const whole = (): string => embeddingBody(request, usage, fault);
  return { id: null, usage, streamed: false, frames: null, whole };
}

function answerModerations({ exchange, newId }: RouteContext): Answer {
  const request = readModerationRequest(exchange.record.body);
  const whole = (): string => moderationBody(request, newId('modr-'));
  return { id: null, usage: null, streamed: false, frames: null, whole };
}
