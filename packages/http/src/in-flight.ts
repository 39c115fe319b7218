import { AppError } from '@gatehouse/kit/errors';

/** Limits the requests of one tenant that are in flight at once. */
export class InFlight {
  readonly #max: number;
  /** Holds tenants with requests in flight only. All owner keys share the entry `null`. */
  readonly #counts = new Map<string | null, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Runs `work`; throws 429 `rate_limit_exceeded` when the tenant has too many requests in flight. */
  async run<Result>(tenantId: string | null, work: () => Promise<Result>): Promise<Result> {
    const count = this.#counts.get(tenantId) ?? 0;
    if (count >= this.#max) throw tooMany();
    this.#counts.set(tenantId, count + 1);
    try {
      return await work();
    } finally {
      const left = (this.#counts.get(tenantId) ?? 0) - 1;
      if (left > 0) this.#counts.set(tenantId, left);
      else this.#counts.delete(tenantId);
    }
  }

  /** Tenants with requests in flight. */
  get size(): number {
    return this.#counts.size;
  }
}

function tooMany(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    'Too many requests to read data are in flight. Try again in 1 s.',
    {
      headers: { 'retry-after': '1', 'retry-after-ms': '1000' },
    },
  );
}
