import { maxNamed } from '../bounds.ts';

/** A finding counts for all tenants once this many have it within so long. */
const tenantsForAll = 3;
const togetherMs = 30_000;

/** The calls of a finding. */
export interface CallScope {
  /** Providers limit keys and fail for each apart, and may lack some. */
  operation: string;
  /** The provider's name of it. */
  model: string;
  tenantId: string;
}

/**
 * Findings about calls for one operation of a model: a refusal, failures, a missing method. A request can cause what its
 * provider answers, so a finding is its tenant's alone until three tenants have it within 30 s (ADR 25).
 */
export class Findings<Finding> {
  /** For all tenants. */
  shared: Finding | null = null;
  /** Noted longest ago first. */
  readonly #tenants = new Map<string, Finding>();
  /** Tenants with a finding towards one for all, since when, and for how long theirs holds. */
  readonly #witnesses = new Map<string, { at: number; holdsMs: number }>();

  findingOf(tenantId: string): Finding | null {
    return this.#tenants.get(tenantId) ?? null;
  }

  tenantFindings(): Iterable<Finding> {
    return this.#tenants.values();
  }

  set(tenantId: string, finding: Finding): void {
    this.#tenants.delete(tenantId);
    this.#tenants.set(tenantId, finding);
    dropOldest(this.#tenants, maxNamed);
  }

  /**
   * Notes a tenant's finding towards one for all, to hold for so long. Once enough tenants have it, returns the
   * shortest of their times, so no single tenant decides for all; null before.
   */
  witnessed(tenantId: string, now: number, holdsMs = Infinity): number | null {
    this.#witnesses.set(tenantId, { at: now, holdsMs });
    for (const [id, { at }] of this.#witnesses) if (now - at >= togetherMs) this.#witnesses.delete(id);
    if (this.#witnesses.size < tenantsForAll) return null;
    const shortest = Math.min(...[...this.#witnesses.values()].map((witness) => witness.holdsMs));
    this.#witnesses.clear();
    return shortest;
  }

  forget(tenantId: string): void {
    this.#tenants.delete(tenantId);
    this.#witnesses.delete(tenantId);
  }
}

/** Drops the first entry of a map with more than `most`. */
export function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
