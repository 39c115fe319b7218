import { blockOf, blockSize, entryBytes, type Posting } from './postings.ts';

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

/** The scope of a passage, and its number there. */
export interface PassageId {
  scopeId: string;
  number: number;
}

/** A passage and its score, of at most 1. */
export interface Scored extends PassageId {
  score: number;
}

/** Passages with their scores. */
export interface Ranking {
  /** Best first; at equal scores the latest first. `only`: none but these. */
  top(limit: number, only?: readonly PassageId[] | null): Scored[];
}

export const emptyRanking: Ranking = { top: () => [] };

/** Scores all passages that the postings name. */
export function rank(postings: readonly Posting[], { weights, best }: Plan, averageLength: number): Ranking {
  const blocks = new Map<string, Block>();
  for (const { scopeId, term, block, entries } of postings) {
    const key = `${scopeId}/${block}`;
    let scored = blocks.get(key);
    if (scored === undefined) {
      scored = { scopeId, start: block * blockSize, scores: new Float64Array(blockSize) };
      blocks.set(key, scored);
    }
    addScores(scored.scores, entries, (weights.get(term) ?? 0) * (1 + saturation), averageLength);
  }
  return {
    top: (limit, only = null) => {
      const first = new First(limit);
      if (only === null) addAll(first, blocks.values());
      else
        for (const { scopeId, number } of only)
          first.add(
            scopeId,
            number,
            blocks.get(`${scopeId}/${blockOf(number)}`)?.scores[number % blockSize] ?? 0,
          );
      return first.list().map((passage) => ({ ...passage, score: passage.score / best }));
    },
  };
}

interface Block {
  scopeId: string;
  /** The number of its first passage. */
  start: number;
  scores: Float64Array;
}

function addAll(first: First, blocks: Iterable<Block>): void {
  for (const { scopeId, start, scores } of blocks)
    for (let at = 0; at < scores.length; at += 1) first.add(scopeId, start + at, scores[at] ?? 0);
}

/** The passages with the highest scores. Sorts few at a time: there may be 100,000, of which few are asked for. */
class First {
  readonly #limit: number;
  #found: Scored[] = [];
  #least = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(scopeId: string, number: number, score: number): void {
    if (score === 0 || score < this.#least) return;
    this.#found.push({ scopeId, number, score });
    if (this.#found.length < 2 * this.#limit) return;
    this.#found = this.list();
    this.#least = this.#found.at(-1)?.score ?? 0;
  }

  list(): Scored[] {
    return this.#found.sort((a, b) => b.score - a.score || b.number - a.number).slice(0, this.#limit);
  }
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
