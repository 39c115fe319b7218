import type { Fields } from '@gatehouse/kit/fields';
import { factsOf, type FactsOverlay } from '../model-facts.ts';
import type { PointPlaces } from '../translation/cache-points.ts';

/** https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html */
export function pointPlaces(facts: { name: string } & FactsOverlay): PointPlaces | null {
  const { cachePoints, family } = factsOf(facts);
  return cachePoints === 'none'
    ? null
    : { inTools: family === 'claude', isHourly: cachePoints === '1h', needsMarks: true };
}

/** The block behind the end of what is cached. */
export function pointBlocks(ttl: '5m' | '1h' | null): Fields[] {
  return ttl === null ? [] : [{ cachePoint: { type: 'default', ...(ttl === '1h' && { ttl }) } }];
}
