import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { hourMs, retryMs as defaultRetryMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import type { PartitionStore } from './partition-system-store.ts';

const task = 'create partitions of traces';
const everyMs = 6 * hourMs;
/** The current month, the next two, and the last one for late events. */
const months = [0, 1, 2, -1];

/** Creates the monthly partitions of traces well before their month begins. */
export class Partitions {
  readonly #store: PartitionStore;
  readonly #log: Logger;
  readonly #retryMs: number;
  readonly #work: PeriodicWork;

  /** `retryMs`: after a failure, 10 s. */
  constructor(store: PartitionStore, log: Logger, retryMs = defaultRetryMs) {
    this.#store = store;
    this.#log = log;
    this.#retryMs = retryMs;
    this.#work = new PeriodicWork({ task, log, everyMs, retryMs, round: () => this.#ensure() });
  }

  /** Throws only when this month's partition is missing and can't be created. */
  async start(): Promise<void> {
    try {
      await this.#ensure();
      this.#work.start();
    } catch (error) {
      if (!(await this.#store.hasPartition(firstDay(0)))) throw error;
      this.#log.warn({ err: error }, `failed to ${task}`);
      this.#work.start(this.#retryMs);
    }
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  async #ensure(): Promise<false> {
    for (const offset of months) await this.#store.ensurePartition(firstDay(offset));
    return false;
  }
}

/** The first day of the month `offset` months from now: `2026-11-01`. */
function firstDay(offset: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1)).toISOString().slice(0, 10);
}
