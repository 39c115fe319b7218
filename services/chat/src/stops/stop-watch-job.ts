import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool, PoolClient } from '@gatehouse/pg/pool';
import type { RunStops } from './run-stops.ts';
import { listenToStops, readChangedStops, readStops } from './stop-system-store.ts';
import { watchStopsMs } from '../bounds.ts';

/**
 * Follows the stops of all replicas over one session: a notification announces each, and a read every second finds what a
 * lost notification would hide. A new session reads all stops.
 */
export class StopWatch {
  readonly #options: { pool: Pool; stops: RunStops; log: Logger };
  readonly #loop: BackgroundLoop;
  #client: PoolClient | null = null;

  /** `pool` acts as `chat_system`, and has one connection. */
  constructor(options: { pool: Pool; stops: RunStops; log: Logger }) {
    this.#options = options;
    this.#loop = new BackgroundLoop(() => this.#round(), {
      pauseMs: watchStopsMs,
      report: (err) => {
        this.#close();
        options.log.warn({ err }, 'failed to read which runs are stopped; retrying');
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
    const { pool, stops } = this.#options;
    if (this.#client !== null) {
      stops.apply(await readChangedStops(this.#client));
      return watchStopsMs;
    }
    this.#client = await pool.connect();
    await listenToStops(this.#client, () => this.#loop.wake());
    for await (const some of readStops(this.#client)) stops.apply(some);
    return watchStopsMs;
  }

  #close(): void {
    this.#client?.release(true);
    this.#client = null;
  }
}
