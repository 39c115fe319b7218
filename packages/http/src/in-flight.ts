import { tooManyInFlight } from '@gatehouse/kit/retry-after';

export interface InFlightOptions {
  /** Requests of one tenant that are processed at the same time. */
  max: number;
  /** Further requests of that tenant that wait; more are refused. */
  maxWaiting: number;
}

interface Turns {
  running: number;
  /** Callbacks that start waiting requests, in order of arrival. */
  waiting: (() => void)[];
}

/**
 * Limits the number of requests of one tenant that are processed at the same time. Further requests of that tenant
 * wait; other tenants are not affected.
 */
export class InFlight {
  readonly #options: InFlightOptions;
  /** Contains only tenants with requests in flight. All owner keys share the entry `null`. */
  readonly #tenants = new Map<string | null, Turns>();

  constructor(options: InFlightOptions) {
    this.#options = options;
  }

  /** Runs `work` when a slot is free. Throws 429 `rate_limit_exceeded` when too many requests of the tenant wait. */
  async run<Result>(tenantId: string | null, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#tenants.get(tenantId) ?? { running: 0, waiting: [] };
    this.#tenants.set(tenantId, turns);
    if (turns.running < this.#options.max) turns.running += 1;
    else await this.#turn(turns);
    try {
      return await work();
    } finally {
      // Passes the slot to the next waiting request.
      const next = turns.waiting.shift();
      if (next === undefined) turns.running -= 1;
      else next();
      if (turns.running === 0) this.#tenants.delete(tenantId);
    }
  }

  /** The number of tenants with requests in flight. */
  get size(): number {
    return this.#tenants.size;
  }

  async #turn({ waiting }: Turns): Promise<void> {
    if (waiting.length >= this.#options.maxWaiting) throw tooManyInFlight();
    await new Promise<void>((resolve) => waiting.push(resolve));
  }
}
