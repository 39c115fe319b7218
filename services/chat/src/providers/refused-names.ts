import { monotonicMs } from '@gatehouse/kit/clock';
import { hourMs } from '@gatehouse/kit/bounds';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { maxNamed, maxRefusedNames, maxRefusedSignatures, maxRefusing } from '../bounds.ts';
import { deploymentName, type Model } from '../catalogue/catalogue.ts';

const nothing: ReadonlySet<string> = new Set();

const signaturePrefix = 'reasoning.';
const isSignature = (name: string): boolean => name.startsWith(signaturePrefix);

/** The name of a refused signature. A copy, since a part of a text keeps all of it in memory. */
export function signatureName(id: string): string {
  return Buffer.from(`${signaturePrefix}${id}`).toString();
}

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

  /** Beyond the bounds, the names refused longest ago start over: each conversation has signatures, and no more hints. */
  add(model: Model, tenantId: string, names: readonly string[]): void {
    if (names.length === 0) return;
    const deployments = this.#tenants.getOrMake(tenantId, () => new RecentMap(maxRefusing));
    const { ends } = deployments.getOrMake(deploymentName(model), () => ({ ends: new Map() }));
    for (const name of names) {
      ends.delete(name);
      ends.set(name, this.#now() + hourMs);
    }
    const all = [...ends.keys()];
    const signatures = all.filter(isSignature);
    const hints = all.filter((name) => !isSignature(name));
    for (const name of signatures.slice(0, Math.max(0, signatures.length - maxRefusedSignatures)))
      ends.delete(name);
    for (const name of hints.slice(0, Math.max(0, hints.length - maxRefusedNames))) ends.delete(name);
  }
}
