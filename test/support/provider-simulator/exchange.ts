import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AnswerFormat } from './answer-format.ts';
import type { Recorder, SimulatorRequest } from './records.ts';

/** The content of a write, for the record. */
export interface Carried {
  chunks: number;
  usage: boolean;
}

/** One request and its response. Records what was actually sent. */
export class Exchange {
  readonly record: SimulatorRequest;
  readonly format: AnswerFormat;
  readonly #response: ServerResponse;
  readonly #recorder: Recorder;
  readonly #isStopping: () => boolean;
  #closed = false;
  #cutting = false;
  /** Whether the unary body contains usage, which counts as delivered when all of it was sent. */
  #usageInBody = false;
  #wake: (() => void) | null = null;

  constructor(
    response: ServerResponse,
    record: SimulatorRequest,
    context: { format: AnswerFormat; recorder: Recorder; isStopping: () => boolean },
  ) {
    this.record = record;
    this.format = context.format;
    this.#response = response;
    this.#recorder = context.recorder;
    this.#isStopping = context.isStopping;
    response.on('close', () => this.#onClose());
    // A write after the client has disconnected is not an error.
    response.on('error', () => undefined);
  }

  /** The connection is closed. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Sends the whole response at once: the fast path of unary responses. */
  respond(status: number, headers: Record<string, string | number>, body: string): void {
    this.#usageInBody = this.record.usage !== null;
    this.record.status = status;
    this.#response.writeHead(status, headers).end(body);
  }

  start(status: number, headers: Record<string, string | number>): void {
    this.record.status = status;
    this.#response.writeHead(status, headers);
  }

  flushHeaders(): void {
    this.#response.flushHeaders();
    this.#recorder.changed(this.record);
  }

  /** Writes without waiting, for small responses without pacing. */
  push(data: string | Buffer, carried: Carried): void {
    this.#write(data, carried, undefined);
  }

  /** Resolves when the operating system has the bytes or the client has disconnected. */
  async write(data: string | Buffer, carried: Carried): Promise<void> {
    if (this.#closed) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#write(data, carried, resolve);
    });
    this.#wake = null;
    this.#recorder.changed(this.record);
  }

  /** Resolves after the time, or at once when the client disconnects. */
  async sleep(milliseconds: number): Promise<void> {
    if (this.#closed || milliseconds <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }

  end(): void {
    if (!this.#closed) this.#response.end();
  }

  /** Destroys the connection after all written bytes have left this process. */
  async cut(): Promise<void> {
    const socket = this.#response.socket;
    while (!this.#closed && (socket?.writableLength ?? 0) > 0) await nextTurn();
    if (this.#closed) return;
    this.#cutting = true;
    socket?.destroy();
  }

  #write(data: string | Buffer, carried: Carried, done: (() => void) | undefined): void {
    this.record.chunks_sent += carried.chunks;
    if (!carried.usage && done === undefined) {
      this.#response.write(data);
      return;
    }
    this.#response.write(data, (error) => {
      if (carried.usage && !(error instanceof Error)) this.record.usage_delivered = true;
      done?.();
    });
  }

  #onClose(): void {
    this.#closed = true;
    const finished = this.#response.writableFinished;
    if (finished && this.#usageInBody) this.record.usage_delivered = true;
    if (finished || this.#cutting) this.record.finished_at = Date.now();
    else if (!this.#isStopping()) this.record.client_closed_at = Date.now();
    this.#wake?.();
    this.#recorder.settled(this.record);
  }
}
