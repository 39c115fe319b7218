import type { SearchMode } from '@gatehouse/contract/memory';
import { AppError } from '@gatehouse/kit/errors';
import type { Analyser, MemoryKey } from '../shared/memory-key.ts';
import { byMeaning, byWords, fuse, keyOf, type Fused } from './fusion.ts';
import type { PassageId, Ranking, Scored } from './ranking.ts';
import { normalised } from './vectors.ts';

/** The documents a search looks at: those matching every set member. */
export interface SearchFilter {
  pathPrefix: string | null;
  /** Members required in the metadata. */
  metadata: Record<string, unknown> | null;
  since: string | null;
  until: string | null;
}

export const noFilter: SearchFilter = { pathPrefix: null, metadata: null, since: null, until: null };

/** Whether a filter lets everything through. */
export function isEmpty(filter: SearchFilter): boolean {
  return Object.values(filter).every((value) => value === null);
}

export interface Search {
  users: readonly string[];
  query: string;
  limit: number;
  mode: SearchMode;
  filter: SearchFilter;
  /** Passages with a lower score are left out. From 0 to 1. */
  minScore: number;
}

/** A passage with its document and score. */
export interface ScoredPassage extends Fused {
  documentId: string;
  path: string;
  title: string | null;
  userId: string;
  metadata: Record<string, unknown>;
  updatedAt: Date;
  startLine: number;
  endLine: number;
  text: string;
}

export interface IndexState {
  /** How new passages are analysed. */
  analyser: Analyser;
  /** Whether passages have the words of an earlier tokeniser, and no job rebuilds the index yet. */
  hasFormerWords: boolean;
  /** The embedding model of the memory's vectors; null without one. */
  embeddingModel: string | null;
  /** Whether pgvector lacks vectors from before the database had it. */
  hasVectorsToCopy: boolean;
}

/** The index of passages. */
export interface PassageIndex {
  /** Null for an agent without a memory. */
  state(key: MemoryKey): Promise<IndexState | null>;
  /** Reads the memory as it is at one moment. */
  read<Result>(key: MemoryKey, inside: (view: IndexView) => Promise<Result>): Promise<Result>;
}

/** The index at one moment. */
export interface IndexView {
  /** Passages with words of the query. */
  lexical(users: readonly string[], query: string): Promise<Ranking>;
  /** Passages passing the filter, up to `limit`. */
  matching(users: readonly string[], filter: SearchFilter, limit: number): Promise<PassageId[]>;
  /** The passages with the closest vectors of this model, best first. */
  semantic(users: readonly string[], near: Near, extent: Extent): Promise<Scored[]>;
  /** The cosines of the passages with a vector of this model. */
  compare(near: Near, passages: readonly PassageId[]): Promise<Scored[]>;
  /** The passages among the candidates the filter lets through, in their order. */
  select(candidates: readonly Fused[], which: Pick<Search, 'filter' | 'limit'>): Promise<ScoredPassage[]>;
}

/** The passages a search looks at. */
export interface Extent {
  filter: SearchFilter;
  /** The passages the filter lets through; null to look at all passages first. */
  only: readonly PassageId[] | null;
}

/** A vector of length 1, and its model. */
export interface Near {
  model: string;
  vector: Float32Array;
}

/** The embedding of a query. */
export interface QueryVector {
  model: string;
  vector: readonly number[];
}

/** Embeds the query of a search. Rejects with `embeddings_not_configured` if the catalogue has no embedding model. */
export type EmbedQuery = (query: string) => Promise<QueryVector>;

/** Keeps the index of a memory up to date with the settings seen by searches. */
export interface IndexUpkeep {
  /** Called with the current embedding model. */
  noteModel(key: MemoryKey, model: string): Promise<void>;
  /** Called when the index was not built by the agent's analyser. */
  noteAnalyser(key: MemoryKey): Promise<void>;
  /** Called when pgvector lacks vectors of the memory. */
  copyVectors(key: MemoryKey): Promise<void>;
}

/** Passages of each ranking in the fusion. */
const fusedCount = 200;
/** Passages compared by their vectors because of their words. */
const comparedCount = 100;
/** Passages to look at, best first; more when a filter leaves too few. */
const candidateSteps = [0, 1_000];
/** If a filter lets through no more passages than these, they alone are ranked: the best of all may be others. */
const fewPassages = 5_000;
/** The number to rank if more pass the filter, but too few of the best ones do. */
const mostPassages = 50_000;

/** Searches the memory of an agent in all modes. */
export class MemorySearch {
  readonly #index: PassageIndex;
  readonly #upkeep: IndexUpkeep;

  constructor(index: PassageIndex, upkeep: IndexUpkeep) {
    this.#index = index;
    this.#upkeep = upkeep;
  }

  /**
   * The passages, best first, and the mode used: `hybrid` becomes `lexical` if there are no embeddings, or if the query
   * could not be embedded. Throws `embeddings_not_configured`, and the errors of `embed`, for `semantic` only.
   */
  async run(
    key: MemoryKey,
    search: Search,
    embed: EmbedQuery,
  ): Promise<{ results: ScoredPassage[]; mode: SearchMode }> {
    const state = await this.#index.state(key);
    if (state !== null && (state.analyser !== key.analyser || state.hasFormerWords))
      await this.#upkeep.noteAnalyser(key);
    if (state?.hasVectorsToCopy === true) await this.#upkeep.copyVectors(key);
    // No transaction waits for the provider.
    const near = await this.#near(key, search, {
      embed,
      hasVectors: typeof state?.embeddingModel === 'string',
    });
    const mode = near === null ? 'lexical' : search.mode;
    const results = await this.#index.read(key, async (view) => {
      const ranks = async (only: readonly PassageId[] | null) =>
        select(view, await rankBy(mode, view, { ...search, only }, near), search);
      const { users, filter, limit } = search;
      const few = isEmpty(filter) ? null : await view.matching(users, filter, fewPassages + 1);
      const first = await ranks(few !== null && few.length <= fewPassages ? few : null);
      if (first.isAll || first.passages.length >= limit) return first.passages;
      return (await ranks(await view.matching(users, filter, mostPassages))).passages;
    });
    return { results, mode };
  }

  /** The vector of the query; null to search by words alone. */
  async #near(
    key: MemoryKey,
    { mode, query }: Search,
    { embed, hasVectors }: { embed: EmbedQuery; hasVectors: boolean },
  ): Promise<Near | null> {
    if (mode === 'lexical' || (mode === 'hybrid' && !hasVectors)) return null;
    try {
      const { model, vector } = await embed(query);
      await this.#upkeep.noteModel(key, model);
      return { model, vector: normalised(vector) };
    } catch (error) {
      if (mode === 'hybrid' && error instanceof AppError) return null;
      throw error;
    }
  }
}

/** The first candidates, best first, and whether they are all. */
type Candidates = (limit: number) => { candidates: Fused[]; isAll: boolean };

async function rankBy(
  mode: SearchMode,
  view: IndexView,
  { users, query, filter, only }: Search & Extent,
  near: Near | null,
): Promise<Candidates> {
  const closest = near === null ? [] : await view.semantic(users, near, { filter, only });
  /** A filter passed by many is applied to the closest alone. */
  const isCut = near !== null && only === null && !isEmpty(filter);
  if (mode === 'semantic')
    return (limit) => ({ candidates: byMeaning(closest.slice(0, limit)), isAll: !isCut });
  const lexical = await view.lexical(users, query);
  const fused = near === null ? [] : await fuseAll(view, near, { closest, lexical, only });
  const known = new Set(fused.map(keyOf));
  return (limit) => {
    const words = byWords(lexical.top(limit, only));
    const isAll = words.length < limit && !isCut;
    if (mode === 'lexical') return { candidates: words, isAll };
    const rest = words.filter((passage) => !known.has(keyOf(passage)));
    const candidates = [...fused, ...rest].sort((a, b) => b.score - a.score).slice(0, limit);
    return { candidates, isAll };
  };
}

/** Joins the best by words and the closest, with both scores of each. */
async function fuseAll(
  view: IndexView,
  near: Near,
  { closest, lexical, only }: { closest: readonly Scored[]; lexical: Ranking; only: Extent['only'] },
): Promise<Fused[]> {
  const first = closest.slice(0, fusedCount);
  const known = new Set(first.map(keyOf));
  const worded = lexical.top(fusedCount, only);
  const further = worded.slice(0, comparedCount).filter((passage) => !known.has(keyOf(passage)));
  const compared = further.length === 0 ? [] : await view.compare(near, further);
  return fuse([...worded, ...lexical.top(first.length, first)], [...first, ...compared]);
}

/** Selects passages among candidates. `isAll`: more candidates would not help. */
async function select(
  view: IndexView,
  ranked: Candidates,
  search: Search,
): Promise<{ passages: ScoredPassage[]; isAll: boolean }> {
  let result: { passages: ScoredPassage[]; isAll: boolean } = { passages: [], isAll: true };
  for (const step of candidateSteps) {
    const { candidates, isAll } = ranked(Math.max(step, 3 * search.limit));
    const wanted = candidates.filter(({ score }) => score >= search.minScore);
    // Behind a passage with too low a score, all have one.
    result = {
      passages: await view.select(wanted, search),
      isAll: isAll || wanted.length < candidates.length,
    };
    if (isAll || result.passages.length >= search.limit) break;
  }
  return result;
}
