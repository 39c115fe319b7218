import { factsOf, type FactsOverlay } from '../model-facts.ts';
import type { PointPlaces } from '../translation/cache-points.ts';

/**
 * Servers of other models with this API ignore marks.
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
export function pointPlaces(facts: { name: string } & FactsOverlay): PointPlaces | null {
  const { cachePoints, family } = factsOf(facts);
  if (family !== 'claude') return { inTools: true, isHourly: true, needsMarks: false };
  return cachePoints === 'none' ? null : { inTools: true, isHourly: cachePoints === '1h', needsMarks: true };
}
