import { monotonicMs } from '@gatehouse/kit/clock';
import { hourMs } from '@gatehouse/kit/bounds';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { maxNamed, maxRefusedNames, maxRefusing } from '../bounds.ts';
import { deploymentName, type Model } from '../catalogue/catalogue.ts';

const nothing: ReadonlySet<string> = new Set();

/** The end of each name's hour, from the name refused longest ago. */
interface Refused {
  ends: Map<string, number>;
}

/**
 * Names of what a deployment has refused a tenant: hints, betas, forms of a request. They are left out from the first call
 * on, each for an hour since its last refusal. No tenant's refusal concerns another, since a request may cause it (ADR 25).
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
    if (refused === undefined) return nothing;
    const now = this.#now();
    return new Set([...refused.ends].flatMap(([name, end]) => (end > now ? [name] : [])));
  }

  /** Beyond the bound, the names refused longest ago start over. */
  add(model: Model, tenantId: string, names: readonly string[]): void {
    if (names.length === 0) return;
    const deployments = this.#tenants.getOrMake(tenantId, () => new RecentMap(maxRefusing));
    const { ends } = deployments.getOrMake(deploymentName(model), () => ({ ends: new Map() }));
    for (const name of names) {
      ends.delete(name);
      ends.set(name, this.#now() + hourMs);
    }
    for (const name of [...ends.keys()].slice(0, Math.max(0, ends.size - maxRefusedNames))) ends.delete(name);
  }
}
