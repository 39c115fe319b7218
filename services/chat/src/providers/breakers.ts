import { RecentMap } from '@gatehouse/kit/recent-map';
import { deploymentName, type Model } from '../catalogue/catalogue.ts';
import { Breaker } from './breaker.ts';

/** Names behind patterns whose breakers are kept: clients invent names. A dropped one starts over, closed. */
const maxNamed = 1_000;

/** The breakers of a catalogue: one a provider and upstream model. */
export class Breakers {
  readonly #entries = new Map<string, Breaker>();
  readonly #named = new RecentMap<{ model: Model; breaker: Breaker }>(maxNamed);

  of(model: Model): Breaker {
    const key = deploymentName(model);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    if (model.pattern !== null)
      return this.#named.getOrMake(key, () => ({ model, breaker: new Breaker() })).breaker;
    const made = new Breaker();
    this.#entries.set(key, made);
    return made;
  }

  /** The breakers of names behind a pattern that were asked last. */
  *behind(pattern: Model): Generator<Breaker> {
    for (const { model, breaker } of this.#named.values()) if (model.pattern === pattern) yield breaker;
  }
}
