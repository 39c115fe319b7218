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
  /** Whether a passage without it says less about the query: not for a second form of a word. */
  needed: boolean;
}

/** A query as it is run. */
export interface Plan {
  weights: ReadonlyMap<string, number>;
  /** The score of a passage of average length with each of the query's best terms once. */
  best: number;
}

/** How much words no passage has lower all scores: half of a message may be about nothing in the memory. */
const missingWeight = 0.25;
/**
 * Words weigh as in a memory of so many passages at least. With one passage a word that it has would weigh less than one
 * that it lacks, so a chatty message would never find a single note.
 */
const leastPassages = 50;
/**
 * A passage has to cover so many words of a query, those with the highest weights: a long message is about the same note
 * as a short question. The chatty messages of `make bench` chose the numbers (docs/measurements/memory-search.md).
 */
const questionTerms = 8;
/** More terms make no better query. */
const maxTerms = 64;

/**
 * Plans a query by its rarest terms, which together have at most `budget` entries in the index (but by one at least):
 * the most common terms take longest to read and change the ranking least.
 */
export function planQuery(terms: readonly QueryTerm[], passages: number, budget: number): Plan {
  const all = Math.max(passages, leastPassages);
  const weights = new Map<string, number>();
  let entries = 0;
  for (const { term, passages: having, weight } of terms
    .filter((each) => each.passages > 0)
    .toSorted((a, b) => a.passages - b.passages)
    .slice(0, maxTerms)) {
    entries += having;
    if (weights.size > 0 && entries > budget) break;
    weights.set(term, weight * Math.log(1 + (all - having + 0.5) / (having + 0.5)));
  }
  const missing = terms
    .filter((each) => each.needed && each.passages === 0)
    .map(({ weight }) => missingWeight * weight * Math.log(1 + (all + 0.5) / 0.5));
  const highest = [...weights.values(), ...missing].toSorted((a, b) => b - a).slice(0, questionTerms);
  return { weights, best: highest.reduce((sum, weight) => sum + weight, 0) };
}

/** The scope of a passage, and its number there. */
export interface PassageId {
  scopeId: string;
  number: number;
}

/** A passage and its score: for words, the share of the query it covers; for vectors, the cosine. */
export interface Scored extends PassageId {
  score: number;
}

/** Passages with their scores. */
export interface Ranking {
  /** Best first; at equal scores the latest first. `only`: no others. */
  top(limit: number, only?: readonly PassageId[] | null): Scored[];
}

export const emptyRanking: Ranking = { top: () => [] };

/** Scores all passages the postings name. */
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
      return first.list().map((passage) => ({ ...passage, score: coverage(passage.score / best) }));
    },
  };
}

/** The score of a passage of average length with each word of the query once. */
const allOnce = 0.9;

/** From 0 to 1. More words, words frequent in a passage, and short passages get the rest above `allOnce`. */
function coverage(matched: number): number {
  if (matched <= 1) return allOnce * matched;
  return Math.min(1, allOnce + ((1 - allOnce) * (matched - 1)) / saturation);
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
  #best: Scored[] = [];
  #least = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(scopeId: string, number: number, score: number): void {
    if (score === 0 || score < this.#least) return;
    this.#best.push({ scopeId, number, score });
    if (this.#best.length < 2 * this.#limit) return;
    this.#best = this.list();
    this.#least = this.#best.at(-1)?.score ?? 0;
  }

  list(): Scored[] {
    return this.#best.sort((a, b) => b.score - a.score || b.number - a.number).slice(0, this.#limit);
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
