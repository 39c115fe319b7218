import { blockSize, entryBytes, type Posting } from './postings.ts';

/**
 * Ranking by BM25 (https://doi.org/10.1561/1500000019). On conversations these values found more than the usual 1.2 and
 * 0.75.
 */
const saturation = 0.9;
/** How much long passages lose. */
const lengthWeight = 0.4;

/** A term of a query, and in how many passages it is. */
export interface QueryTerm {
  /** The hash, as PostgreSQL has it. */
  term: string;
  passages: number;
  /** 1 for a word, less for a part of one. */
  weight: number;
}

/** A query as it is run. */
export interface Plan {
  /** What each term adds at most, but for the factor 1 + saturation. */
  weights: ReadonlyMap<string, number>;
  /** The score that no passage can exceed. */
  best: number;
}

/** More terms make no better query. */
const maxTerms = 64;

/**
 * Plans a query by its rarest terms, which together have at most `budget` entries in the index (but by one at least):
 * the most common terms take longest to read and change the ranking least.
 */
export function planQuery(found: readonly QueryTerm[], passages: number, budget: number): Plan {
  const weights = new Map<string, number>();
  let entries = 0;
  for (const { term, passages: having, weight } of found
    .filter((each) => each.passages > 0)
    .toSorted((a, b) => a.passages - b.passages)
    .slice(0, maxTerms)) {
    entries += having;
    if (weights.size > 0 && entries > budget) break;
    weights.set(term, weight * Math.log(1 + (passages - having + 0.5) / (having + 0.5)));
  }
  const best = [...weights.values()].reduce((sum, weight) => sum + weight, 0) * (1 + saturation);
  return { weights, best };
}

/** A passage and its score, of at most 1. */
export interface Scored {
  scopeId: string;
  number: number;
  score: number;
}

/** Passages with their scores. */
export interface Ranking {
  /** Best first; at equal scores the latest first. */
  top(limit: number): Scored[];
}

export const emptyRanking: Ranking = { top: () => [] };

/** Scores all passages that the postings name. */
export function rank(postings: readonly Posting[], { weights, best }: Plan, averageLength: number): Ranking {
  const blocks: Block[] = [];
  for (const [first, ...others] of Map.groupBy(
    postings,
    ({ scopeId, block }) => `${scopeId}/${block}`,
  ).values()) {
    if (first === undefined) continue;
    const scores = new Float64Array(blockSize);
    for (const { term, entries } of [first, ...others])
      addScores(scores, entries, (weights.get(term) ?? 0) * (1 + saturation), averageLength);
    blocks.push({ scopeId: first.scopeId, start: first.block * blockSize, scores });
  }
  return {
    top: (limit) => topOf(blocks, limit).map((passage) => ({ ...passage, score: passage.score / best })),
  };
}

interface Block {
  scopeId: string;
  /** The number of its first passage. */
  start: number;
  scores: Float64Array;
}

/** Sorts few passages at a time: there may be 100,000, of which few are asked for. */
function topOf(blocks: readonly Block[], limit: number): Scored[] {
  let found: Scored[] = [];
  let least = 0;
  const shorten = (): void => {
    found = found.sort((a, b) => b.score - a.score || b.number - a.number).slice(0, limit);
  };
  for (const { scopeId, start, scores } of blocks)
    for (let at = 0; at < scores.length; at += 1) {
      const score = scores[at] ?? 0;
      if (score === 0 || score < least) continue;
      found.push({ scopeId, number: start + at, score });
      if (found.length < 2 * limit) continue;
      shorten();
      least = found.at(-1)?.score ?? 0;
    }
  shorten();
  return found;
}

function addScores(scores: Float64Array, entries: Buffer, weight: number, averageLength: number): void {
  for (let at = 0; at < entries.length; at += entryBytes) {
    const entry = entries.readUInt32BE(at);
    const count = (entry >>> 16) & 63;
    const length = entry & 65_535;
    const number = entry >>> 22;
    scores[number] =
      (scores[number] ?? 0) +
      (weight * count) / (count + saturation * (1 - lengthWeight + (lengthWeight * length) / averageLength));
  }
}
