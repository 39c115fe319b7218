import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import { sleep } from '@gatehouse/kit/clock';
import { beforeFirst } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { retentionSuccess, type Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import { deleteToldRuns } from '../store/retention-system-store.ts';

/** Time for a person to look at a run where it was made. */
const keepDays = 3;

export interface RetentionTimes {
  /** From the start to the first sweep, at most; half of it at least, as for the others. */
  firstMs: number;
  /** From one sweep to the next. */
  everyMs: number;
}

const defaultTimes: RetentionTimes = { firstMs: 60_000, everyMs: 3_600_000 };
/** Measured with an attempt for each run, and `fsync`: 6 ms, 10 ms for 1,000. */
const defaultBatchSize = 500;
/** Between two batches: requests go first. */
const pauseMs = 50;

/** Deletes runs that analytics has long been told of. Every replica runs one; a batch is one replica's. */
export class Retention {
  readonly #pool: Pool;
  readonly #log: Logger;
  readonly #times: RetentionTimes;
  readonly #batchSize: number;
  readonly #success: Gauge;
  readonly #loop = new BackgroundLoop(() => this.#round());

  constructor(options: {
    pool: Pool;
    log: Logger;
    registry: Registry;
    times?: Partial<RetentionTimes> | undefined;
    /** Runs that one transaction looks at. */
    batchSize?: number | undefined;
  }) {
    this.#pool = options.pool;
    this.#log = options.log;
    this.#times = { ...defaultTimes, ...options.times };
    this.#batchSize = options.batchSize ?? defaultBatchSize;
    this.#success = retentionSuccess(options.registry);
  }

  start(): void {
    this.#loop.start(jittered(this.#times.firstMs));
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** All runs once. Returns how many were deleted. */
  async sweep(): Promise<number> {
    let deleted = 0;
    for (let after: string | null = beforeFirst; after !== null;) {
      const batch = await deleteToldRuns(this.#pool, {
        olderThanDays: keepDays,
        limit: this.#batchSize,
        after,
      });
      deleted += batch.runs;
      after = batch.last;
      if (after !== null) await sleep(pauseMs, this.#loop.signal);
    }
    return deleted;
  }

  async #round(): Promise<number> {
    await this.sweep().then(
      (runs) => {
        this.#success.setToCurrentTime();
        this.#log.debug({ runs }, 'deleted runs that were told of days ago');
      },
      (error: unknown) => this.#report(error),
    );
    return jittered(this.#times.everyMs);
  }

  #report(error: unknown): void {
    if (this.#loop.signal.aborted) return;
    this.#log.warn({ err: error }, 'old runs could not be deleted; it is tried again');
  }
}
