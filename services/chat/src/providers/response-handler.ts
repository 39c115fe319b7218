import { readFor } from '@gatehouse/egress/paced-reads';
import { ChunkList } from '@gatehouse/kit/chunk-list';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { Dispatcher } from 'undici';
import type { ProviderError } from '@gatehouse/dialects/dialect';
import { concernsRequest } from '@gatehouse/dialects/provider-errors';
import { keyStatus } from './key-status.ts';
import { absenceIn } from './missing-deployments.ts';
import { ProviderFailure, templateRefusal } from './provider-failure.ts';
import { isByTemplate } from './refused-history.ts';
import { bytesWithoutSecrets, secretsIn } from './repeated-secrets.ts';
import { parseRetryAfter } from './retry-delay.ts';
import type { CallRoom, ProviderCall } from './adapter.ts';
import type { AnswerOrigin, CallFormat, ResponseHeaders } from './provider-kind.ts';
import type { AnswerReader } from '@gatehouse/kit/answer-budget';
import { monotonicMs } from '@gatehouse/kit/clock';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { unpackingFor } from './unpacking.ts';
import { smallAnswerBytes } from '../bounds.ts';

/**
 * After so much work on pieces of an answer it waits for a turn of the event loop: Node hands over 2 MiB of a connection
 * without one, which may be 700,000 frames. Answers of models reach it once in hundreds of pieces.
 */
const workMs = 10;

/**
 * The common part of unary and streamed answers: aborting a call, and turning error responses and broken connections
 * into a `ProviderFailure`. It implements undici's handler interface, since undici's streams would cost the hot path a
 * copy and several events per chunk.
 */
export abstract class ResponseHandler implements Dispatcher.DispatchHandler, AnswerReader {
  protected readonly provider: string;
  protected readonly format: CallFormat;
  protected controller: Dispatcher.DispatchController | null = null;
  /** Unpacks the answer; null where it came without an encoding. */
  #unpacking: Dispatcher.DispatchHandler | null = null;
  readonly #call: Pick<ProviderCall, 'proof' | 'copied' | 'model'>;
  readonly #room: CallRoom;
  #hasRoom = true;
  #workedMs = 0;
  #rests = false;
  #flows = true;
  /** Ends the tenant's turns of reading, see `readFor`. */
  #endReads: (() => void) | null = null;
  readonly #signal: AbortSignal;
  readonly #onHeaders: () => void;
  readonly #onAbort = (): void => this.#abort();
  #errorResponse: ErrorResponse | null = null;
  #over = false;
  #hints = 0;

  constructor({ name, format }: AnswerOrigin, call: ProviderCall) {
    const { signal, onHeaders, room } = call;
    this.#call = call;
    this.provider = name;
    this.format = format;
    this.#signal = signal;
    this.#onHeaders = onHeaders;
    this.#room = room;
    room.reader = this;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** The provider returned 200. Throws a failure if the headers rule out an answer in the body. */
  protected abstract accept(headers: ResponseHeaders): void;
  protected abstract data(chunk: Buffer): void;
  protected abstract end(): void;
  /** Called once at most, and never after `end`. */
  protected abstract fail(failure: ProviderFailure): void;

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (!this.#signal.aborted) {
      this.controller = controller;
      return;
    }
    // An abort while the request waited for its connection was reported then.
    if (!this.#over) this.#abort();
    controller.abort(new Error('aborted'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) {
      // Informational, like 102 and 103. Each begins the time for the headers again.
      this.#hints += 1;
      if (this.#hints > 1_000) this.stop(new ProviderFailure('invalid', this.provider));
      return;
    }
    if (headers['content-encoding'] !== undefined && this.#unpacking === null) {
      this.#unpacking = unpackingFor(this);
      // Sets the controller to the one for the unpacked answer, which pauses the packed one as well.
      this.#unpacking.onRequestStart?.(controller, null);
      this.#unpacking.onResponseStart?.(controller, status, headers);
      return;
    }
    this.#endReads = readFor(this.#room.tenantId);
    if (status !== 200) {
      this.#errorResponse = { status, headers, chunks: new ChunkList() };
      return;
    }
    try {
      this.accept(headers);
    } catch (error) {
      this.stop(ProviderFailure.from(error, this.provider));
    }
    if (!this.#over) this.#onHeaders();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const packed = this.#packedBy(controller);
    if (packed !== null) packed.onResponseData?.(controller, chunk);
    else if (this.#errorResponse === null) {
      if (!this.#over) this.#work(chunk);
    } else if (this.#errorResponse.chunks.size < smallAnswerBytes) {
      this.#errorResponse.chunks.push(chunk);
    } else {
      this.stop(this.#failureIn(this.#errorResponse));
    }
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: ResponseHeaders): void {
    const packed = this.#packedBy(controller);
    if (packed !== null) packed.onResponseEnd?.(controller, trailers);
    if (packed !== null || this.#over) return;
    const response = this.#errorResponse;
    this.#finish(response === null ? () => this.#guardEnd() : () => this.fail(this.#failureIn(response)));
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    const packed = this.#packedBy(controller);
    if (packed !== null) packed.onResponseError?.(controller, error);
    if (packed !== null || this.#over) return;
    const response = this.#errorResponse;
    this.#finish(() => this.fail(response === null ? this.#failureOf(error) : this.#failureIn(response)));
  }

  onRoom(): void {
    this.#hasRoom = true;
    this.#flow();
  }

  /** Whether the consumer accepts more data; overridden by streams. */
  protected get wanted(): boolean {
    return true;
  }

  /** Whether an unwanted answer goes on for its usage; overridden by streams. */
  protected goesOn(_failure: ProviderFailure): boolean {
    return false;
  }

  /** Sets how many bytes of the answer are in memory. */
  protected hold(bytes: number): void {
    this.#hasRoom = this.#room.hold(bytes);
    this.#flow();
  }

  /** Sets whether the client must read before it can take more. */
  protected waitForClient(waits: boolean): void {
    this.#room.waitForClient(waits);
  }

  /** The handler for what comes from a controller; null for this one. */
  #packedBy(controller: Dispatcher.DispatchController): Dispatcher.DispatchHandler | null {
    return controller === this.controller ? null : this.#unpacking;
  }

  /** Resumes or pauses the response. */
  #flow(): void {
    const flows = this.#hasRoom && this.wanted && !this.#rests;
    if (flows === this.#flows) return;
    this.#flows = flows;
    if (flows) this.controller?.resume();
    else this.controller?.pause();
  }

  #work(chunk: Buffer): void {
    const began = monotonicMs();
    try {
      this.data(chunk);
    } catch (error) {
      this.stop(ProviderFailure.from(error, this.provider));
    }
    this.#workedMs += monotonicMs() - began;
    if (this.#workedMs < workMs || this.#rests || this.#over) return;
    this.#rests = true;
    this.#flow();
    const goOn = (): void => {
      this.#workedMs = 0;
      this.#rests = false;
      this.#flow();
    };
    // If too many pieces of the tenant wait, the answer goes on without a turn of its own.
    setImmediate(() => void runCooperatively(this.#room.tenantId, goOn).catch(goOn));
  }

  /** Copies of the request count no longer: they are sent, or the call has ended. Later calls have no effect. */
  dropCopies(): void {
    this.#call.copied?.(0);
    this.#call.copied = undefined;
  }

  /** Closes or prevents the connection to the provider, and reports `failure`. */
  stop(failure: ProviderFailure): void {
    if (this.#over) return;
    // undici starts a request once it has a connection for it.
    this.#finish(() => this.fail(this.controller === null ? failure.asUnsent : failure));
    this.controller?.abort(failure);
  }

  #abort(): void {
    const failure = ProviderFailure.aborted(this.provider, this.#signal);
    if (failure.kind === 'stopped' || !this.goesOn(failure)) this.stop(failure);
  }

  #guardEnd(): void {
    try {
      this.end();
    } catch (error) {
      this.fail(ProviderFailure.from(error, this.provider));
    }
  }

  #finish(report: () => void): void {
    this.#over = true;
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.dropCopies();
    this.#endReads?.();
    report();
  }

  /** The failure with the provider's own message, if the response has one in its format. */
  #failureIn(response: ErrorResponse): ProviderFailure {
    const { headers } = response;
    const responseBody = response.chunks.concat();
    // Before anything is cut off it, so no part of a secret is left.
    const bytes = bytesWithoutSecrets(responseBody, secretsIn(this.#call.proof));
    const reportedStatus = this.format.statusOf?.(response.status, headers) ?? response.status;
    const { words, isError, body } = this.#wordsOf(bytes.toString('utf8'), reportedStatus, headers);
    const ownStatus = keyStatus(reportedStatus, body, headers);
    const refusal = isByTemplate(ownStatus, words.message) ? templateRefusal : null;
    const status = refusal?.status ?? ownStatus;
    const isKept = isError && concernsRequest(status) && responseBody.length < smallAnswerBytes;
    const retryAfterMs = parseRetryAfter(
      single(headers['retry-after']),
      single(headers['retry-after-ms']),
      Date.now(),
    );
    return new ProviderFailure('status', this.provider, {
      // Others may name the account of the platform.
      ...(concernsRequest(status) ? words : { isOverload: words.isOverload }),
      ...(isKept && { body: bytes }),
      ...{ ...refusal, status, absence: absenceIn(status, body, headers) ?? undefined },
      retryAfterMs: retryAfterMs ?? words.retryAfterMs,
    });
  }

  /** `isError`: whether it is JSON with an error in it, and not the HTML page of a proxy, which is of no use to a client. */
  #wordsOf(
    text: string,
    status: number,
    headers: ResponseHeaders,
  ): { words: ProviderError; isError: boolean; body: unknown } {
    const { format } = this;
    try {
      const body: unknown = JSON.parse(text);
      return {
        body,
        words: format.parseError(Object(body) as Fields, status, headers),
        isError: isFields(body) && (format.isError?.(body) ?? isFields(body['error'])),
      };
    } catch {
      return { words: format.parseError({}, status, headers), isError: false, body: null };
    }
  }

  #failureOf(error: Error): ProviderFailure {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
      return new ProviderFailure('timeout', this.provider, { cause: error, code });
    if (unpacking.test(code)) return new ProviderFailure('invalid', this.provider, { cause: error, code });
    // undici starts a request once it has a connection for it.
    const kind = this.controller === null ? 'unreachable' : 'connection';
    return new ProviderFailure(kind, this.provider, { cause: error, code });
  }
}

/** Codes of errors of zlib, brotli and zstd. */
const unpacking = /^(?:Z_|ERR__|ZSTD_)/;

/** A response with a status other than 200. */
interface ErrorResponse {
  status: number;
  headers: ResponseHeaders;
  chunks: ChunkList;
}

function single(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
