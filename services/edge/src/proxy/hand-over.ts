import { ServerResponse, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { checkBodySize } from '@gatehouse/http/body';
import { handOver } from '@gatehouse/http/handed-over';
import { closeWhenEarly, doorHeaders, sendError } from '@gatehouse/http/reply';
import { markCutByStop } from '@gatehouse/http/server';
import type { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { OpenList } from '@gatehouse/kit/open-list';
import type { Neighbour } from '@gatehouse/shell/neighbours';
import { distinctHeaders, headerObject, responseHeaders } from './headers.ts';
import type { ForwardedRequest } from './forwarded-request.ts';
import { bodyLimitOf } from './request-body.ts';
import { errorEvent, isForEdge, rejectedAssertion, unreachable, upstreamError } from './upstream-error.ts';

/** A response that a service of this process writes. */
interface Handed {
  forwarded: ForwardedRequest;
  streams: boolean;
  /** The response's own methods: what the service calls goes through the edge. */
  own: Pick<ServerResponse, 'writeHead' | 'end' | 'destroy'>;
}

/**
 * Hands requests over to services of this process: the service gets the client's request with the headers that the edge
 * passes on, and writes to the client's response. The edge adds its headers when the service begins to answer, and ends
 * a stream that the service breaks off with the error event, as it does for services in other processes (`Answer`).
 */
export class HandOver {
  readonly #open = new OpenList<Handed>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Throws if the service does not run, and for a body that is too large. Does nothing if the client has left. */
  pass(forwarded: ForwardedRequest, { handler }: Neighbour): void {
    const { request, response, route, url, headers } = forwarded;
    if (response.destroyed || response.closed) return;
    if (handler === null) throw unreachable(route.service);
    checkBodySize(request, { bodyLimit: bodyLimitOf(route) });
    const handed: Handed = {
      ...{ forwarded, streams: false },
      own: {
        writeHead: response.writeHead.bind(response),
        end: response.end.bind(response),
        destroy: response.destroy.bind(response),
      },
    };
    response.once('close', this.#open.add(handed));
    // `headers` leaves it out, because it is of one connection.
    const { 'transfer-encoding': encoding } = request.headers;
    request.headers = {
      ...headerObject(headers),
      ...(encoding !== undefined && { 'transfer-encoding': encoding }),
    };
    request.headersDistinct = distinctHeaders(headers);
    request.url = url;
    handOver(request, forwarded.assertion);
    this.#watch(handed);
    handler(request, response);
  }

  /** Ends what is in flight: a stream with the error event, any other request with a 502, or a 503 without its body. */
  close(): void {
    for (const handed of this.#open) {
      const { request, response, route } = handed.forwarded;
      // It was answered, and only its client has not read all of it.
      if (response.writableEnded) continue;
      markCutByStop(response);
      silence(response);
      const error = request.complete
        ? upstreamError(route.service, new Error('the process stops'))
        : unreachable(route.service);
      if (!response.headersSent) answer(handed, error);
      else if (handed.streams) endStream(handed, error);
      else handed.own.destroy();
    }
  }

  #watch(handed: Handed): void {
    const { own, forwarded } = handed;
    const { response, requestId, route } = forwarded;
    const writeHead = (status: number, ...rest: unknown[]): ServerResponse => {
      const given = (rest.at(-1) ?? {}) as OutgoingHttpHeaders;
      if (isForEdge(route, status, given)) {
        const error = rejectedAssertion(route.service);
        this.#log.error({ err: error, request_id: requestId, service: route.service }, 'forwarding failed');
        silence(response);
        answer(handed, error);
        return response;
      }
      handed.streams = String(given['content-type']).startsWith('text/event-stream');
      closeWhenEarly(response);
      return own.writeHead(status, responseHeaders(given as IncomingHttpHeaders, doorHeaders(requestId)));
    };
    const destroy = (error?: Error): ServerResponse => {
      if (!handed.streams || response.writableEnded || response.socket?.destroyed !== false)
        return own.destroy(error);
      this.#log.error({ err: error, request_id: requestId, service: route.service }, 'a stream broke off');
      silence(response);
      endStream(handed, upstreamError(route.service, error));
      return response;
    };
    response.writeHead = writeHead;
    response.destroy = destroy;
  }
}

/** Discards what the service still writes: a write after the end would be an error without a listener. */
function silence(response: ServerResponse): void {
  const write = (): boolean => false;
  const end = (): ServerResponse => response;
  const writeHead = (): ServerResponse => response;
  Object.assign(response, { write, end, writeHead });
}

/** Answers in place of the service, which was silenced. */
function answer({ forwarded: { response, requestId }, own }: Handed, error: AppError): void {
  const { req, headersSent, destroyed } = response;
  const write = ServerResponse.prototype.write.bind(response);
  const setHeader = response.setHeader.bind(response);
  sendError({ ...own, req, headersSent, destroyed, write, setHeader }, error, requestId);
}

/** The error as an event, and a normal close. */
function endStream({ forwarded: { requestId }, own }: Handed, error: AppError): void {
  // A blank line first, in case the service broke off in the middle of an event.
  own.end(`\n\n${errorEvent(error, requestId)}`);
}
