import { AppError } from '@gatehouse/kit/errors';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import { maxQueued } from '../bounds.ts';

/** Whether a tenant may queue further work of one kind: `async` calls, or messages of channels. */
export class QueueRoom {
  readonly #hasQueued: (tenantId: string, count: number) => Promise<boolean>;
  readonly #counted = new OutageCache<boolean>({
    max: 10_000,
    freshMs: 1_000,
    // An outage is the caller's to see.
    outageMs: 0,
    isOutage: () => false,
  });
  readonly #what: string;

  /** `what` waits, in the plural. */
  constructor(what: string, hasQueued: (tenantId: string, count: number) => Promise<boolean>) {
    this.#what = what;
    this.#hasQueued = hasQueued;
  }

  /** Throws `rate_limit_exceeded` if too much of the tenant waits. */
  async assert(tenantId: string): Promise<void> {
    if (await this.#counted.get(tenantId, () => this.#hasQueued(tenantId, maxQueued)))
      throw new AppError('rate_limit_exceeded', `${maxQueued} ${this.#what} of the tenant wait.`, {
        retryAfterMs: 60_000,
      });
  }
}
