import { monotonicMs } from '@gatehouse/kit/clock';
import { dropOldest, Findings, type CallScope } from './findings.ts';

/** Why something rests: its limits are used up, or the provider refuses it. */
export type RestReason = 'limited' | 'refused';

export interface Rest {
  reason: RestReason;
  /** By the clock of the rests. */
  until: number;
  pauseMs: number;
}

/** Pauses double from the first to the longest until a call is accepted. */
const pauses: Record<RestReason, { first: number; longest: number }> = {
  limited: { first: 1_000, longest: 60_000 },
  refused: { first: 60_000, longest: 3_600_000 },
};
/** The longest time that a provider may ask to wait. */
const longestRetryAfterMs = 3_600_000;
const maxModels = 1_000;

/**
 * The rests of a key, or of methods that some servers lack: calls for an operation of a model that are not made, since
 * one like them was refused.
 */
export class Rests {
  readonly #now: () => number;
  /** By model, the one that was refused longest ago first, and operation. */
  readonly #models = new Map<string, Map<string, Findings<Rest>>>();

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  /** The rest that a call must wait for; null for one that may be made. */
  of({ operation, model, tenantId }: CallScope): Rest | null {
    const findings = this.#models.get(model)?.get(operation);
    return this.#longest([findings?.shared, findings?.of(tenantId)]);
  }

  /** The longest rest of a model for any operation and tenant. */
  ofAny(model: string): Rest | null {
    const operations = [...(this.#models.get(model)?.values() ?? [])];
    return this.#longest(operations.flatMap((findings) => [findings.shared, ...findings.ofTenants()]));
  }

  /** The longest rest of any model. */
  get longest(): Rest | null {
    return this.#longest([...this.#models.keys()].map((model) => this.ofAny(model)));
  }

  /** The provider refused a call. */
  refused(call: CallScope, reason: RestReason, retryAfterMs?: number): void {
    const findings = this.#findingsOf(call);
    const rest = this.#after(findings.of(call.tenantId), reason, retryAfterMs);
    findings.set(call.tenantId, rest);
    if (findings.witnessed(call.tenantId, this.#now()))
      findings.shared = this.#after(findings.shared, reason, retryAfterMs);
  }

  /** The provider accepted a call. Rests that have not ended stay: the call had begun before them. */
  accepted({ operation, model, tenantId }: CallScope): void {
    const findings = this.#models.get(model)?.get(operation);
    if (findings === undefined) return;
    const now = this.#now();
    if ((findings.shared?.until ?? 0) <= now) findings.shared = null;
    if ((findings.of(tenantId)?.until ?? 0) <= now) findings.forget(tenantId);
  }

  #after(last: Rest | null, reason: RestReason, retryAfterMs: number | undefined): Rest {
    const now = this.#now();
    const { first, longest } = pauses[reason];
    const isSame = last?.reason === reason;
    // Calls that were under way together are one refusal.
    const isResting = isSame && last.until > now;
    const doubled = isSame ? Math.min(longest, last.pauseMs * 2) : first;
    const pauseMs = isResting ? last.pauseMs : doubled;
    const asked = reason === 'limited' ? retryAfterMs : undefined;
    const until = now + Math.min(longestRetryAfterMs, asked ?? pauseMs);
    return { reason, pauseMs, until: isResting && asked === undefined ? last.until : until };
  }

  #longest(rests: readonly (Rest | null | undefined)[]): Rest | null {
    const now = this.#now();
    let found: Rest | null = null;
    for (const rest of rests)
      if (rest !== null && rest !== undefined && rest.until > now && rest.until > (found?.until ?? 0))
        found = rest;
    return found;
  }

  #findingsOf({ operation, model }: CallScope): Findings<Rest> {
    const operations = this.#models.get(model) ?? new Map<string, Findings<Rest>>();
    this.#models.delete(model);
    this.#models.set(model, operations);
    dropOldest(this.#models, maxModels);
    const findings = operations.get(operation) ?? new Findings<Rest>();
    operations.set(operation, findings);
    return findings;
  }
}
