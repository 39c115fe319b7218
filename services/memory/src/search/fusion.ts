import type { PassageId, Scored } from './ranking.ts';

/** A passage with its scores in its rankings. All are from 0 to 1. */
export interface Fused extends Scored {
  lexical: number | null;
  semantic: number | null;
}

/** Texts about different things have a cosine of about this. */
const unrelated = 0.2;

/** How close two texts are by the cosine of their vectors, from 0 for unrelated texts to 1. */
export function closeness(cosine: number): number {
  return Math.max(0, (cosine - unrelated) / (1 - unrelated));
}

/**
 * Joins rankings, best first. Words and meaning are two signs a passage is relevant, and either is enough: the score is
 * computed as for independent signs, and never lower than one of its parts. Passages with neither are left out.
 */
export function fuse(lexical: readonly Scored[], cosines: readonly Scored[]): Fused[] {
  const fused = new Map<string, Fused>();
  for (const { score, ...id } of lexical)
    fused.set(keyOf(id), { ...id, score, lexical: score, semantic: null });
  for (const { score: cosine, ...id } of cosines) {
    const semantic = closeness(cosine);
    const words = fused.get(keyOf(id))?.lexical ?? null;
    const score = words === null ? semantic : 1 - (1 - words) * (1 - semantic);
    fused.set(keyOf(id), { ...id, score, lexical: words, semantic });
  }
  return [...fused.values()].filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
}

/** The same for the same passage. */
export function keyOf({ scopeId, number }: PassageId): string {
  return `${scopeId}/${number}`;
}

/** A ranking by words as a result. */
export function byWords(ranking: readonly Scored[]): Fused[] {
  return ranking.map((passage) => ({ ...passage, lexical: passage.score, semantic: null }));
}

/** A ranking by meaning as a result. Passages with vectors pointing the other way are left out. */
export function byMeaning(cosines: readonly Scored[]): Fused[] {
  return cosines
    .filter(({ score }) => score > 0)
    .map(({ score, ...id }) => ({
      ...id,
      score: closeness(score),
      lexical: null,
      semantic: closeness(score),
    }));
}
