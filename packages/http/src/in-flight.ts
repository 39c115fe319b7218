import { AppError } from '@gatehouse/kit/errors';

export interface InFlightOptions {
  /** Requests of one tenant that are worked on at once. */
  max: number;
  /** Further requests of that tenant that wait for their turn; more are refused. */
  maxWaiting: number;
}

interface Turns {
  running: number;
  /** Start the requests that wait, in their order. */
  waiting: (() => void)[];
}

/** Limits the requests of one tenant that are worked on at once: others of that tenant wait, and other tenants don't. */
export class InFlight {
  readonly #options: InFlightOptions;
  /** Holds tenants with requests in flight only. All owner keys share the entry `null`. */
  readonly #tenants = new Map<string | null, Turns>();

  constructor(options: InFlightOptions) {
    this.#options = options;
  }

  /** Runs `work` in its turn; throws 429 `rate_limit_exceeded` when the tenant has too many requests waiting. */
  async run<Result>(tenantId: string | null, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#tenants.get(tenantId) ?? { running: 0, waiting: [] };
    this.#tenants.set(tenantId, turns);
    if (turns.running < this.#options.max) turns.running += 1;
    else await this.#turn(turns);
    try {
      return await work();
    } finally {
      // The turn goes over to the next one that waits.
      const next = turns.waiting.shift();
      if (next === undefined) turns.running -= 1;
      else next();
      if (turns.running === 0) this.#tenants.delete(tenantId);
    }
  }

  /** Tenants with requests in flight. */
  get size(): number {
    return this.#tenants.size;
  }

  async #turn({ waiting }: Turns): Promise<void> {
    if (waiting.length >= this.#options.maxWaiting) throw tooMany();
    await new Promise<void>((resolve) => waiting.push(resolve));
  }
}

function tooMany(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    'Too many requests to read data are in flight. Try again in 1 s.',
    { headers: { 'retry-after': '1', 'retry-after-ms': '1000' } },
  );
}
