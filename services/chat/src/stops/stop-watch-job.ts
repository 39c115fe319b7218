import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { databaseUnavailable } from '@gatehouse/pg/errors';
import type { Pool, PoolClient } from '@gatehouse/pg/pool';
import type { RunStops } from './run-stops.ts';
import { listenToStops, readChangedStops, readStops } from './stop-system-store.ts';
import { longestStopGapMs, watchStopsMs } from '../bounds.ts';

const failure = 'failed to read which runs are stopped; retrying';

/**
 * Follows the stops of all replicas over one session: a notification announces each, and a read every second finds what a
 * lost notification would hide. No request is admitted from the loss of a session until a new one has read all stops.
 */
export class StopWatch {
  readonly #options: { pool: Pool; stops: RunStops; log: Logger };
  readonly #loop: BackgroundLoop;
  #client: PoolClient | null = null;
  /** The beginning of the last read, by the monotonic clock. */
  #readAt = 0;

  /** `pool` acts as `chat_system`, and has one connection. */
  constructor(options: { pool: Pool; stops: RunStops; log: Logger }) {
    this.#options = options;
    this.#loop = new BackgroundLoop(() => this.#round(), {
      pauseMs: watchStopsMs,
      report: (err) => {
        this.#close();
        options.stops.refuse(databaseUnavailable(err));
        options.log.warn({ err }, failure);
      },
    });
  }

  /** No request is served before the stops in force are known. */
  async start(): Promise<void> {
    await this.#round();
    this.#loop.start(watchStopsMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#close();
    await this.#options.pool.end();
  }

  async #round(): Promise<number> {
    const readAt = monotonicMs();
    if (!(await this.#readsChanges(readAt))) await this.#readAll();
    this.#readAt = readAt;
    return watchStopsMs;
  }

  /** False without a session, or after too long a gap. */
  async #readsChanges(now: number): Promise<boolean> {
    if (this.#client === null || now - this.#readAt > longestStopGapMs) return false;
    try {
      this.#options.stops.apply(await readChangedStops(this.#client));
      return true;
    } catch (err) {
      this.#options.log.warn({ err }, failure);
      return false;
    }
  }

  /** Replaces the session. */
  async #readAll(): Promise<void> {
    const { pool, stops } = this.#options;
    this.#close();
    stops.lose();
    const client = await pool.connect();
    this.#client = client;
    client.once('end', () => {
      if (this.#client !== client) return;
      this.#close();
      stops.lose();
      this.#loop.wake();
    });
    await listenToStops(client, () => this.#loop.wake());
    for await (const some of readStops(client)) stops.apply(some);
    stops.restore();
  }

  #close(): void {
    const client = this.#client;
    this.#client = null;
    client?.release(true);
  }
}
