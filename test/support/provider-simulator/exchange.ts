import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Recorder, SimulatorRequest } from './records.ts';

/** What a write carries, for the record. */
export interface Carried {
  chunks: number;
  usage: boolean;
}

/** One request and its answer on the wire; keeps the record true to what really went out. */
export class Exchange {
  readonly record: SimulatorRequest;
  readonly #response: ServerResponse;
  readonly #recorder: Recorder;
  readonly #isStopping: () => boolean;
  #closed = false;
  #cutting = false;
  /** The unary body carries the usage: delivered once all of it is. */
  #usageInBody = false;
  #wake: (() => void) | null = null;

  constructor(
    response: ServerResponse,
    record: SimulatorRequest,
    context: { recorder: Recorder; isStopping: () => boolean },
  ) {
    this.record = record;
    this.#response = response;
    this.#recorder = context.recorder;
    this.#isStopping = context.isStopping;
    response.on('close', () => this.#onClose());
    // A write that loses the race against the client's leaving is the client's business, not an error.
    response.on('error', () => undefined);
  }

  /** Nobody listens any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** The whole answer at once: the fast path of unary answers. */
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

  /** Writes without waiting: for answers that are bounded and not paced. */
  push(data: string | Buffer, carried: Carried): void {
    this.#write(data, carried, undefined);
  }

  /** Resolves when the bytes were handed to the operating system or the client has gone. */
  async write(data: string | Buffer, carried: Carried): Promise<void> {
    if (this.#closed) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#write(data, carried, resolve);
    });
    this.#wake = null;
    this.#recorder.changed(this.record);
  }

  /** Resolves after the time, or at once when the client goes. */
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

  /** Destroys the connection, after what was written has left this process. */
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
