import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';

/** Of each kind and tenant. */
const maxQueued = 10_000;
/** Counting takes milliseconds when many wait, so a tenant may exceed the number by what arrives in that time. */
const countedForMs = 1_000;
const maxTenants = 10_000;

/** Whether a tenant may queue further work of one kind: `async` calls, or messages of channels. */
export class QueueRoom {
  readonly #hasQueued: (tenantId: string, count: number) => Promise<boolean>;
  readonly #counted = new Map<string, { isFull: boolean; until: number }>();

  readonly #what: string;

  /** `what` waits, in the plural. */
  constructor(what: string, hasQueued: (tenantId: string, count: number) => Promise<boolean>) {
    this.#what = what;
    this.#hasQueued = hasQueued;
  }

  /** Throws `rate_limit_exceeded` if too much of the tenant waits. */
  async assert(tenantId: string): Promise<void> {
    if (await this.#isFull(tenantId))
      throw new AppError('rate_limit_exceeded', `${maxQueued} ${this.#what} of the tenant wait.`, {
        headers: retryAfterHeaders(60_000),
      });
  }

  async #isFull(tenantId: string): Promise<boolean> {
    const known = this.#counted.get(tenantId);
    if (known !== undefined && monotonicMs() < known.until) return known.isFull;
    const isFull = await this.#hasQueued(tenantId, maxQueued);
    this.#counted.delete(tenantId);
    this.#counted.set(tenantId, { isFull, until: monotonicMs() + countedForMs });
    const [oldest] = this.#counted.keys();
    if (this.#counted.size > maxTenants && oldest !== undefined) this.#counted.delete(oldest);
    return isFull;
  }
}
