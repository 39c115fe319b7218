import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import { randomBase62 } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import {
  deleteOldDeletions,
  forgetDeadLetters,
  forgetTraces,
  forgetUsage,
  noteDeletion,
  type ForgottenUser,
} from '../store/forget-system-store.ts';

/** Longer than a statement that stores events, from its check for deletions to its commit. */
const settleMs = 10_000;
/** How long one call works. */
const workMs = 2_000;
const everyMs = 3_600_000;

export interface UserDeletion extends ForgottenUser {
  /** Milliseconds since the epoch. */
  requestedAtMs: number;
}

export interface Forgotten {
  traces: number;
  /** Whether all stored runs are done and no late one can come. */
  completed: boolean;
}

/**
 * Removes users whose data were deleted: runs that began before that lose their texts and get a random pseudonym as
 * their user, so that amounts and counts of users stay. `ingest/` treats events that come later.
 */
export class ForgottenUsers {
  readonly #pool: Pool;
  readonly #settleMs: number;
  readonly #cleaning: PeriodicWork;

  /** `pool` acts as `analytics_system`. */
  constructor(options: { pool: Pool; log: Logger; settleMs?: number | undefined }) {
    const { pool, log } = options;
    this.#pool = pool;
    this.#settleMs = options.settleMs ?? settleMs;
    this.#cleaning = new PeriodicWork({
      task: 'delete old records of deletions',
      log,
      everyMs,
      round: async () => {
        await deleteOldDeletions(pool);
        return false;
      },
    });
  }

  start(): void {
    this.#cleaning.start();
  }

  async stop(): Promise<void> {
    await this.#cleaning.stop();
  }

  /** Works for two seconds at most. May be repeated, also by several callers, and must be until it is completed. */
  async forget({ requestedAtMs, ...user }: UserDeletion): Promise<Forgotten> {
    const until = monotonicMs() + workMs;
    // As random as it gets: nothing leads from it to the user.
    const pseudonym = `forgotten-${randomBase62(22)}`;
    await noteDeletion(this.#pool, user, { requestedAtMs, pseudonym });
    await forgetDeadLetters(this.#pool, user);
    let traces = 0;
    for (let more = true; more && monotonicMs() < until;) {
      const batch = await forgetTraces(this.#pool, user, this.#settleMs);
      traces += batch.changed;
      ({ more } = batch);
    }
    let completed = false;
    for (let more = true; more && monotonicMs() < until;)
      ({ more, done: completed } = await forgetUsage(this.#pool, user));
    return { traces, completed };
  }
}
