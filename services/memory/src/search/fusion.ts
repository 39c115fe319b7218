import type { Scored } from './ranking.ts';

/** A passage with its scores in the rankings that have it. */
export interface Fused extends Scored {
  lexical: number | null;
  semantic: number | null;
}

/** Places count by 1 / (60 + place), as in https://doi.org/10.1145/1571941.1572114. */
const offset = 60;

/**
 * Joins two rankings by reciprocal rank fusion, best first. The score is 1 for a passage that is first in both, and at
 * most a half for one that only one of them has.
 */
export function fuse(lexical: readonly Scored[], semantic: readonly Scored[]): Fused[] {
  const fused = new Map<string, Fused>();
  const highest = 2 / (offset + 1);
  const add = (ranking: readonly Scored[], name: 'lexical' | 'semantic'): void =>
    ranking.forEach(({ scopeId, number, score }, index) => {
      const key = keyOf({ scopeId, number });
      const passage = fused.get(key) ?? { scopeId, number, score: 0, lexical: null, semantic: null };
      passage.score += 1 / (offset + index + 1) / highest;
      passage[name] = score;
      fused.set(key, passage);
    });
  add(lexical, 'lexical');
  add(semantic, 'semantic');
  return [...fused.values()].sort((a, b) => b.score - a.score || b.number - a.number);
}

/** The same for the same passage. */
export function keyOf({ scopeId, number }: Pick<Scored, 'scopeId' | 'number'>): string {
  return `${scopeId}/${number}`;
}

/** A single ranking as a result. */
export function alone(ranking: readonly Scored[], name: 'lexical' | 'semantic'): Fused[] {
  return ranking.map((passage) => ({ ...passage, lexical: null, semantic: null, [name]: passage.score }));
}
