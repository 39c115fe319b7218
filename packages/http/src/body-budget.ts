import { AppError, type ErrorCode } from '@gatehouse/kit/errors';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';

export interface BodyBudgetOptions {
  /** Limit of request body bytes in memory for one tenant. */
  perTenant: number;
  /** Limit of request body bytes in memory for all tenants together. */
  perProcess: number;
  /** How long a body that arrives waits for others, in ms. Default: ten seconds. */
  waitMs?: number;
  /** Called for each refusal with the error code. */
  onRefusal?: (code: ErrorCode) => void;
}

/** The share of one request body in the budget. */
export interface BodyShare {
  /** Charges received bytes. Throws like {@link BodyBudget.open} when they do not fit, without charging them. */
  grow(bytes: number): void;
  /** Releases all bytes. Later calls of any method have no effect. */
  release(): void;
}

/** The share of a body of a tenant. */
export interface TenantShare extends BodyShare {
  /** Releases all but so many bytes: the rest of the body is no longer in memory. */
  shrink(bytes: number): void;
  /**
   * Charges bytes that have just arrived; undefined if they fit. Otherwise it charges them once they do, and no others may
   * be taken until then. Rejects like {@link BodyBudget.open} after `waitMs`, or when too many others wait.
   */
  take(bytes: number): Promise<void> | undefined;
}

const defaultWaitMs = 10_000;

/** Bodies that wait: each has a piece of up to 64 KiB in memory that is not charged. */
const maxWaiting = { perTenant: 100, perProcess: 400 };

interface Body {
  tenantId: string;
  own: number;
  isOpen: boolean;
  wait: { bytes: number; end: () => void } | null;
}

interface Tenant {
  bytes: number;
  waiting: number;
  /** Bodies with bytes, the oldest first. */
  charged: Set<Body>;
}

/**
 * Limits the bytes of request bodies in memory, per tenant and per process. Bytes are charged as they arrive, so an
 * announced body that is never sent takes nothing from others. A body always fits when no other body is charged to the
 * same limit, so a limit below the largest body of a route admits such bodies one at a time. Bodies that arrive wait for
 * others, but for the oldest one, so that one of them gets done: a limit may be exceeded by one body.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  /** Has no entry for a tenant without bytes and without bodies that wait. */
  readonly #tenants = new Map<string, Tenant>();
  /** Bodies with bytes, the oldest first. */
  readonly #charged = new Set<Body>();
  /** In the order in which they began to wait. */
  readonly #waiting = new Set<Body>();
  #total = 0;

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  /** Bytes charged in total, and the number of tenants with charged bytes. */
  get inUse(): { bytes: number; tenants: number } {
    return { bytes: this.#total, tenants: this.#tenants.size };
  }

  /**
   * Opens the share of one body. `bytes` are those that it has already, or null. Throws `rate_limit_exceeded` when that
   * exceeds the free part of the tenant limit, and `service_unavailable` when it exceeds the free part of the process
   * limit.
   */
  open(tenantId: string, bytes: number | null): TenantShare {
    const body: Body = { tenantId, own: 0, isOpen: true, wait: null };
    this.#check(body, bytes ?? 0);
    return {
      grow: (more) => {
        if (!body.isOpen) return;
        this.#check(body, more);
        this.#charge(body, more);
      },
      shrink: (kept) => {
        if (body.isOpen && kept < body.own) this.#charge(body, kept - body.own);
      },
      take: (more) => (body.isOpen ? this.#take(body, more) : undefined),
      release: () => {
        if (!body.isOpen) return;
        body.isOpen = false;
        body.wait?.end();
        this.#charge(body, -body.own);
      },
    };
  }

  #tenantOf({ tenantId }: Body): Tenant {
    return this.#tenants.get(tenantId) ?? { bytes: 0, waiting: 0, charged: new Set() };
  }

  #take(body: Body, bytes: number): Promise<void> | undefined {
    if (this.#goesOn(body, bytes)) {
      this.#charge(body, bytes);
      return undefined;
    }
    const tenant = this.#tenantOf(body);
    if (tenant.waiting >= maxWaiting.perTenant || this.#waiting.size >= maxWaiting.perProcess)
      return Promise.reject(this.#refusalOf(body, bytes));
    this.#tenants.set(body.tenantId, tenant);
    return this.#room(body, tenant, bytes);
  }

  /** Waits until the bytes fit or the body is released. */
  #room(body: Body, tenant: Tenant, bytes: number): Promise<void> {
    tenant.waiting += 1;
    this.#waiting.add(body);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        body.wait = null;
        tenant.waiting -= 1;
        this.#waiting.delete(body);
        this.#forgetEmpty(body, tenant);
        resolve();
      };
      const timer = setTimeout(() => {
        reject(this.#refusalOf(body, bytes));
        end();
      }, this.#options.waitMs ?? defaultWaitMs);
      body.wait = { bytes, end };
    });
  }

  /** Whether a body may take so many bytes more. */
  #goesOn(body: Body, bytes: number): boolean {
    const { own } = body;
    const tenant = this.#tenantOf(body);
    const [oldest] = this.#charged;
    if (body === oldest) return true;
    const [oldestOfTenant] = tenant.charged;
    const { perTenant, perProcess } = this.#options;
    const isFirst = tenant.waiting === 0 || body.wait !== null;
    const fitsTenant =
      body === oldestOfTenant || tenant.bytes === own || (isFirst && tenant.bytes + bytes <= perTenant);
    return fitsTenant && (this.#total === own || this.#total + bytes <= perProcess);
  }

  /** Lets bodies that wait go on: those of a tenant in their order, but for its oldest. */
  #goOn(): void {
    const full = new Set<Tenant>();
    for (const body of this.#waiting) {
      const { wait } = body;
      const tenant = this.#tenantOf(body);
      const [oldestOfTenant] = tenant.charged;
      if (wait === null || (full.has(tenant) && body !== oldestOfTenant)) continue;
      if (this.#goesOn(body, wait.bytes)) {
        this.#charge(body, wait.bytes);
        wait.end();
      } else full.add(tenant);
    }
  }

  #check(body: Body, bytes: number): void {
    const code = this.#exceeded(body, bytes);
    if (code !== null) throw this.#refusal(code);
  }

  #refusalOf(body: Body, bytes: number): AppError {
    return this.#refusal(this.#exceeded(body, bytes) ?? 'rate_limit_exceeded');
  }

  #exceeded(body: Body, bytes: number): 'rate_limit_exceeded' | 'service_unavailable' | null {
    const { own } = body;
    const tenant = this.#tenantOf(body);
    const { perTenant, perProcess } = this.#options;
    if (tenant.bytes + bytes > perTenant && tenant.bytes > own) return 'rate_limit_exceeded';
    return this.#total + bytes > perProcess && this.#total > own ? 'service_unavailable' : null;
  }

  #charge(body: Body, bytes: number): void {
    const tenant = this.#tenantOf(body);
    body.own += bytes;
    tenant.bytes += bytes;
    this.#total += bytes;
    this.#tenants.set(body.tenantId, tenant);
    for (const charged of [tenant.charged, this.#charged])
      if (body.own > 0) charged.add(body);
      else charged.delete(body);
    this.#forgetEmpty(body, tenant);
    if (bytes < 0 && this.#waiting.size > 0) this.#goOn();
  }

  #forgetEmpty({ tenantId }: Body, { bytes, waiting }: Tenant): void {
    if (bytes === 0 && waiting === 0) this.#tenants.delete(tenantId);
  }

  #refusal(code: 'rate_limit_exceeded' | 'service_unavailable'): AppError {
    this.#options.onRefusal?.(code);
    const whose = code === 'rate_limit_exceeded' ? 'your request bodies' : 'request bodies';
    return new AppError(code, `Too many bytes of ${whose} are in flight. Try again shortly.`, {
      headers: retryAfterHeaders(1_000),
    });
  }
}
