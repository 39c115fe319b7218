import { RefusedRequest } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { noFault } from '../faults.ts';
import { isObject, type JsonObject } from '../values.ts';
import { checkConversation } from './conversation-checks.ts';
import { answerMessages } from './messages-answer.ts';
import { readMessagesRequest } from './messages-request.ts';
import { messageBody } from './messages-wire.ts';
import { PromptCache } from './prompt-cache.ts';
import { checkVersion, readBody } from './request-body.ts';
import { checkParameters } from './request-checks.ts';
import { ThinkingSigner } from './thinking-signer.ts';

interface BatchRequest {
  custom_id: string;
  params: JsonObject;
}

interface Batch {
  object: JsonObject & { id: string; processing_status: string; cancel_initiated_at: string | null };
  requests: readonly BatchRequest[];
  results: string;
}

const path = '/v1/messages/batches';
const dayMs = 24 * 3_600_000;

export function isOfMessageBatches(requested: string): boolean {
  return requested.startsWith(path);
}

/** Batches of messages, as Anthropic's API has them: https://docs.claude.com/en/api/creating-message-batches. */
export class MessageBatches {
  /** Whether batches stay in progress until `finish`; otherwise a batch ends when it is asked about. */
  held = false;
  /** The promise that an answer waits for once its request took effect, by method and path such as `POST batches`; a rejection cuts it. */
  answersAfter: (request: string) => Promise<unknown> | null = () => null;
  /** The object that is answered in place of the API's; null for none. The request takes effect. */
  answersInstead: (request: string) => object | null = () => null;
  readonly batches = new Map<string, Batch>();

  /** Ends all batches under way, after some of their requests were answered; the rest is canceled or has expired. */
  finish(rest: 'canceled' | 'expired' = 'expired', answered = Infinity): void {
    for (const batch of this.batches.values())
      if (batch.object.processing_status !== 'ended') finish(batch, rest, answered);
  }

  clear(): void {
    this.held = false;
    this.answersAfter = () => null;
    this.answersInstead = () => null;
    this.batches.clear();
  }

  /** Answers a request. @throws RefusedRequest for requests that the API rejects. */
  answer(exchange: Exchange, newId: (prefix: string) => string): void {
    const { method, path: requested, headers, body } = exchange.record;
    checkVersion(headers['anthropic-version']);
    const url = new URL(requested, 'http://simulator');
    if (url.pathname.endsWith('/')) throw new RefusedRequest('Not found', { status: 404 });
    const [id = '', action = ''] = url.pathname.slice(path.length + 1).split('/');
    const name = `${method} batches${id === '' ? '' : '/id'}${action && `/${action}`}`;
    const usual = this.#answerTo(name, { id, body, query: url.searchParams, newId });
    const answer = this.answersInstead(name) ?? usual;
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
    const respond = (): void => exchange.respond(200, { 'content-type': 'application/json' }, text);
    const waits = this.answersAfter(name);
    if (waits === null) respond();
    else void waits.then(respond, () => exchange.cut());
  }

  #answerTo(
    name: string,
    asked: { id: string; body: unknown; query: URLSearchParams; newId: (prefix: string) => string },
  ): object | string {
    const { id } = asked;
    switch (name) {
      case 'POST batches':
        return this.#create(asked.body, asked.newId('msgbatch_'));
      case 'GET batches':
        return this.#page(asked.query);
      case 'GET batches/id': {
        const batch = this.#batch(id);
        const { object } = batch;
        if (!this.held && object.processing_status !== 'ended')
          finish(batch, 'canceled', object.cancel_initiated_at === null ? Infinity : 0);
        return { ...object };
      }
      case 'GET batches/id/results': {
        const { object, results } = this.#batch(id);
        if (object.processing_status === 'ended') return results;
        throw new RefusedRequest(`Batch ${id} has no available results.`, { status: 404 });
      }
      case 'POST batches/id/cancel': {
        const { object } = this.#batch(id);
        if (object.processing_status === 'ended')
          throw new RefusedRequest(`Batch ${id} cannot be canceled because it has ended.`);
        object.processing_status = 'canceling';
        object.cancel_initiated_at = new Date().toISOString();
        return { ...object };
      }
      case 'DELETE batches/id':
        if (this.#batch(id).object.processing_status !== 'ended')
          throw new RefusedRequest(`Batch ${id} cannot be deleted while it is in progress.`);
        this.batches.delete(id);
        return { id, type: 'message_batch_deleted' };
      default:
        throw new RefusedRequest(`Not found (${name})`, { status: 404 });
    }
  }

  #create(body: unknown, id: string): JsonObject {
    const given = isObject(body) ? body['requests'] : undefined;
    if (!Array.isArray(given)) throw new RefusedRequest('requests: Field required');
    const requests = given as BatchRequest[];
    const ids = new Set(requests.map(({ custom_id: customId }) => customId));
    if (ids.size < requests.length) throw new RefusedRequest('requests: custom_id must be unique');
    for (const each of ids)
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(each)) throw new RefusedRequest('requests: custom_id is not valid');
    const now = Date.now();
    const object = {
      ...{ id, type: 'message_batch', processing_status: 'in_progress' },
      request_counts: countsOf({ processing: requests.length }),
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + dayMs).toISOString(),
      ...{ ended_at: null, cancel_initiated_at: null, archived_at: null, results_url: null },
    };
    this.batches.set(id, { object, requests, results: '' });
    return { ...object };
  }

  #page(query: URLSearchParams): object {
    const all = [...this.batches.values()].map(({ object }) => object).toReversed();
    const from = all.findIndex(({ id }) => id === query.get('after_id')) + 1;
    const data = all.slice(from, from + Number(query.get('limit') ?? 20));
    const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
    return { data, has_more: from + data.length < all.length, first_id: first, last_id: last };
  }

  #batch(id: string): Batch {
    const batch = this.batches.get(id);
    if (batch === undefined) throw new RefusedRequest(`Message Batch ${id} not found`, { status: 404 });
    return batch;
  }
}

function countsOf(counts: Partial<Record<string, number>>): JsonObject {
  return { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0, ...counts };
}

function finish(batch: Batch, rest: 'canceled' | 'expired', answered: number): void {
  const { object, requests } = batch;
  const results = requests.map((request, index) => (index < answered ? resultOf(request) : { type: rest }));
  const lines = results.map((result, index) =>
    JSON.stringify({ custom_id: requests[index]?.custom_id, result }),
  );
  const counts = Map.groupBy(results, ({ type }) => type);
  batch.results = lines.map((line) => `${line}\n`).join('');
  object.processing_status = 'ended';
  object['request_counts'] = countsOf(
    Object.fromEntries([...counts].map(([type, those]) => [type, those.length])),
  );
  object['ended_at'] = new Date().toISOString();
  object['results_url'] = `https://api.anthropic.com${path}/${object.id}/results`;
}

const signer = new ThinkingSigner('batches of messages');
let lastMessage = 0;

/** Requests are checked when they are processed. */
function resultOf({ params }: BatchRequest): JsonObject & { type: string } {
  try {
    const body = readBody(params);
    checkParameters(body, '2023-06-01');
    const context = {
      newId: (prefix: string) => `${prefix}batch${(lastMessage += 1)}`,
      signer,
      cache: new PromptCache(),
    };
    checkConversation(body, signer);
    const answer = answerMessages(readMessagesRequest(body), noFault, context);
    return { type: 'succeeded', message: JSON.parse(messageBody(answer, noFault)) as JsonObject };
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error;
    const { message } = error;
    return { type: 'errored', error: { type: 'error', error: { type: 'invalid_request_error', message } } };
  }
}
