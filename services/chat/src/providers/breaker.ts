import { monotonicMs } from '@gatehouse/kit/clock';
import { Circuit, windowMs } from './circuit.ts';

/**
 * The circuit that a failure counts for: that of all tenants if no request can cause it, else that of its own tenant.
 */
export type Blame = 'all' | 'tenant';

/** The breaker opens for all tenants when this many have an open circuit within one window. */
const tenantsToOpen = 3;
const maxTenants = 1_000;

/**
 * The circuit breaker of one deployment (a provider and its model). While it is open, calls go to the next model of the
 * chain; it never rejects a request. Each replica has its own, since no answer depends on it.
 *
 * A tenant's requests can make a provider answer 500, time out or break off, so those failures count for that tenant
 * alone, until three tenants in one window see them. Refused connections, DNS and TLS errors count for all.
 * A tenant's circuit counts calls from the tenant's first failure on.
 */
export class Breaker {
  readonly #now: () => number;
  readonly #shared = new Circuit();
  /** Tenants with failures, the one that failed longest ago first. */
  readonly #tenants = new Map<string, Circuit>();
  /** Tenants whose circuit is open, and when a call of theirs failed last. */
  readonly #troubled = new Map<string, number>();

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  /** Whether it is open for every tenant. */
  get isOpen(): boolean {
    return this.#shared.isOpen;
  }

  /** For how many tenants it is open while it is not for all. */
  get openTenants(): number {
    return this.isOpen ? 0 : [...this.#tenants.values()].filter((circuit) => circuit.isOpen).length;
  }

  /** Whether it is open for this tenant. Changes no state. */
  isOpenFor(tenantId: string): boolean {
    return this.#shared.isOpen || this.#tenants.get(tenantId)?.isOpen === true;
  }

  /** Whether a call for this tenant goes here rather than to the next model. While open, true makes it a probe. */
  admits(tenantId: string): boolean {
    const circuit = this.#shared.isOpen ? this.#shared : this.#tenants.get(tenantId);
    return circuit?.admits(this.#now()) ?? true;
  }

  /** The first good byte of an answer arrived. */
  answered(tenantId: string): void {
    this.#shared.close();
    this.#tenants.get(tenantId)?.close();
    this.#troubled.delete(tenantId);
  }

  /** A call has ended well. */
  succeeded(tenantId: string): void {
    const now = this.#now();
    this.#shared.count(false, now);
    this.#tenants.get(tenantId)?.count(false, now);
  }

  /** A call has failed. Not called for failures that the deployment's health did not cause, such as a 400. */
  failed(tenantId: string, blame: Blame): void {
    const now = this.#now();
    if (blame === 'all') {
      this.#shared.count(true, now);
      return;
    }
    const circuit = this.#circuitOf(tenantId);
    circuit.count(true, now);
    if (circuit.isOpen) this.#noteTrouble(tenantId, now);
  }

  #circuitOf(tenantId: string): Circuit {
    const circuit = this.#tenants.get(tenantId) ?? new Circuit();
    this.#tenants.delete(tenantId);
    this.#tenants.set(tenantId, circuit);
    const [oldest] = this.#tenants.keys();
    if (this.#tenants.size > maxTenants && oldest !== undefined) this.#tenants.delete(oldest);
    return circuit;
  }

  #noteTrouble(tenantId: string, now: number): void {
    this.#troubled.set(tenantId, now);
    for (const [id, at] of this.#troubled) if (now - at >= windowMs) this.#troubled.delete(id);
    if (this.#troubled.size < tenantsToOpen) return;
    this.#troubled.clear();
    this.#shared.open(now);
  }
}
