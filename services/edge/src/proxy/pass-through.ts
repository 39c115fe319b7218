import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Route, ServiceName } from '@gatehouse/contract/routes';
import { closeWhenEarly, doorHeaders, endAnswer, sendError } from '@gatehouse/http/reply';
import { errorBody, type AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { Pool, type Dispatcher } from 'undici';
import { responseHeaders, type HeaderList } from './headers.ts';
import type { AddressList } from '../replicas/address-list.ts';
import type { RequestBodies } from './request-body.ts';
import {
  connectTimeoutMs,
  idleMs,
  rejectedAssertion,
  unreachable,
  upstreamError,
  wasRefused,
} from './upstream-error.ts';

/** Chat ends a call of a provider in its own time, and tries others: a chain with retries may take hours. */
const headersTimeoutMs = 12 * 3_600_000;
/** The service sends a comment every 15 s into a silent stream, so silence means that it is gone. */
const bodyTimeoutMs = 60_000;

export interface Passage {
  request: IncomingMessage;
  response: ServerResponse;
  route: Route;
  /** Path and query for the service; of a relayed request, those behind the relay. */
  url: string;
  /**
   * The headers for the service, with a fresh assertion: made each time the request is sent, since a body may take
   * longer to arrive than an assertion lasts.
   */
  headers: () => Promise<HeaderList>;
  /** Null for owner keys. */
  tenantId: string | null;
  requestId: string;
}

/**
 * The short way to a service for completions: undici and node:http without layers between, half as much again as
 * a general proxy passes on one core (ADR 0006). Streams both ways with back-pressure; a client that leaves ends the
 * service's request at once.
 */
export class PassThrough {
  readonly #addresses: AddressList;
  readonly #log: Logger;
  readonly #bodies: RequestBodies;
  readonly #pools = new Map<string, Pool>();
  /** Of replicas that vanished, with requests that are not over. */
  readonly #leaving = new Set<Pool>();

  constructor(addresses: AddressList, bodies: RequestBodies, log: Logger) {
    this.#addresses = addresses;
    this.#bodies = bodies;
    this.#log = log;
  }

  /** Resolves when the response has been sent, or its client is gone. Throws when there is no replica to send it to. */
  async forward(passage: Passage): Promise<void> {
    const body = await this.#bodies.gatherOrStream(passage, passage.route.bodyLimit);
    const address = this.#addresses.next();
    if (address === null) throw unreachable(passage.route.service);
    const refusal = await this.#send(passage, address, body);
    if (refusal === null) return;
    this.#addresses.refused(address);
    const other = this.#addresses.next(address);
    // A stream was not touched either: reading begins once there is a connection.
    const second = other === null ? refusal : await this.#send(passage, other, body);
    if (second !== null) throw upstreamError(passage.route.service, second);
  }

  /** Breaks off what is under way: a stream ends with the error event, any other request with a 502. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values(), ...this.#leaving].map((pool) => pool.destroy()));
  }

  /** The error when the address refused the connection; null in all other cases, which are dealt with. */
  async #send(
    passage: Passage,
    address: string,
    body: Buffer | AsyncIterable<Buffer> | null,
  ): Promise<Error | null> {
    const { request, url } = passage;
    const headers = await passage.headers();
    return new Promise((resolve) => {
      const handler = new PassageHandler(passage, this.#log, resolve);
      this.#pool(address).dispatch(
        {
          method: request.method as Dispatcher.HttpMethod,
          path: url,
          headers,
          // undici takes any async iterable, though its types name Node's streams only.
          body: body as Buffer | null,
        },
        handler,
      );
    });
  }

  #pool(address: string): Pool {
    const known = this.#pools.get(address);
    if (known !== undefined) return known;
    const pool = new Pool(`http://${address}`, {
      headersTimeout: headersTimeoutMs,
      bodyTimeout: bodyTimeoutMs,
      keepAliveTimeout: idleMs,
      // Whatever the service says in its Keep-Alive header.
      keepAliveMaxTimeout: idleMs,
      connect: { timeout: connectTimeoutMs },
    });
    this.#forgetVanished();
    this.#pools.set(address, pool);
    return pool;
  }

  /** Replicas come and go; the pool of one that is gone closes when its requests are over. */
  #forgetVanished(): void {
    for (const [address, pool] of this.#pools) {
      if (this.#addresses.all.includes(address)) continue;
      this.#pools.delete(address);
      this.#leaving.add(pool);
      void pool.close().then(() => this.#leaving.delete(pool));
    }
  }
}

const lineFeed = 0x0a;

/** Writes one answer of a service to the client. */
class PassageHandler implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #requestId: string;
  readonly #service: ServiceName;
  readonly #log: Logger;
  readonly #settle: (refusal: Error | null) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #streams = false;
  /** Whether what was sent ends with a blank line, so that another event may follow. */
  #atBoundary = true;

  constructor(passage: Passage, log: Logger, settle: (refusal: Error | null) => void) {
    this.#response = passage.response;
    this.#requestId = passage.requestId;
    this.#service = passage.route.service;
    this.#log = log;
    this.#settle = settle;
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) this.#controller?.abort(new Error('the client left'));
      settle(null);
    });
    this.#response.on('drain', () => this.#controller?.resume());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#response.destroyed) controller.abort(new Error('the client left'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    if (status === 401) {
      controller.abort(rejectedAssertion(this.#service));
      return;
    }
    this.#streams = headers['content-type']?.startsWith('text/event-stream') === true;
    closeWhenEarly(this.#response);
    // All at once: headers that were set one by one before cost each of these twice what it takes.
    this.#response.writeHead(status, responseHeaders(headers, doorHeaders(this.#requestId)));
    if (this.#streams) this.#response.flushHeaders();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#atBoundary = chunk.at(-1) === lineFeed && chunk.at(-2) === lineFeed;
    if (!this.#response.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    endAnswer(this.#response);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#response.destroyed) {
      // Its 'close' may have come before this handler listened.
      this.#settle(null);
      return;
    }
    if (wasRefused(error) && !this.#response.headersSent) {
      this.#settle(error);
      return;
    }
    const known = upstreamError(this.#service, error);
    if (known.status >= 500)
      this.#log.error({ err: error, request_id: this.#requestId }, 'passing a request through failed');
    if (this.#response.headersSent && this.#streams) this.#endStream(known);
    else sendError(this.#response, known, this.#requestId);
  }

  /** A stream that the service could not end itself: the error as an event and a normal close. */
  #endStream(error: AppError): void {
    const event = `data: ${JSON.stringify(errorBody(error, this.#requestId))}\n\n`;
    this.#response.end(this.#atBoundary ? event : `\n\n${event}`);
  }
}
