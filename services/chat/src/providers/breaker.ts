import { monotonicMs } from '@gatehouse/kit/clock';
import { Circuit } from './circuit.ts';
import { Findings, type CallScope } from './findings.ts';

/**
 * The circuit that a failure counts for: that of all tenants if no request can cause it, else that of its own tenant.
 */
export type Blame = 'all' | 'tenant';

type Call = Pick<CallScope, 'operation' | 'tenantId'>;

/**
 * The circuit breaker of one deployment (a provider and its model), with circuits for each operation. While one is open,
 * calls go to the next model of the chain; it never rejects a request. Each replica has its own, since no answer depends on it.
 *
 * A tenant's requests can make a provider answer 500, time out or break off, so those failures count for that tenant
 * alone, until three tenants in one window see them. Refused connections, DNS and TLS errors count for all.
 * A tenant's circuit counts calls from the tenant's first failure on.
 */
export class Breaker {
  readonly #now: () => number;
  readonly #operations = new Map<string, Findings<Circuit>>();

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  /** Whether it is open for every tenant, for some operation. */
  get isOpen(): boolean {
    return [...this.#operations.values()].some(({ shared }) => shared?.isOpen === true);
  }

  /** Circuits of single tenants that are open while it is not for all. */
  get openTenants(): number {
    const circuits = [...this.#operations.values()].flatMap((findings) => [...findings.tenantFindings()]);
    return this.isOpen ? 0 : circuits.filter((circuit) => circuit.isOpen).length;
  }

  /** Whether it is open for this tenant. Changes no state. */
  isOpenFor(call: Call): boolean {
    return this.#openCircuitOf(call) !== null;
  }

  /** Whether a call for this tenant goes here rather than to the next model. While open, true makes it a probe. */
  admits(call: Call): boolean {
    return this.#openCircuitOf(call)?.admits(this.#now()) ?? true;
  }

  /** The first good byte of an answer arrived. Open circuits start over, closed. */
  answered(call: Call): void {
    const findings = this.#findingsOf(call);
    if (findings.shared?.isOpen === true) findings.shared = null;
    if (findings.findingOf(call.tenantId)?.isOpen === true) findings.forget(call.tenantId);
  }

  /** A call has ended well. */
  succeeded(call: Call): void {
    const findings = this.#findingsOf(call);
    this.#countShared(findings, false);
    findings.findingOf(call.tenantId)?.count(false, this.#now());
  }

  /** A call has failed. Not called for failures that the deployment's health did not cause, such as a 400. */
  failed(call: Call, blame: Blame): void {
    const findings = this.#findingsOf(call);
    if (blame === 'all') {
      this.#countShared(findings, true);
      return;
    }
    const now = this.#now();
    const circuit = findings.findingOf(call.tenantId) ?? new Circuit();
    findings.set(call.tenantId, circuit);
    circuit.count(true, now);
    if (circuit.isOpen && findings.witnessed(call.tenantId, now) !== null) {
      findings.shared ??= new Circuit();
      findings.shared.open(now);
    }
  }

  #openCircuitOf({ operation, tenantId }: Call): Circuit | null {
    const findings = this.#operations.get(operation);
    const circuits = [findings?.shared, findings?.findingOf(tenantId)];
    return circuits.find((circuit) => circuit?.isOpen === true) ?? null;
  }

  #countShared(findings: Findings<Circuit>, hasFailed: boolean): void {
    findings.shared ??= new Circuit();
    findings.shared.count(hasFailed, this.#now());
  }

  #findingsOf({ operation }: Call): Findings<Circuit> {
    const findings = this.#operations.get(operation) ?? new Findings<Circuit>();
    this.#operations.set(operation, findings);
    return findings;
  }
}
