import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';

export interface ThreadTurnsOptions {
  threads: number;
  /** Beyond that, work is refused. */
  maxWaiting: number;
  /** The same for the work of one tenant, so that it takes not all places. Default: `maxWaiting`. */
  maxWaitingPerTenant?: number | undefined;
}

const pauseMs = 50;

/** Gives out a few threads: one to a tenant at a time, and in order among tenants. */
export class ThreadTurns {
  readonly #options: ThreadTurnsOptions;
  /** Tenants that have a thread. */
  readonly #busy = new Set<string>();
  readonly #waiting: { tenantId: string; start: () => void }[] = [];

  constructor(options: ThreadTurnsOptions) {
    this.#options = options;
  }

  /** Throws `service_unavailable` when too many wait. */
  async run<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(tenantId);
    try {
      return await work();
    } finally {
      this.#busy.delete(tenantId);
      this.#startNext();
    }
  }

  /** Resolves when more may wait. */
  async untilFree(): Promise<void> {
    while (this.#waiting.length >= this.#options.maxWaiting) await sleep(pauseMs);
  }

  async #turn(tenantId: string): Promise<void> {
    const { maxWaiting, maxWaitingPerTenant = maxWaiting } = this.#options;
    const own = this.#waiting.filter((waiting) => waiting.tenantId === tenantId).length;
    if (this.#waiting.length >= maxWaiting || own >= maxWaitingPerTenant)
      throw new AppError('service_unavailable', 'Too much work waits for a thread. Try again shortly.', {
        headers: { 'retry-after': '1' },
      });
    await new Promise<void>((resolve) => {
      this.#waiting.push({ tenantId, start: resolve });
      this.#startNext();
    });
  }

  #startNext(): void {
    if (this.#busy.size >= this.#options.threads) return;
    const index = this.#waiting.findIndex(({ tenantId }) => !this.#busy.has(tenantId));
    const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (next === undefined) return;
    this.#busy.add(next.tenantId);
    next.start();
    this.#startNext();
  }
}
