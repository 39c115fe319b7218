import { AppError } from '@gatehouse/kit/errors';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';

export interface SlotLimits {
  perTenant: number;
  perProcess: number;
  /** The work that takes the slots, for error messages: `imports`. */
  what: string;
}

/** Limits long requests: beyond the limit they are refused instead of waiting. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #tenants = new Map<string, number>();
  #total = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Runs `work` in a slot. Throws 429 when the tenant has no free slot, and 503 when the process has none. */
  async run<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result> {
    const { perTenant, perProcess, what } = this.#limits;
    const own = this.#tenants.get(tenantId) ?? 0;
    if (own >= perTenant)
      throw refusal('rate_limit_exceeded', `Too many ${what} of this tenant are under way.`);
    if (this.#total >= perProcess) throw refusal('service_unavailable', `Too many ${what} are under way.`);
    this.#add(tenantId, 1);
    try {
      return await work();
    } finally {
      this.#add(tenantId, -1);
    }
  }

  #add(tenantId: string, count: 1 | -1): void {
    const own = (this.#tenants.get(tenantId) ?? 0) + count;
    if (own === 0) this.#tenants.delete(tenantId);
    else this.#tenants.set(tenantId, own);
    this.#total += count;
  }
}

export function refusal(code: 'rate_limit_exceeded' | 'service_unavailable', message: string): AppError {
  return new AppError(code, `${message} Try again in 5 s.`, {
    headers: retryAfterHeaders(5_000),
  });
}
