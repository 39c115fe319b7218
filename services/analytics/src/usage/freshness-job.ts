import { monotonicMs } from '@gatehouse/kit/clock';
import { gauge, type Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { FreshnessStore } from './freshness-system-store.ts';
import { TransactionAge } from './transaction-age.ts';

const everyMs = 5_000;

/**
 * Measures how stale the answers are: `traces/follow` because of a long transaction anywhere in the database cluster,
 * the summaries because of events still to arrive. Runs of waiting folds make summaries slow.
 */
export class Freshness {
  readonly #store: FreshnessStore;
  readonly #age = new TransactionAge();
  readonly #followLag: Gauge;
  readonly #usageLag: Gauge;
  readonly #foldsWaiting: Gauge;
  #timer: NodeJS.Timeout | undefined;
  #measuring: Promise<void> = Promise.resolve();

  constructor(store: FreshnessStore, registry: Registry) {
    this.#store = store;
    this.#followLag = gauge(
      registry,
      'gatehouse_follow_xmin_lag_seconds',
      'How long the oldest running transaction of the cluster has delayed changes in follow; NaN when unknown',
    );
    this.#usageLag = gauge(
      registry,
      'gatehouse_usage_lag_seconds',
      'Age of as_of, the time up to which every run is counted; NaN when unknown',
    );
    this.#foldsWaiting = gauge(
      registry,
      'gatehouse_folds_waiting',
      'Closed folds of runs that are in no roll-up yet; NaN when unknown',
    );
    this.#unknown();
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
      this.#followLag.set(this.#age.see(await this.#store.readHorizon(), monotonicMs()) / 1_000);
      this.#usageLag.set((await this.#store.usageLagSeconds()) ?? NaN);
      this.#foldsWaiting.set(await this.#store.countWaitingFolds());
    } catch {
      // The database is unavailable. Readiness and the log of the pool report it.
      this.#unknown();
    }
  }

  #unknown(): void {
    this.#followLag.set(NaN);
    this.#usageLag.set(NaN);
    this.#foldsWaiting.set(NaN);
  }
}
