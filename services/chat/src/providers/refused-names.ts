import { cacheKey } from '@gatehouse/kit/cache-key';
import { monotonicMs } from '@gatehouse/kit/clock';
import { hourMs } from '@gatehouse/kit/bounds';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { maxNamed, maxRefusedNames } from '../bounds.ts';
import { deploymentName, type Model } from '../catalogue/catalogue.ts';

const nothing: ReadonlySet<string> = new Set();

interface Refused {
  names: ReadonlySet<string>;
  until: number;
}

/**
 * Hints, betas and forms of a request that a deployment has refused a tenant, left out from the first call on for an hour.
 * No tenant's refusal concerns another, since a request may cause it (ADR 25).
 */
export class RefusedNames {
  readonly #now: () => number;
  readonly #byCall = new RecentMap<{ refused: Refused | null }>(maxNamed);

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  namesOf(model: Model, tenantId: string): ReadonlySet<string> {
    const { refused } = this.#entry(model, tenantId);
    return refused === null || refused.until <= this.#now() ? nothing : refused.names;
  }

  /** Returns whether a name is new. */
  add(model: Model, tenantId: string, names: readonly string[]): boolean {
    const known = this.namesOf(model, tenantId);
    if (names.every((name) => known.has(name))) return false;
    const all = new Set([...known, ...names].slice(-maxRefusedNames));
    this.#entry(model, tenantId).refused = { names: all, until: this.#now() + hourMs };
    return true;
  }

  #entry(model: Model, tenantId: string): { refused: Refused | null } {
    return this.#byCall.getOrMake(cacheKey(deploymentName(model), tenantId), () => ({ refused: null }));
  }
}
