import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorEvent } from '@gatehouse/http/dialect-error';
import { closeWhenEarly, doorHeaders, endAnswer, sendError } from '@gatehouse/http/reply';
import { errorCodeHeader } from '@gatehouse/http/error-code';
import type { Exchange } from '@gatehouse/http/principal-check';
import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import type { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { responseHeaders, type HeaderList, type ServiceHeaders } from './headers.ts';
import { rejectedAssertion, upstreamError, wasRefused } from './upstream-error.ts';

/** A request past the edge's checks, on its way to the service of its route. */
export interface ForwardedRequest extends Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Path and query for the service; of a relayed request, those behind the relay. */
  url: string;
  /** The client's headers for the service, and its address. */
  headers: HeaderList;
  /** Null for owner keys. */
  tenantId: string | null;
  /** Gets the code of an error for the access log, and the error if it is the edge's own. */
  outcome?: { code: string | undefined; failure: AppError | null };
  /** On routes without a key: the client's address, or `''` if it is not known. */
  anonymousAddress?: string | undefined;
}

/** The source of the bytes of an answer. */
export interface AnswerSource {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
  /** The client has the whole answer. */
  finish?(): void;
  /** The client's response is closed. */
  leave?(): void;
}

export interface AnswerOptions {
  forwarded: ForwardedRequest;
  log: Logger;
  /**
   * Called when the response is closed, with null, or when the replica refused the connection, with the error: then
   * nothing was sent, and another attempt may follow.
   */
  settle: (refusal: unknown) => void;
  /** Called when the replica announces its stop. */
  onStop: () => void;
}

const lineFeed = 0x0a;

/**
 * Passes the answer of one attempt on to the client, for all senders: which headers pass, back-pressure, a leaving
 * client, and what the client gets when the service fails.
 */
export class ProxiedResponse {
  readonly #forwarded: ForwardedRequest;
  readonly #log: Logger;
  readonly #settle: (refusal: unknown) => void;
  readonly #onStop: () => void;
  #source: AnswerSource | null = null;
  #begun = false;
  #failed = false;
  #streams = false;
  /** Whether the sent part ends with a blank line, so another event may follow. */
  #atBoundary = true;

  constructor({ forwarded, log, settle, onStop }: AnswerOptions) {
    this.#forwarded = forwarded;
    this.#log = log;
    this.#settle = settle;
    this.#onStop = onStop;
    const { response } = forwarded;
    response.on('close', () => {
      if (response.writableFinished) this.#source?.finish?.();
      else this.#source?.abort(clientLeft());
      this.#source?.leave?.();
      settle(null);
    });
    response.on('drain', () => this.#source?.resume());
  }

  /** The request is about to be sent. */
  start(source: AnswerSource): void {
    this.#source = source;
    if (this.#forwarded.response.destroyed) source.abort(clientLeft());
  }

  /** The final status and the headers arrived. */
  begin(status: number, headers: ServiceHeaders): void {
    const { request, response, requestId, route, dialect } = this.#forwarded;
    // A service also closes the connection after an answer given before the request's end.
    if (headers['connection'] === 'close' && request.complete) this.#onStop();
    if (isForEdge(status, headers)) {
      this.#abort(rejectedAssertion(route.service));
      return;
    }
    this.#noteCode(headers[errorCodeHeader]);
    closeWhenEarly(response);
    try {
      // All at once: headers set one by one before cost each of these twice what it takes.
      const gatewayHeaders = doorHeaders(requestId, dialect);
      // The headers written here replace the one set by CORS.
      const varies = headers['vary'] === undefined ? undefined : response.getHeader('vary');
      if (varies !== undefined) gatewayHeaders['vary'] = [varies, headers['vary']].join(', ');
      const { 'cache-control': caching } = headers;
      if (caching !== undefined) gatewayHeaders['cache-control'] = String(caching);
      response.writeHead(status, responseHeaders(headers, gatewayHeaders));
    } catch (error) {
      this.#abort(error);
      return;
    }
    this.#begun = true;
    this.#streams = String(headers['content-type']).startsWith('text/event-stream');
  }

  /** Sends the head of a stream without waiting for its first event, which may take a while over a connection. */
  flush(): void {
    if (this.#streams) this.#forwarded.response.flushHeaders();
  }

  write(chunk: Buffer): void {
    if (this.#failed) return;
    const { length } = chunk;
    // Two calls of `at` take 150 ns, for each frame of a stream, and this 10.
    this.#atBoundary = chunk[length - 1] === lineFeed && chunk[length - 2] === lineFeed;
    if (!this.#forwarded.response.write(chunk)) this.#source?.pause();
  }

  end(last?: Buffer): void {
    if (!this.#failed) endAnswer(this.#forwarded.response, last);
  }

  /** The service failed: before its answer began, or in the middle of it. Only the first call has an effect. */
  fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    const { response, requestId, route, dialect } = this.#forwarded;
    if (response.destroyed) {
      // Its 'close' may have come before this answer listened.
      this.#settle(null);
      return;
    }
    if (wasRefused(error) && !this.#begun) {
      this.#settle(error);
      return;
    }
    const known = upstreamError(route.service, error);
    this.#noteCode(known.publicCode);
    if (this.#forwarded.outcome !== undefined) this.#forwarded.outcome.failure = known;
    if (known.status >= 500)
      this.#log.error({ err: error, request_id: requestId, service: route.service }, 'forwarding failed');
    if (this.#begun && this.#streams) this.#endStream(known);
    else sendError(response, known, requestId, dialect);
  }

  #noteCode(code: unknown): void {
    const { outcome } = this.#forwarded;
    if (outcome !== undefined && typeof code === 'string') outcome.code = code;
  }

  #abort(error: unknown): void {
    this.fail(error);
    this.#source?.abort(error instanceof Error ? error : new Error('the answer was rejected'));
  }

  /** A stream the service could not end itself: the error as an event and a normal close. */
  #endStream(error: AppError): void {
    const { response, requestId, dialect } = this.#forwarded;
    const event = errorEvent(dialect, error, requestId);
    response.end(this.#atBoundary ? event : `\n\n${event}`);
  }
}

function clientLeft(): Error {
  return new Error('the client left');
}

/** Whether a 401 of a service is for the edge: one for the client says so. */
function isForEdge(status: number, headers: ServiceHeaders): boolean {
  return status === 401 && headers[credentialRefusedHeader] === undefined;
}
