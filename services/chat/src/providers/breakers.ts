import { cacheKey } from '@gatehouse/kit/cache-key';
import { RecentMap } from '@gatehouse/kit/recent-map';
import type { Model } from '../catalogue/catalogue.ts';
import { Breaker } from './breaker.ts';
import { maxNamed } from '../bounds.ts';

/** The breakers of a provider, by the names that it has for its models. */
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

  /** The breakers of names behind a pattern that were asked last. */
  *behind(pattern: Model): Generator<Breaker> {
    const name = patternName(pattern);
    for (const named of this.#named.values()) if (named.pattern === name) yield named.breaker;
  }
}

/** Stays the same when the catalogue is read again. */
function patternName({ id, upstreamModel }: Model): string {
  return cacheKey(id, upstreamModel);
}
