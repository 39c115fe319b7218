import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { handOver } from '@gatehouse/http/handed-over';
import { OpenList } from '@gatehouse/http/open-list';
import { closeWhenEarly, doorHeaders, sendError } from '@gatehouse/http/reply';
import { cutByStop } from '@gatehouse/http/server';
import { errorBody, type AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { Neighbour } from '@gatehouse/service/neighbours';
import { distinctHeaders, headerObject, responseHeaders } from './headers.ts';
import type { Passage } from './passage.ts';
import { unreachable, upstreamError } from './upstream-error.ts';

/** A response that a service of this process writes. */
interface Handed {
  passage: Passage;
  streams: boolean;
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

  /** Throws if the service does not run. */
  pass(passage: Passage, { handler }: Neighbour): void {
    const { request, response, route, url, headers } = passage;
    if (handler === null) throw unreachable(route.service);
    const handed = { passage, streams: false };
    this.#open.add(response, handed);
    // Names that `headers` leaves out because they are of one connection.
    const { 'transfer-encoding': encoding } = request.headers;
    request.headers = {
      ...headerObject(headers),
      ...(encoding !== undefined && { 'transfer-encoding': encoding }),
    };
    request.headersDistinct = distinctHeaders(headers);
    request.url = url;
    handOver(request, passage.assertion);
    this.#watch(handed, response);
    handler(request, response);
  }

  /** Ends what is in flight: a stream with the error event, any other request with a 502. */
  close(): void {
    for (const { passage, streams } of this.#open) {
      const { response, requestId, route } = passage;
      const error = upstreamError(route.service, new Error('the process stops'));
      cutByStop(response);
      if (response.headersSent && streams) endStream(response, error, requestId);
      else sendError(response, error, requestId);
      // What the service still writes goes nowhere.
      const write = (): boolean => false;
      const end = (): ServerResponse => response;
      Object.assign(response, { write, end });
    }
  }

  #watch(handed: Handed, response: ServerResponse): void {
    const { requestId, route } = handed.passage;
    const begin = response.writeHead.bind(response);
    const destroy = response.destroy.bind(response);
    const writeHead = (status: number, ...rest: unknown[]): ServerResponse => {
      const own = rest.at(-1) as OutgoingHttpHeaders | undefined;
      handed.streams = String(own?.['content-type']).startsWith('text/event-stream');
      closeWhenEarly(response);
      return begin(status, responseHeaders((own ?? {}) as IncomingHttpHeaders, doorHeaders(requestId)));
    };
    const breakOff = (error?: Error): ServerResponse => {
      if (!handed.streams || response.writableEnded || response.socket?.destroyed !== false)
        return destroy(error);
      const known = upstreamError(route.service, error);
      this.#log.error({ err: error, request_id: requestId, service: route.service }, 'a stream broke off');
      endStream(response, known, requestId);
      return response;
    };
    response.writeHead = writeHead;
    response.destroy = breakOff;
  }
}

/** The error as an event, and a normal close. */
function endStream(response: ServerResponse, error: AppError, requestId: string): void {
  // A blank line first, in case the service broke off in the middle of an event.
  response.end(`\n\ndata: ${JSON.stringify(errorBody(error, requestId))}\n\n`);
}
