import { answerChat } from './chat-answer.ts';
import { readChatRequest } from './chat-request.ts';
import { sendJson, sendStream } from './delivery.ts';
import { embeddingBody, embeddingUsage, readEmbeddingRequest } from './embeddings.ts';
import { RefusedRequest, errorBody } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { errorOf, type Fault } from './faults.ts';
import { completionBody, streamFrames } from './wire.ts';

export interface RouteContext {
  exchange: Exchange;
  fault: Fault;
  newResponseId: () => string;
}

const models = ['gpt-4o', 'gpt-4o-mini', 'text-embedding-3-small'];

const modelObject = (id: string) => ({ id, object: 'model', created: 1_735_689_600, owned_by: 'simulator' });

const modelList = JSON.stringify({ object: 'list', data: models.map(modelObject) });

/** Answers one authenticated request. @throws RefusedRequest for requests that OpenAI rejects. */
export function answer(context: RouteContext): void {
  const { exchange, fault } = context;
  const { method, path } = exchange.record;
  const route = `${method} ${path.split('?', 1)[0] ?? ''}`;
  if (fault.status !== undefined) sendFaultStatus(exchange, fault, fault.status);
  else if (route === 'POST /v1/chat/completions') answerChatCompletion(context);
  else if (route === 'POST /v1/embeddings') answerEmbeddings(context);
  else if (route === 'GET /v1/models') sendJson(exchange, { status: 200, body: modelList }, fault);
  else if (route.startsWith('GET /v1/models/')) {
    const id = decodeURIComponent(route.slice('GET /v1/models/'.length));
    sendJson(exchange, { status: 200, body: JSON.stringify(modelObject(id)) }, fault);
  } else {
    throw new RefusedRequest(`Invalid URL (${route})`, { status: 404 });
  }
}

function sendFaultStatus(exchange: Exchange, fault: Fault, status: number): void {
  sendJson(exchange, { status, body: errorBody(errorOf(status, fault)) }, fault);
}

function answerChatCompletion({ exchange, fault, newResponseId }: RouteContext): void {
  const { record } = exchange;
  const request = readChatRequest(record.body);
  const chat = answerChat(request, fault, newResponseId());
  record.response_id = chat.id;
  record.usage = chat.usage;
  const isOther = fault.other_kind === true;
  if (request.stream !== isOther)
    sendStream(exchange, streamFrames(chat, request.includeUsage || isOther, fault), fault);
  else sendJson(exchange, { status: 200, body: completionBody(chat, fault) }, fault);
}

function answerEmbeddings({ exchange, fault }: RouteContext): void {
  const { record } = exchange;
  const request = readEmbeddingRequest(record.body);
  const usage = embeddingUsage(request, fault);
  record.usage = usage;
  sendJson(exchange, { status: 200, body: embeddingBody(request, usage, fault) }, fault);
}
