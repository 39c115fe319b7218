import { answerChat } from './chat-answer.ts';
import { readChatRequest } from './chat-request.ts';
import { embeddingBody, embeddingUsage, readEmbeddingRequest } from './embeddings.ts';
import { RefusedRequest } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { noFault } from './faults.ts';
import { ThinkingSigner } from './messages/thinking-signer.ts';
import { answerResponses } from './responses/responses-answer.ts';
import { readResponsesRequest } from './responses/responses-request.ts';
import { responseBody } from './responses/responses-wire.ts';
import { isObject, type JsonObject } from './values.ts';
import { completionBody } from './wire.ts';

interface StoredFile {
  object: JsonObject & { id: string };
  content: string;
}

type Batch = JsonObject & { id: string; status: string; input_file_id: string };

interface BatchRequest {
  custom_id: string;
  url: string;
  body: JsonObject;
}

const atOnce = (): null => null;

const endedStatuses = ['completed', 'failed', 'expired', 'cancelled'];

/** Files and batches as OpenAI's API has them. */
export class Batches {
  /** Whether batches stay in progress until `finish`; otherwise a batch ends when it is asked about. */
  held = false;
  /** The promise that an answer waits for once its request took effect, by method and path such as `POST files`; a rejection cuts it. */
  answersAfter: (request: string) => Promise<unknown> | null = atOnce;
  /** The object that is answered in place of the API's; null for none. The request takes effect. */
  answersInstead: (request: string) => object | null = atOnce;
  readonly files = new Map<string, StoredFile>();
  readonly batches = new Map<string, Batch>();

  /** Ends all batches under way, after some of their requests were answered. */
  finish(status: string, answered = Infinity): void {
    for (const batch of this.batches.values())
      if (!endedStatuses.includes(batch.status)) this.#finish(batch, status, answered);
  }

  /** The usage that the results of all batches report, in tokens. */
  get usage(): { input: number; output: number } {
    const results = [...this.files.values()].filter(({ object }) => object.id.startsWith('file-output'));
    const usages = results.flatMap(({ content }) =>
      content
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { response: { body: { usage: Record<string, number> } } })
        .map(({ response }) => response.body.usage),
    );
    const sum = (name: string) => usages.reduce((total, usage) => total + (usage[name] ?? 0), 0);
    return { input: sum('prompt_tokens'), output: sum('completion_tokens') };
  }

  clear(): void {
    this.held = false;
    this.answersAfter = atOnce;
    this.answersInstead = atOnce;
    this.files.clear();
    this.batches.clear();
  }

  /** Answers a request. @throws RefusedRequest for requests that the API rejects. */
  answer(exchange: Exchange, newId: (prefix: string) => string): void {
    const { method, path } = exchange.record;
    const url = new URL(path, 'http://simulator');
    const [, , kind, id = '', action = ''] = url.pathname.split('/');
    const name = `${method} ${kind ?? ''}${id === '' ? '' : '/id'}${action && `/${action}`}`;
    const usual = this.#answerTo(name, {
      ...{ id, exchange, newId, limit: Number(url.searchParams.get('limit') ?? 20) },
      after: url.searchParams.get('after'),
    });
    const body = this.answersInstead(name) ?? usual;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const respond = (): void => exchange.respond(200, { 'content-type': 'application/json' }, text);
    const waits = this.answersAfter(name);
    if (waits === null) respond();
    else void waits.then(respond, () => exchange.cut());
  }

  #answerTo(
    name: string,
    asked: {
      id: string;
      exchange: Exchange;
      newId: (prefix: string) => string;
      limit: number;
      after: string | null;
    },
  ): JsonObject | string {
    const { id, exchange, newId, limit, after } = asked;
    switch (name) {
      case 'POST files':
        return this.#upload(exchange, newId('file-'));
      case 'GET files':
        return page(
          [...this.files.values()].map(({ object }) => object),
          { limit, after },
        );
      case 'GET files/id':
        return this.#file(id).object;
      case 'GET files/id/content':
        return this.#file(id).content;
      case 'DELETE files/id':
        this.#file(id);
        this.files.delete(id);
        return { id, object: 'file', deleted: true };
      case 'POST batches':
        return this.#create(exchange.record.body, newId('batch_'));
      case 'GET batches':
        return page([...this.batches.values()], { limit, after });
      case 'GET batches/id': {
        const batch = this.#batch(id);
        if (batch.status === 'validating') batch.status = 'in_progress';
        else if (!this.held && !endedStatuses.includes(batch.status))
          this.#finish(batch, batch.status === 'cancelling' ? 'cancelled' : 'completed', Infinity);
        return { ...batch };
      }
      case 'POST batches/id/cancel': {
        const batch = this.#batch(id);
        if (endedStatuses.includes(batch.status))
          throw new RefusedRequest(`Cannot cancel a batch with status '${batch.status}'.`, { status: 409 });
        batch.status = 'cancelling';
        return { ...batch };
      }
      default:
        throw new RefusedRequest(`Invalid URL (${name})`, { status: 404 });
    }
  }

  #upload(exchange: Exchange, id: string): JsonObject {
    const { raw_bytes: bytes } = exchange.record;
    const [, boundary = ''] = /boundary=([^;]+)/.exec(String(exchange.record.headers['content-type'])) ?? [];
    const parts = bytes.toString().split(`--${boundary}`);
    if (!(parts.at(-1) ?? '').startsWith('--')) throw new RefusedRequest('The form is not complete.');
    const valueOf = (name: string): string | undefined => {
      const part = parts.find((each) => each.includes(`name="${name}"`));
      return part?.slice(part.indexOf('\r\n\r\n') + 4, -2);
    };
    const content = valueOf('file');
    const purpose = valueOf('purpose');
    if (content === undefined || purpose === undefined) throw new RefusedRequest('The form lacks a field.');
    const [, filename = 'file'] = /filename="([^"]*)"/.exec(bytes.toString()) ?? [];
    return this.#keep({ id, purpose, content, filename });
  }

  #keep({ id, content, ...fields }: JsonObject & { id: string; content: string }): JsonObject {
    const created_at = Math.floor(Date.now() / 1_000);
    const object = { id, object: 'file', bytes: Buffer.byteLength(content), created_at, ...fields };
    this.files.set(id, { object: { ...object, status: 'processed' }, content });
    return { ...object, status: 'processed' };
  }

  #create(body: unknown, id: string): JsonObject {
    if (!isObject(body)) throw new RefusedRequest('We could not parse the JSON body of your request.');
    const { input_file_id: fileId, endpoint, completion_window, metadata = null } = body;
    if (completion_window !== '24h') throw new RefusedRequest('completion_window must be 24h.');
    const file = this.#file(String(fileId));
    const batch: Batch = {
      ...{ id, object: 'batch', endpoint, errors: null, completion_window, status: 'validating' },
      ...{ input_file_id: String(fileId), output_file_id: null, error_file_id: null, metadata },
      created_at: Math.floor(Date.now() / 1_000),
      request_counts: { total: requestsIn(file).length, completed: 0, failed: 0 },
    };
    this.batches.set(id, batch);
    return { ...batch };
  }

  #finish(batch: Batch, status: string, answered: number): void {
    batch.status = status;
    if (status === 'failed') {
      batch['errors'] = { object: 'list', data: [{ code: 'token_limit_exceeded', message: 'Too many.' }] };
      return;
    }
    const requests = requestsIn(this.#file(batch.input_file_id));
    const results = requests
      .slice(0, answered)
      .map((request, index) => resultOf(request, `${batch.id}_${index}`));
    const failed = results.filter((line) => line.includes('"status_code":400'));
    const done = results.filter((line) => !failed.includes(line));
    batch['request_counts'] = { total: requests.length, completed: done.length, failed: failed.length };
    batch['output_file_id'] = this.#results(batch, 'output', done);
    batch['error_file_id'] = this.#results(batch, 'error', failed);
  }

  #results({ id }: Batch, name: string, lines: readonly string[]): string | null {
    if (lines.length === 0) return null;
    const fileId = `file-${name}-${id}`;
    const content = lines.map((line) => `${line}\n`).join('');
    this.#keep({ id: fileId, purpose: 'batch_output', content, filename: `${id}_${name}.jsonl` });
    return fileId;
  }

  #file(id: string): StoredFile {
    const file = this.files.get(id);
    if (file === undefined) throw new RefusedRequest(`No such File object: ${id}`, { status: 404 });
    return file;
  }

  #batch(id: string): Batch {
    const batch = this.batches.get(id);
    if (batch === undefined) throw new RefusedRequest(`No batch found with id '${id}'.`, { status: 404 });
    return batch;
  }
}

export function isOfBatches(path: string): boolean {
  return /^\/v1\/(files|batches)(\/|\?|$)/.test(path);
}

/** A page of a list, newest first. */
function page(
  objects: readonly (JsonObject & { id: string })[],
  { limit, after }: { limit: number; after: string | null },
): JsonObject {
  const all = objects.toReversed();
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  return { object: 'list', data: all.slice(from, from + limit), has_more: from + limit < all.length };
}

function requestsIn({ content }: StoredFile): BatchRequest[] {
  const lines = content.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line) as BatchRequest);
}

/** A request with the temperature 99 fails. */
function resultOf({ custom_id, url, body }: BatchRequest, id: string): string {
  const isRefused = body['temperature'] === 99;
  const answer = isRefused
    ? { error: { message: 'Too warm.', type: 'invalid_request_error' } }
    : answerOf(url, body, id);
  const response = { status_code: isRefused ? 400 : 200, request_id: id, body: answer };
  return JSON.stringify({ id: `batch_req_${id}`, custom_id, response, error: null });
}

const signer = new ThinkingSigner('batches');

function answerOf(url: string, body: JsonObject, id: string): unknown {
  if (url === '/v1/embeddings') {
    const request = readEmbeddingRequest(body);
    return JSON.parse(embeddingBody(request, embeddingUsage(request, noFault), noFault));
  }
  if (url === '/v1/responses') {
    const context = { newId: (prefix: string) => prefix + id, signer };
    const answer = answerResponses(readResponsesRequest(body, signer), noFault, context);
    return JSON.parse(responseBody(answer, noFault));
  }
  return JSON.parse(completionBody(answerChat(readChatRequest(body), noFault, `chatcmpl-${id}`), noFault));
}
