import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';

/** `async` calls of a tenant that have not finished. */
const maxQueued = 10_000;
/** Counting takes milliseconds when many wait, so a tenant may exceed the number by what arrives in that time. */
const countedForMs = 1_000;
const maxTenants = 10_000;

/** Whether a tenant may queue further calls. */
export class QueueRoom {
  readonly #hasQueued: (tenantId: string, count: number) => Promise<boolean>;
  readonly #counted = new Map<string, { isFull: boolean; until: number }>();

  constructor(hasQueued: (tenantId: string, count: number) => Promise<boolean>) {
    this.#hasQueued = hasQueued;
  }

  /** Throws `rate_limit_exceeded` if too many calls of the tenant wait. */
  async assert(tenantId: string): Promise<void> {
    if (await this.#isFull(tenantId))
      throw new AppError(
        'rate_limit_exceeded',
        `${maxQueued} deliveries of the tenant wait for their results.`,
        {
          headers: retryAfterHeaders(60_000),
        },
      );
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
