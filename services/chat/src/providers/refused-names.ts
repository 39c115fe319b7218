import { monotonicMs } from '@gatehouse/kit/clock';
import { hourMs } from '@gatehouse/kit/bounds';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { maxNamed, maxRefusedNames, maxRefusing } from '../bounds.ts';
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
  /** By tenant and deployment, from the first refusal on. */
  readonly #tenants = new RecentMap<RecentMap<Refused>>(maxNamed);

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  namesOf(model: Model, tenantId: string): ReadonlySet<string> {
    const refused = this.#tenants.get(tenantId)?.get(deploymentName(model));
    return refused === undefined || refused.until <= this.#now() ? nothing : refused.names;
  }

  /** Returns whether a name is new, and there is room for it. */
  add(model: Model, tenantId: string, names: readonly string[]): boolean {
    const known = this.namesOf(model, tenantId);
    const all = new Set([...new Set([...known, ...names])].slice(0, maxRefusedNames));
    if (all.size === known.size) return false;
    const deployments = this.#tenants.getOrMake(tenantId, () => new RecentMap(maxRefusing));
    const refused = deployments.getOrMake(deploymentName(model), () => ({ names: nothing, until: 0 }));
    Object.assign(refused, { names: all, until: this.#now() + hourMs });
    return true;
  }
}
