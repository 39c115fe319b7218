import { EventEmitter } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ProxiedResponse } from './answer-handlers.ts';

/**
 * Response written by a service of this process: the members of `http.ServerResponse` used by handlers and
 * `stream.pipeline`, over a `ProxiedResponse`. Like a response over a connection, it closes once the client has all of
 * it or has left, and its service may write to it at any time afterwards without harm.
 */
export class LocalResponse extends EventEmitter {
  readonly req: IncomingMessage;
  /** Never false, as in Node: `stream.pipeline` takes an unwritable response for a complete one. */
  readonly writable = true;
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  writableNeedDrain = false;
  destroyed = false;
  closed = false;
  readonly #client: ServerResponse;
  readonly #answer: ProxiedResponse;
  /** Headers set before the head is written. */
  #headers: OutgoingHttpHeaders | null = null;

  /** `client`: the response written by the edge. */
  constructor(client: ServerResponse, answer: ProxiedResponse) {
    super();
    this.req = client.req;
    this.#client = client;
    this.#answer = answer;
  }

  /** The client's connection. */
  get socket(): Socket | null {
    return this.#client.socket;
  }

  setHeader(name: string, value: OutgoingHttpHeader): this {
    this.#headers ??= {};
    this.#headers[name.toLowerCase()] = value;
    return this;
  }

  writeHead(status: number, headers?: OutgoingHttpHeaders): this {
    if (this.destroyed) return this;
    if (this.headersSent) throw new Error('the head of the response was written before');
    this.headersSent = true;
    this.statusCode = status;
    const outgoing = headers === undefined ? {} : withLowerCase(headers);
    this.#answer.begin(status, this.#headers === null ? outgoing : { ...this.#headers, ...outgoing });
    return this;
  }

  flushHeaders(): void {
    this.#begin();
    this.#answer.flush();
  }

  /** Returns false when the client reads more slowly than this; `drain` follows. */
  write(chunk: string | Buffer): boolean {
    if (this.destroyed || this.writableEnded) return false;
    this.#begin();
    this.#answer.write(bytesOf(chunk));
    return !this.writableNeedDrain;
  }

  end(last?: string | Buffer): this {
    if (this.destroyed || this.writableEnded) return this;
    this.#begin();
    this.writableEnded = true;
    this.#answer.end(last === undefined ? undefined : bytesOf(last));
    return this;
  }

  /** The service breaks off. */
  destroy(error?: Error): this {
    if (this.destroyed) return this;
    if (this.writableEnded) {
      this.#client.destroy(error);
      return this;
    }
    this.cut();
    // Not the error itself: one from a service's database would count as a refused connection.
    this.#answer.fail(new Error('the service broke off', { cause: error }));
    return this;
  }

  /** The edge or the client breaks off. */
  cut(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    // Later, as in Node: the service may be in the middle of a call of this response.
    process.nextTick(() => this.#close());
  }

  /** The client has all of it. */
  finish(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.writableFinished = true;
    this.emit('finish');
    this.#close();
  }

  #begin(): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
  }

  #close(): void {
    this.closed = true;
    this.emit('close');
  }
}

/** The headers with lower-case names, as they have over a connection. */
function withLowerCase(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  for (const name of Object.keys(headers))
    if (name !== name.toLowerCase())
      return Object.fromEntries(Object.entries(headers).map(([each, value]) => [each.toLowerCase(), value]));
  return headers;
}

function bytesOf(chunk: string | Buffer): Buffer {
  return typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}
