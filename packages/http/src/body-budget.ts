import { AppError, type ErrorCode } from '@gatehouse/kit/errors';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';

export interface BodyBudgetOptions {
  /** Limit of request body bytes in memory for one tenant. */
  perTenant: number;
  /** Limit of request body bytes in memory for all tenants together. */
  perProcess: number;
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

/** A share that can be reduced. */
export interface TenantShare extends BodyShare {
  /** Releases all but so many bytes: the rest of the body is no longer in memory. */
  shrink(bytes: number): void;
}

/**
 * Limits the bytes of request bodies in memory, per tenant and per process. Bytes are charged as they arrive, so an
 * announced body that is never sent takes nothing from others. A body always fits when no other body is charged to the
 * same limit, so a limit below the largest body of a route admits such bodies one at a time.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  /** Bytes by tenant; has no entry for a tenant without bytes. */
  readonly #tenants = new Map<string, number>();
  #total = 0;

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  /** Bytes charged in total, and the number of tenants with charged bytes. */
  get inUse(): { bytes: number; tenants: number } {
    return { bytes: this.#total, tenants: this.#tenants.size };
  }

  /**
   * Opens the share of one body. `announcedBytes` is its `Content-Length`, or null. Throws `rate_limit_exceeded` when
   * that exceeds the free part of the tenant limit, and `service_unavailable` when it exceeds the free part of the
   * process limit.
   */
  open(tenantId: string, announcedBytes: number | null): TenantShare {
    this.#check(tenantId, announcedBytes ?? 0, 0);
    let own = 0;
    let open = true;
    return {
      grow: (bytes) => {
        if (!open) return;
        this.#check(tenantId, bytes, own);
        own += bytes;
        this.#charge(tenantId, bytes);
      },
      shrink: (bytes) => {
        if (!open || bytes >= own) return;
        this.#charge(tenantId, bytes - own);
        own = bytes;
      },
      release: () => {
        if (!open) return;
        open = false;
        if (own > 0) this.#charge(tenantId, -own);
      },
    };
  }

  #check(tenantId: string, bytes: number, own: number): void {
    const { perTenant, perProcess } = this.#options;
    const tenant = this.#tenants.get(tenantId) ?? 0;
    if (tenant + bytes > perTenant && tenant > own)
      throw this.#refusal('rate_limit_exceeded', 'Too many bytes of your request bodies are in flight.');
    if (this.#total + bytes > perProcess && this.#total > own)
      throw this.#refusal('service_unavailable', 'Too many bytes of request bodies are in flight.');
  }

  #charge(tenantId: string, bytes: number): void {
    const tenant = (this.#tenants.get(tenantId) ?? 0) + bytes;
    if (tenant === 0) this.#tenants.delete(tenantId);
    else this.#tenants.set(tenantId, tenant);
    this.#total += bytes;
  }

  #refusal(code: ErrorCode, message: string): AppError {
    this.#options.onRefusal?.(code);
    return new AppError(code, `${message} Try again shortly.`, {
      headers: retryAfterHeaders(1_000),
    });
  }
}
