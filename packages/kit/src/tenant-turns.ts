import { AppError } from '@gatehouse/kit/errors';
import { tooManyInFlight } from '@gatehouse/kit/retry-after';

export interface TenantTurnsOptions {
  /** Work that runs at the same time: the connections of a pool. */
  slots: number;
  /** After which work that waits is refused. */
  longestWaitMs: number;
  /** Further work of a tenant is refused. */
  maxWaiting: number;
}

interface Tenant {
  running: number;
  /** Callbacks that begin what waits, in order of arrival. */
  waiting: (() => void)[];
}

/**
 * Lets tenants take turns at something scarce: work that waits begins in the order of its tenant, and tenants alternate.
 * So a tenant waits for one piece of work of each other tenant, however much they bring. Of more than two slots, a
 * tenant never has all.
 */
export class TenantTurns {
  readonly #options: TenantTurnsOptions;
  readonly #mostOfOne: number;
  /** Tenants with work, in the order in which their turns come. */
  readonly #tenants = new Map<string, Tenant>();
  #running = 0;

  constructor(options: TenantTurnsOptions) {
    this.#options = options;
    this.#mostOfOne = options.slots > 2 ? options.slots - 1 : options.slots;
  }

  /** Tenants with work. */
  get size(): number {
    return this.#tenants.size;
  }

  /** Work that waits, of all tenants. */
  get waiting(): number {
    let sum = 0;
    for (const { waiting } of this.#tenants.values()) sum += waiting.length;
    return sum;
  }

  /**
   * Runs `work` when its turn has come. Throws 429 `rate_limit_exceeded` when too much work of the tenant waits, and 503
   * `database_unavailable` after the longest wait.
   */
  async run<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result> {
    const tenant = this.#tenants.get(tenantId) ?? { running: 0, waiting: [] };
    this.#tenants.set(tenantId, tenant);
    if (this.#canBegin(tenant)) this.#begin(tenant);
    else await this.#turn(tenantId, tenant);
    try {
      return await work();
    } finally {
      tenant.running -= 1;
      this.#running -= 1;
      this.#putLast(tenantId, tenant);
      this.#next();
    }
  }

  #canBegin({ running }: Tenant): boolean {
    return this.#running < this.#options.slots && running < this.#mostOfOne;
  }

  #begin(tenant: Tenant): void {
    tenant.running += 1;
    this.#running += 1;
  }

  #turn(id: string, tenant: Tenant): Promise<void> {
    const { maxWaiting, longestWaitMs } = this.#options;
    const { waiting } = tenant;
    if (waiting.length >= maxWaiting) return Promise.reject(tooManyInFlight());
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(begin), 1);
        if (tenant.running === 0 && waiting.length === 0) this.#tenants.delete(id);
        reject(tooLate());
      };
      const timer = setTimeout(giveUp, longestWaitMs);
      waiting.push(begin);
    });
  }

  /** Puts a tenant at the end of the order; removes one without work. */
  #putLast(id: string, tenant: Tenant): void {
    this.#tenants.delete(id);
    if (tenant.running > 0 || tenant.waiting.length > 0) this.#tenants.set(id, tenant);
  }

  /** Begins what may begin now, the tenant first that has waited longest for its turn. */
  #next(): void {
    for (const [id, tenant] of this.#tenants) {
      if (this.#running >= this.#options.slots) return;
      if (tenant.waiting.length === 0 || !this.#canBegin(tenant)) continue;
      this.#putLast(id, tenant);
      this.#begin(tenant);
      tenant.waiting.shift()?.();
    }
  }
}

function tooLate(): AppError {
  return new AppError('database_unavailable', 'The database is busy. Try again shortly.', {
    headers: { 'retry-after': '1' },
  });
}
