import { settledWithin } from '@gatehouse/kit/clock';
import { createPool, type Pool, type PoolOptions } from './pool.ts';

export interface DatabaseCheckOptions extends Omit<PoolOptions, 'max' | 'name' | 'idleTimeoutMs'> {
  /** The service to check the readiness of. */
  service: string;
  /** Default: 1,500 ms, shorter than the 2 s for a platform to wait for the readiness probe. */
  answerTimeoutMs?: number;
}

/** The name of these connections: each replica of a service has one. */
export const checkName = (service: string): string => `gatehouse ${service} readiness`;

/**
 * Checks the database for the readiness probe, over a separate connection. On a shared pool the check would queue
 * behind the work of a busy replica, which would then seem unready and pass its load to the others.
 */
export class DatabaseCheck {
  readonly #pool: Pool;
  readonly #answerTimeoutMs: number;
  #pending: Promise<boolean> | null = null;

  constructor({ answerTimeoutMs = 1_500, service, ...options }: DatabaseCheckOptions) {
    // It stays open, since the operator's view counts replicas by it.
    this.#pool = createPool({ ...options, max: 1, name: checkName(service), idleTimeoutMs: 0 });
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  /** Concurrent calls share one statement, so at most one waits on a hanging database. */
  async answers(): Promise<boolean> {
    let answered = false;
    this.#pending ??= this.#ask();
    await settledWithin(
      this.#pending.then((answer) => (answered = answer)),
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
      this.#pending = null;
    }
  }
}
