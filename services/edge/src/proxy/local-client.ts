import type { RequestListener, ServerResponse } from 'node:http';
import { handOver } from '@gatehouse/http/principal-check';
import { markCutByStop } from '@gatehouse/http/server';
import { OpenList } from '@gatehouse/kit/open-list';
import type { AnswerSource, ForwardedRequest, ProxiedResponse } from './answer-handlers.ts';
import type { ServiceSender } from './http-client.ts';
import { distinctHeaders, headerObject } from './headers.ts';
import { LocalResponse } from './local-response-handlers.ts';
import { unreachable, upstreamError } from './upstream-error.ts';

/** A request to a service of this process. */
export interface LocalAttempt {
  forwarded: ForwardedRequest;
  handler: RequestListener;
}

/** In place of the distinct headers that pass-through routes don't read: Node would make them of the client's own. */
const noHeaders = Object.freeze({});

/**
 * Sender for services of this process. A service gets the client's request, with the headers passed on by the edge and
 * an assertion no header can hold, and a response of its own. It reads the body itself.
 */
export class LocalClient implements ServiceSender<LocalAttempt> {
  readonly #open = new OpenList<LocalExchange>();

  send({ forwarded, handler }: LocalAttempt, answer: ProxiedResponse): void {
    const { request, url, headers } = forwarded;
    const exchange = new LocalExchange(forwarded, answer);
    exchange.leave = this.#open.add(exchange);
    // `headers` leaves it out, because it is of one connection.
    const { 'transfer-encoding': encoding } = request.headers;
    request.headers = headerObject(headers);
    if (encoding !== undefined) request.headers['transfer-encoding'] = encoding;
    request.headersDistinct = forwarded.route.passThrough ? noHeaders : distinctHeaders(headers);
    request.url = url;
    handOver(request, forwarded);
    answer.start(exchange);
    handler(request, exchange.serverResponse);
  }

  close(): Promise<void> {
    for (const exchange of this.#open) exchange.stop();
    return Promise.resolve();
  }
}

class LocalExchange implements AnswerSource {
  readonly #forwarded: ForwardedRequest;
  readonly #answer: ProxiedResponse;
  readonly #response: LocalResponse;
  /** Removes it from the list of open ones. */
  leave: () => void = () => undefined;

  constructor(forwarded: ForwardedRequest, answer: ProxiedResponse) {
    this.#forwarded = forwarded;
    this.#answer = answer;
    this.#response = new LocalResponse(forwarded.response, answer);
  }

  /** The response as handlers take it. It lacks the members of Node's class unused by handlers. */
  get serverResponse(): ServerResponse {
    return this.#response as unknown as ServerResponse;
  }

  pause(): void {
    this.#response.writableNeedDrain = true;
  }

  resume(): void {
    this.#response.writableNeedDrain = false;
    this.#response.emit('drain');
  }

  abort(): void {
    this.#response.cut();
  }

  finish(): void {
    this.#response.finish();
  }

  /** Fails because the process stops, unless it was answered and only its client has not read all of it. */
  stop(): void {
    if (this.#response.writableEnded) return;
    const { request, route } = this.#forwarded;
    markCutByStop(this.serverResponse);
    this.#response.cut();
    this.#answer.fail(
      request.complete
        ? upstreamError(route.service, new Error('the process stops'))
        : unreachable(route.service),
    );
  }
}
