import type { ServerResponse } from 'node:http';
import type { AppError } from '@gatehouse/kit/errors';
import { errorEvent } from '@gatehouse/http/dialect-error';
import type { Dialect, FrameSink, StreamFollower } from '@gatehouse/dialects/dialect';
import { GrowingArray } from '@gatehouse/dialects/wire/json-array';

/** After so much silence of a provider, the client gets a sign of life, so no proxy closes the connection. */
export const keepAliveMs = 15_000;

/** A dialect as far as its streams differ from others. */
type StreamDialect = Pick<Dialect, 'name' | 'keepAlive' | 'follower'>;

export interface ClientStreamOptions {
  dialect: StreamDialect;
  /** The headers of the response, when it begins. */
  headers: () => Record<string, string>;
  silenceMs: number;
  /** Whether the client gets a JSON array of the data in place of events. */
  asArray?: boolean | undefined;
}

/** Writes a stream to a client. */
export class ClientStream implements FrameSink {
  readonly #response: ServerResponse;
  readonly #dialect: StreamDialect;
  readonly #follower: StreamFollower | null;
  readonly #array: GrowingArray | null;
  readonly #keepAlive: NodeJS.Timeout;
  readonly #headers: () => Record<string, string>;
  #begun = false;

  /** Silence counts from now on; the response begins with the first byte for the client, which may be a sign of life. */
  constructor(
    response: ServerResponse,
    { dialect, headers, silenceMs, asArray = false }: ClientStreamOptions,
  ) {
    this.#response = response;
    this.#dialect = dialect;
    this.#follower = dialect.follower?.() ?? null;
    this.#array = asArray ? new GrowingArray() : null;
    this.#headers = headers;
    this.#keepAlive = setTimeout(() => {
      this.#send([this.#array === null ? dialect.keepAlive : GrowingArray.keepAlive]);
      this.#keepAlive.refresh();
    }, silenceMs);
  }

  /** Whether a frame of an answer was sent, after which no other provider call can take this one's place. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Whether the client has the status 200, so an error must be an event. */
  get headSent(): boolean {
    return this.#response.headersSent;
  }

  /** Sends frames, as they are unless the client gets an array. Returns false if it reads more slowly than they come. */
  write(frames: readonly Buffer[]): boolean {
    this.#follower?.see(frames);
    this.#begun ||= frames.length > 0;
    return this.#send(this.#array?.add(frames) ?? frames);
  }

  /** Ends a complete stream. */
  finish(lastFrames: readonly Buffer[]): void {
    clearTimeout(this.#keepAlive);
    if (this.#response.destroyed) return;
    this.#begin();
    this.#response.end(this.#ended(lastFrames));
  }

  /** Ends a cut stream with the error as an event and a normal close. A reset would lose the message. */
  fail(error: AppError, requestId: string): void {
    clearTimeout(this.#keepAlive);
    if (this.#response.destroyed) return;
    this.#begin();
    const last = Buffer.from(errorEvent(this.#dialect.name, error, requestId, this.#follower?.place));
    this.#response.end(this.#ended([last]));
  }

  /** Stops the keep-alive without sending anything. */
  abandon(): void {
    clearTimeout(this.#keepAlive);
  }

  onDrain(listener: () => void): void {
    this.#response.on('drain', listener);
  }

  #send(pieces: readonly Buffer[]): boolean {
    const [only] = pieces;
    if (only === undefined || this.#response.destroyed) return true;
    this.#begin();
    this.#keepAlive.refresh();
    return this.#response.write(pieces.length === 1 ? only : Buffer.concat(pieces));
  }

  #ended(lastFrames: readonly Buffer[]): Buffer {
    return Buffer.concat(
      this.#array === null ? lastFrames : [...this.#array.add(lastFrames), this.#array.end()],
    );
  }

  #begin(): void {
    if (this.#response.headersSent) return;
    const headers = this.#headers();
    headers['content-type'] = this.#array === null ? 'text/event-stream' : 'application/json';
    headers['cache-control'] = 'no-cache';
    headers['x-accel-buffering'] = 'no';
    this.#response.writeHead(200, headers);
  }
}
