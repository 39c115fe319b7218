import { AppError, type ErrorCode } from '@gatehouse/kit/errors';

export interface BodyBudgetOptions {
  /** Bytes of request bodies that one tenant may have in memory at a time. */
  perTenant: number;
  /** Bytes of request bodies that all tenants together may have in memory at a time. */
  perProcess: number;
  /** Called for each refusal, with the code of its error. */
  onRefusal?: (code: ErrorCode) => void;
}

/** What one request body takes of the budget. */
export interface BodyShare {
  /** Charges bytes that arrived. Throws as {@link BodyBudget.open} does when they don't fit; nothing is charged then. */
  grow(bytes: number): void;
  /** Returns all bytes. Further calls of either method have no effect. */
  release(): void;
}

/**
 * Limits the bytes of request bodies in memory, per tenant and per process. Bytes are charged as they arrive, so a
 * client that announces a large body and does not send it takes nothing from others. A body always fits when no other
 * body is charged to the same limit: a limit below the largest body of a route lets such bodies in one at a time.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  /** Bytes by tenant; a tenant without bytes has no entry. */
  readonly #tenants = new Map<string, number>();
  #total = 0;

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  /** Bytes charged to all tenants, and tenants that have some. */
  get inUse(): { bytes: number; tenants: number } {
    return { bytes: this.#total, tenants: this.#tenants.size };
  }

  /**
   * Opens the share of one body. `announcedBytes` is its `Content-Length`, or null when it has none. Throws
   * `rate_limit_exceeded` when that does not fit in what is free of the tenant's limit now, and `service_unavailable`
   * when it does not fit in what is free of the process's.
   */
  open(tenantId: string, announcedBytes: number | null): BodyShare {
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
      throw this.#refusal(
        'rate_limit_exceeded',
        'Too many bytes of request bodies are in flight for this tenant.',
      );
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
      headers: { 'retry-after': '1', 'retry-after-ms': '1000' },
    });
  }
}
