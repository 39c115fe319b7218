import { readClock } from '@gatehouse/events/store/relay-store';
import { monotonicMs } from '@gatehouse/kit/clock';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import { TransactionAge } from './domain/transaction-age.ts';

const everyMs = 5_000;

/** Measures how far `follow` is behind because of a transaction somewhere in the cluster that does not end. */
export class FollowLag {
  readonly #pool: Pool;
  readonly #age = new TransactionAge();
  readonly #gauge: Gauge;
  #timer: NodeJS.Timeout | undefined;
  #measuring: Promise<void> = Promise.resolve();

  constructor(pool: Pool, registry: Registry) {
    this.#pool = pool;
    this.#gauge = new Gauge({
      name: 'gatehouse_follow_xmin_lag_seconds',
      help: 'How long the oldest running transaction of the cluster has held back what follow shows; NaN when unknown',
      registers: [registry],
    });
    this.#gauge.set(NaN);
  }

  start(): void {
    const measure = (): void => {
      this.#measuring = this.#measure();
    };
    measure();
    this.#timer = setInterval(measure, everyMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#measuring;
  }

  async #measure(): Promise<void> {
    try {
      const { oldestRunning: oldest, nextTransaction: next } = await readClock(this.#pool);
      this.#gauge.set(this.#age.see({ oldest, next }, monotonicMs()) / 1_000);
    } catch {
      // The database is away, which readiness and others' logs tell.
      this.#gauge.set(NaN);
    }
  }
}
