import type { Model } from '../catalogue/catalogue.ts';
import { Findings, type CallScope } from './findings.ts';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { maxNamed } from '../bounds.ts';
import { monotonicMs } from '@gatehouse/kit/clock';

/**
 * The circuit a failure counts for: all tenants' if no request can cause it, else its own tenant's. `missing` opens that
 * of all tenants at once: the provider lacks the deployment.
 */
export type Blame = 'all' | 'tenant' | 'missing';

type Call = Pick<CallScope, 'operation' | 'tenantId'>;

/**
 * The circuit breaker of one deployment (a provider and its model), with circuits for each operation. While one is
 * open, calls go to the next model of the chain; it never rejects a request. Each replica has its own, since no answer
 * depends on it.
 *
 * A tenant's requests can make a provider answer 500, time out or break off, so those failures count for this tenant
 * alone, until three tenants in one window see them. Refused connections, DNS and TLS errors count for all. A tenant's
 * circuit counts calls from the tenant's first failure on.
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

  /** Open circuits of single tenants, while it is not open for all. */
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

  /** A call has failed. Not called for failures without a cause in the deployment's health, like a 400. */
  failed(call: Call, blame: Blame): void {
    const findings = this.#findingsOf(call);
    if (blame === 'all') {
      this.#countShared(findings, true);
      return;
    }
    const now = this.#now();
    if (blame === 'missing') {
      findings.shared ??= new Circuit();
      findings.shared.open(now);
      return;
    }
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
    if (findings?.shared?.isOpen === true) return findings.shared;
    const circuit = findings?.findingOf(tenantId) ?? null;
    return circuit?.isOpen === true ? circuit : null;
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

/** The breakers of a provider, by its names of its models. */
export class Breakers {
  readonly #entries = new Map<string, Breaker>();
  readonly #named = new RecentMap<{ pattern: string; breaker: Breaker }>(maxNamed);

  breakerOf({ upstreamModel, pattern }: Pick<Model, 'upstreamModel' | 'pattern'>): Breaker {
    const known = this.#entries.get(upstreamModel);
    if (known !== undefined) return known;
    if (pattern !== null) {
      const make = () => ({ pattern: patternName(pattern), breaker: new Breaker() });
      return this.#named.getOrMake(upstreamModel, make).breaker;
    }
    const made = new Breaker();
    this.#entries.set(upstreamModel, made);
    return made;
  }

  /** The breakers of the names asked last behind a pattern. */
  *behind(pattern: Model): Generator<Breaker> {
    const name = patternName(pattern);
    for (const named of this.#named.values()) if (named.pattern === name) yield named.breaker;
  }
}

/** Stays the same when the catalogue is read again. */
function patternName({ id, upstreamModel }: Model): string {
  return cacheKey(id, upstreamModel);
}

/** How long a call counts. */
const windowMs = 30_000;
const slots = 6;
const slotMs = windowMs / slots;
/** With fewer calls there is no failure rate. */
const leastCalls = 10;
const failureRate = 0.5;
/** While open, 1 call in 20 is a probe, and at least one every 5 s. */
const probeShare = 20;
const probeEveryMs = 5_000;

interface Slot {
  /** Number of the slot since the clock's zero. */
  number: number;
  calls: number;
  failures: number;
}

/**
 * A failure rate over the last half minute. Opens at half of at least ten calls. Probes do not wait for one another, so
 * a hanging probe delays nothing.
 */
class Circuit {
  readonly #slots: Slot[] = [];
  #isOpen = false;
  #probedAt = 0;
  #skipped = 0;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether this call should be made; while open, true makes it a probe. */
  admits(now: number): boolean {
    if (!this.#isOpen) return true;
    this.#skipped += 1;
    if (this.#skipped < probeShare && now - this.#probedAt < probeEveryMs) return false;
    this.#skipped = 0;
    this.#probedAt = now;
    return true;
  }

  open(now: number): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#probedAt = now;
    this.#skipped = 0;
  }

  count(failed: boolean, now: number): void {
    const slot = this.#slot(now);
    slot.calls += 1;
    if (!failed) return;
    slot.failures += 1;
    const calls = this.#slots.reduce((sum, one) => sum + one.calls, 0);
    const failures = this.#slots.reduce((sum, one) => sum + one.failures, 0);
    if (calls >= leastCalls && failures >= calls * failureRate) this.open(now);
  }

  #slot(now: number): Slot {
    const number = Math.floor(now / slotMs);
    const last = this.#slots.at(-1);
    if (last?.number === number) return last;
    const slot = { number, calls: 0, failures: 0 };
    this.#slots.push(slot);
    while ((this.#slots[0]?.number ?? number) <= number - slots) this.#slots.shift();
    return slot;
  }
}
