import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '@gatehouse/kit/log';

/** A statement as a sign of life of this process. Its values are copied to the thread. */
export interface Beat {
  text: string;
  values: readonly unknown[];
}

export interface HeartbeatOptions<Row> {
  /** `postgres://` URL of the service's login role; the thread has one connection of its own, as `role`. */
  url: string;
  role: string;
  /** The service, for the lines the thread logs by itself. */
  service: string;
  log: Logger;
  everyMs: number;
  /** Until the next beat after a failed one, since silence counts as death. */
  retryMs: number;
  /** The rows a beat returned; called late while the event loop is busy, but for every beat. */
  onBeat?: (rows: readonly Row[]) => void;
  /** For tests. */
  stuckAfterMs?: number;
}

/** The data of the thread at its start. */
export interface ThreadData extends Required<
  Pick<HeartbeatOptions<never>, 'url' | 'role' | 'service' | 'everyMs' | 'retryMs' | 'stuckAfterMs'>
> {
  level: string;
  /** Grows while the event loop of the process turns. */
  pulse: SharedArrayBuffer;
}

/** To the thread: the statement from now on, with a number; or the end. */
export type ToThread = { number: number; beat: Beat | null } | 'stop';
/** From the thread: the rows of the statement with this number. */
export interface FromThread {
  number: number;
  rows: readonly unknown[];
}

/**
 * A loop standing still for longer is stuck for good: no bound of the gateway allows a stall of a tenth of it, and
 * Kubernetes restarts the container by then (`livenessProbe`). Then its work is better done elsewhere (ADR 46).
 */
const stuckAfterMs = 60_000;
const pulseMs = 1_000;
const restartMs = 1_000;
const longestStopMs = 1_000;
/** A heap the client of the database and a few rows never fill. The young part by itself would grow to 48 MiB. */
const heap = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };
const file = path.join(import.meta.dirname, `heartbeat-thread${path.extname(import.meta.filename)}`);

/**
 * Sends a statement every few seconds from a thread with its own connection, so a busy event loop does not look like a
 * dead process to other replicas. The thread goes silent when the loop is stuck.
 */
export class Heartbeat<Row> {
  readonly #options: HeartbeatOptions<Row>;
  readonly #pulse = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  #thread: Worker | undefined;
  #restart: NodeJS.Timeout | undefined;
  #pulsing: NodeJS.Timeout | undefined;
  #message: Exclude<ToThread, 'stop'> = { number: 0, beat: null };
  #stopped = false;

  constructor(options: HeartbeatOptions<Row>) {
    this.#options = options;
  }

  /** The first beat is sent after `everyMs`. */
  start(): void {
    const pulse = new Int32Array(this.#pulse);
    this.#pulsing = setInterval(() => Atomics.add(pulse, 0, 1), pulseMs);
    this.#begin();
  }

  /** Replaces the statement; null for no statement. Rows of the one before are not reported any more. */
  set(beat: Beat | null): void {
    this.#message = { number: this.#message.number + 1, beat };
    this.#thread?.postMessage(this.#message satisfies ToThread);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#pulsing);
    clearTimeout(this.#restart);
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    thread.postMessage('stop' satisfies ToThread);
    const late = setTimeout(() => void thread.terminate(), longestStopMs);
    await ended;
    clearTimeout(late);
  }

  #begin(): void {
    const { url, role, service, log, everyMs, retryMs } = this.#options;
    const thread = new Worker(file, {
      workerData: {
        ...{ url, role, service, everyMs, retryMs, level: log.level, pulse: this.#pulse },
        stuckAfterMs: this.#options.stuckAfterMs ?? stuckAfterMs,
      } satisfies ThreadData,
      resourceLimits: heap,
    });
    this.#thread = thread;
    thread.on('message', (message: FromThread) => this.#take(message));
    thread.on('error', (error) => log.error({ err: error }, 'the thread of heartbeats failed'));
    thread.on('exit', () => {
      this.#thread = undefined;
      if (this.#stopped) return;
      log.error('the thread of heartbeats ended; starting another one');
      this.#restart = setTimeout(() => this.#begin(), restartMs);
    });
    thread.postMessage(this.#message satisfies ToThread);
  }

  #take({ number, rows }: FromThread): void {
    if (number === this.#message.number) this.#options.onBeat?.(rows as readonly Row[]);
  }
}
