import { settledWithin } from '@gatehouse/kit/clock';
import { createPool, type Pool, type PoolOptions } from './pool.ts';

export interface DatabaseCheckOptions extends Omit<PoolOptions, 'max'> {
  /** Shorter than the two seconds that a platform should wait for an answer about readiness. */
  answerTimeoutMs?: number;
}

/**
 * Whether the database answers, and soon: what readiness asks, over a connection of its own. Behind the service's work
 * a busy replica would seem to be without its database, and the others would get its requests on top of theirs.
 */
export class DatabaseCheck {
  readonly #pool: Pool;
  readonly #answerTimeoutMs: number;
  #asking: Promise<boolean> | null = null;

  constructor({ answerTimeoutMs = 1_500, ...options }: DatabaseCheckOptions) {
    this.#pool = createPool({ ...options, max: 1 });
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  /** However often it is asked, one statement at most waits for a database that hangs. */
  async answers(): Promise<boolean> {
    let answered = false;
    this.#asking ??= this.#ask();
    await settledWithin(
      this.#asking.then((answer) => (answered = answer)),
      this.#answerTimeoutMs,
    );
    return answered;
  }

  async stop(): Promise<void> {
    await this.#pool.end();
  }

  async #ask(): Promise<boolean> {
    try {
      await this.#pool.query('select 1');
      return true;
    } catch {
      return false;
    } finally {
      this.#asking = null;
    }
  }
}
