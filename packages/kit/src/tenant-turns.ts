import { AppError } from './errors.ts';
import { retryAfterHeaders } from './retry-after.ts';

export interface TenantTurnsOptions {
  /** Work of one tenant that runs at the same time. */
  perTenant: number;
  /** Work of all tenants that runs at the same time. No limit if absent. */
  slots?: number;
  /** Work of one tenant that waits; more is refused. */
  maxWaiting: number;
  /** Work that has waited for `ms` fails with `error()`. If absent, work waits until its turn comes. */
  longestWait?: { ms: number; error: () => Error };
}

/** All owner keys are one tenant: `null`. */
type TenantId = string | null;

interface Tenant {
  running: number;
  /** Callbacks that begin what waits, in order of arrival. */
  waiting: (() => void)[];
}

/**
 * Limits the work of each tenant that runs at the same time, and lets tenants take turns at slots that they share: work
 * that waits begins in the order of its tenant, and tenants alternate. So a tenant waits for one piece of work of each
 * other tenant, however much they bring.
 */
export class TenantTurns {
  readonly #options: TenantTurnsOptions;
  readonly #slots: number;
  /** Tenants with work, in the order in which their turns come. */
  readonly #tenants = new Map<TenantId, Tenant>();
  #running = 0;
  #waiting = 0;

  constructor(options: TenantTurnsOptions) {
    this.#options = options;
    this.#slots = options.slots ?? Infinity;
  }

  /** Tenants with work. */
  get size(): number {
    return this.#tenants.size;
  }

  /** Work that waits, of all tenants. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Runs `work` when its turn has come. Throws 429 `rate_limit_exceeded` when too much work of the tenant waits. */
  async run<Result>(tenantId: TenantId, work: () => Promise<Result>): Promise<Result> {
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
    return this.#running < this.#slots && running < this.#options.perTenant;
  }

  #begin(tenant: Tenant): void {
    tenant.running += 1;
    this.#running += 1;
  }

  #turn(id: TenantId, tenant: Tenant): Promise<void> {
    const { maxWaiting, longestWait } = this.#options;
    const { waiting } = tenant;
    if (waiting.length >= maxWaiting) return Promise.reject(tooManyInFlight());
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      if (longestWait === undefined) {
        waiting.push(resolve);
        return;
      }
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(begin), 1);
        this.#waiting -= 1;
        if (tenant.running === 0 && waiting.length === 0) this.#tenants.delete(id);
        reject(longestWait.error());
      };
      const timer = setTimeout(giveUp, longestWait.ms);
      waiting.push(begin);
    });
  }

  /** Puts a tenant at the end of the order; removes one without work. */
  #putLast(id: TenantId, tenant: Tenant): void {
    this.#tenants.delete(id);
    if (tenant.running > 0 || tenant.waiting.length > 0) this.#tenants.set(id, tenant);
  }

  /** Begins what may begin now, the tenant first that has waited longest for its turn. */
  #next(): void {
    for (const [id, tenant] of this.#tenants) {
      if (this.#waiting === 0 || this.#running >= this.#slots) return;
      if (tenant.waiting.length === 0 || !this.#canBegin(tenant)) continue;
      this.#putLast(id, tenant);
      this.#begin(tenant);
      this.#waiting -= 1;
      tenant.waiting.shift()?.();
    }
  }
}

function tooManyInFlight(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    'Too many requests of this kind are in flight for this tenant. Try again in 1 s.',
    { headers: retryAfterHeaders(1_000) },
  );
}
