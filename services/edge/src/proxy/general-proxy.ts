import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Route, ServiceName } from '@gatehouse/contract/routes';
import { sendError } from '@gatehouse/http/reply';
import type { Logger } from '@gatehouse/kit/log';
import { createProxyMiddleware, type RequestHandler } from 'http-proxy-middleware';
import { headerObject } from './headers.ts';
import type { AddressList } from '../replicas/address-list.ts';
import { KeptConnections } from './kept-connections.ts';
import type { Passage } from './pass-through.ts';
import type { RequestBodies } from './request-body.ts';
import { rejectedAssertion, unreachable, upstreamError, wasRefused } from './upstream-error.ts';

/** No route but completions takes longer than this. */
const timeoutMs = 60_000;

interface Journey {
  route: Route;
  address: string;
  headers: Passage['headers'];
  body: Buffer | null;
  requestId: string;
  retried: boolean;
}

/** The way to a service for all routes but completions: http-proxy-middleware over a pool of kept connections. */
export class GeneralProxy {
  readonly #addresses: ReadonlyMap<ServiceName, AddressList>;
  readonly #bodies: RequestBodies;
  readonly #log: Logger;
  readonly #agent = new KeptConnections();
  readonly #journeys = new WeakMap<IncomingMessage, Journey>();
  readonly #middleware: RequestHandler;

  constructor(addresses: ReadonlyMap<ServiceName, AddressList>, bodies: RequestBodies, log: Logger) {
    this.#addresses = addresses;
    this.#bodies = bodies;
    this.#log = log;
    this.#middleware = createProxyMiddleware({
      agent: this.#agent,
      proxyTimeout: timeoutMs,
      router: (request, _response, options) => {
        const journey = this.#journeyOf(request);
        // Set per request, as the router is: a body that was gathered can be sent twice.
        if (journey.body !== null) options.buffer = Readable.from([journey.body]);
        return `http://${journey.address}`;
      },
      on: {
        proxyRes: (answer, request, response) => this.#checkAnswer(answer, request, response),
        error: (error, request, response) => this.#failed(error, request, response as ServerResponse),
      },
    });
  }

  /** Sends the request to a replica of its service, and to another one if the first refuses the connection. */
  async forward(passage: Passage): Promise<void> {
    const { request, response, route, url, headers, requestId } = passage;
    const body = await this.#bodies.gather(passage, Math.max(route.bodyLimit, 1024 * 1024));
    const address = this.#addresses.get(route.service)?.next() ?? null;
    if (address === null) throw unreachable(route.service);
    request.url = url;
    this.#journeys.set(request, { route, address, headers, body, requestId, retried: false });
    return this.#proxy(request, response);
  }

  /** Breaks off what is under way: a request that has no answer yet gets a 502. */
  close(): void {
    this.#agent.destroy();
  }

  async #proxy(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, body } = this.#journeyOf(request);
    const length = body === null ? {} : { 'content-length': String(body.length) };
    request.headers = { ...headerObject(await headers()), ...length };
    void this.#middleware(request, response, (error) => this.#failed(error, request, response));
  }

  #journeyOf(request: IncomingMessage): Journey {
    const journey = this.#journeys.get(request);
    if (journey === undefined) throw new Error('a request that was not sent on its way by forward()');
    return journey;
  }

  #checkAnswer(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
    // The library passes these on, though they are about the service's connection and not about the client's.
    delete answer.headers['keep-alive'];
    const closes = response.getHeader('connection') === 'close' || !response.shouldKeepAlive;
    answer.headers.connection = closes ? 'close' : 'keep-alive';
    if (answer.statusCode !== 401) return;
    answer.destroy();
    const { route, requestId } = this.#journeyOf(request);
    this.#log.error({ request_id: requestId, service: route.service }, 'a service refused our assertion');
    sendError(response, rejectedAssertion(route.service), requestId);
  }

  #failed(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    if (response.destroyed || response.writableEnded) return;
    const journey = this.#journeyOf(request);
    const { route, requestId } = journey;
    const addresses = this.#addresses.get(route.service);
    if (wasRefused(error) && !journey.retried) {
      addresses?.refused(journey.address);
      const other = addresses?.next(journey.address) ?? null;
      if (other !== null) {
        Object.assign(journey, { address: other, retried: true });
        this.#proxy(request, response).catch((failure: unknown) => this.#failed(failure, request, response));
        return;
      }
    }
    const known = upstreamError(route.service, error);
    this.#log.error({ err: error, request_id: requestId }, 'proxying failed');
    sendError(response, known, requestId);
  }
}
