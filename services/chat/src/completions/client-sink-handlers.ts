import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { AppError } from '@gatehouse/kit/errors';
import { logFailure, type Logger } from '@gatehouse/kit/log';
import { requestIdHeader } from '@gatehouse/http/request-context';
import type { Model } from '../catalogue/catalogue.ts';
import type { AnswerBudget, AnswerClient, AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { Dialect } from '@gatehouse/dialects/dialect';
import type { ObjectAnswer } from '../providers/object-answer.ts';
import type { AnswerSink, TurnFailure } from '../turns/turn.ts';
import { headerText } from './client-headers.ts';
import { ClientStream, keepAliveMs } from './client-stream-handlers.ts';

export interface HttpSinkOptions {
  response: ServerResponse;
  dialect: Dialect;
  requestId: string;
  tenantId: string;
  runId: string;
  traceId: string;
  /** Sent with every answer. */
  limitHeaders: Readonly<Record<string, string>>;
  /** Aborts when the client leaves, or the process or the run stops, before the client has its answer. */
  signal: AbortSignal;
  answers: AnswerBudget;
  log: Logger;
  /** Whether the client gets a stream as a JSON array. */
  asArray?: boolean | undefined;
  /** Whether the client asked for a stream. Its silence counts from now on. */
  streams: boolean;
  /** Shorter in tests. */
  silenceMs?: number | undefined;
}

/** Writes the answer of a turn to an HTTP client. */
export class HttpSink implements AnswerSink, AnswerClient {
  readonly #options: HttpSinkOptions;
  readonly #stream: ClientStream | null;
  /** The model whose provider sent the headers of a stream. */
  #streaming: Model | null = null;
  #ignored: readonly string[] = [];
  /** Memory for the answer to the newest call. */
  #room: AnswerRoom | null = null;

  constructor(options: HttpSinkOptions) {
    this.#options = options;
    const { response, dialect, asArray, streams, silenceMs = keepAliveMs } = options;
    this.#stream = streams
      ? new ClientStream(response, {
          dialect,
          headers: () => this.#answerHeaders(this.#streaming),
          silenceMs,
          asArray,
        })
      : null;
    response.on('close', () => this.#room?.close());
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  get begun(): boolean {
    return this.#stream?.begun === true;
  }

  /** A delivered answer keeps its room until the response closes. */
  openRoom(): AnswerRoom {
    const { answers, tenantId } = this.#options;
    this.#room?.close();
    this.#room = answers.open(tenantId);
    this.#room.client = this;
    return this.#room;
  }

  /** Named in a header of the answer. */
  ignored(names: readonly string[]): void {
    this.#ignored = names;
  }

  streamAccepted(model: Model): void {
    this.#streaming = model;
  }

  sendObject({ model, bytes }: ObjectAnswer): void {
    const { response } = this.#options;
    const headers: OutgoingHttpHeaders = this.#answerHeaders(model);
    headers['content-type'] = 'application/json';
    headers['content-length'] = bytes.length;
    response.writeHead(200, headers);
    this.#room?.waitForClient(true);
    response.end(bytes);
  }

  openStream(model: Model): ClientStream {
    if (this.#stream === null) throw new Error('the client asked for no stream');
    this.#streaming = model;
    return this.#stream;
  }

  endStream(lastFrames: readonly Buffer[]): void {
    this.#stream?.finish(lastFrames);
  }

  fail(error: AppError, { cause, hasRun }: TurnFailure): void {
    const { response, requestId, runId, log } = this.#options;
    if (this.#stream?.headSent === true) {
      logFailure(log, { request_id: requestId, run_id: runId }, cause);
      this.#stream.fail(error, requestId);
    } else if (!response.destroyed) {
      // Also after an abort: a stop leaves the client there.
      throw withHeaders(error, this.#headers(hasRun));
    }
  }

  close(): void {
    this.#stream?.abandon();
    if (this.#options.response.closed) this.#room?.close();
  }

  /** See {@link AnswerClient}. */
  cut(): void {
    const { response, log, requestId } = this.#options;
    log.warn(
      { request_id: requestId },
      'closed the connection of a slow client: other large answers wait for memory',
    );
    response.socket?.destroy();
  }

  #answerHeaders(model: Model | null): Record<string, string> {
    const headers = this.#headers(true);
    if (model === null) return headers;
    headers['x-gateway-provider'] = model.provider.name;
    headers['x-gateway-model'] = headerText(model.id);
    if (this.#ignored.length > 0) headers['x-gateway-ignored'] = headerText(this.#ignored.join(', '));
    return headers;
  }

  #headers(hasRun: boolean): Record<string, string> {
    const { limitHeaders, requestId, runId, traceId } = this.#options;
    const headers: Record<string, string> = { ...limitHeaders };
    headers[requestIdHeader] = requestId;
    if (!hasRun) return headers;
    headers['x-run-id'] = runId;
    headers['x-trace-id'] = traceId;
    return headers;
  }
}

function withHeaders(error: AppError, headers: Record<string, string>): AppError {
  return new AppError(error.code, error.message, {
    param: error.param ?? undefined,
    publicCode: error.publicCode,
    body: error.body ?? undefined,
    headers: { ...error.headers, ...headers },
    cause: error.cause,
  });
}
