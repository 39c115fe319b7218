import type { SearchMode } from '@gatehouse/contract/memory';
import { AppError } from '@gatehouse/kit/errors';
import type { Analyser, MemoryKey } from '../documents/memory-key.ts';
import { alone, fuse, keyOf, type Fused } from './fusion.ts';
import type { Ranking, Scored } from './ranking.ts';
import { normalised } from './vectors.ts';

/** Which documents a search looks at: those that match all that is set. */
export interface SearchFilter {
  pathPrefix: string | null;
  /** Members that the metadata must have. */
  metadata: Record<string, unknown> | null;
  since: string | null;
  until: string | null;
}

export const noFilter: SearchFilter = { pathPrefix: null, metadata: null, since: null, until: null };

export interface Search {
  users: readonly string[];
  query: string;
  limit: number;
  mode: SearchMode;
  filter: SearchFilter;
}

/** A passage that was found. */
export interface FoundPassage extends Fused {
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
  /** The embedding model whose vectors the memory has; null if it has none. */
  embeddingModel: string | null;
  /** Whether pgvector lacks vectors that were stored before the database had it. */
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
  /** The passages of matching documents whose vectors of this model are closest, best first. */
  semantic(users: readonly string[], near: Near, filter: SearchFilter): Promise<Scored[]>;
  /** The passages among the candidates that the filter lets through, in their order. */
  select(candidates: readonly Fused[], which: Pick<Search, 'filter' | 'limit'>): Promise<FoundPassage[]>;
}

/** A vector of length 1, and the model that made it. */
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

/** Keeps the index of a memory up to date with the settings that searches see. */
export interface IndexUpkeep {
  /** Called with the embedding model that is in use. */
  noteModel(key: MemoryKey, model: string): Promise<void>;
  /** Called when the index was not built by the agent's analyser. */
  noteAnalyser(key: MemoryKey): Promise<void>;
  /** Called when pgvector lacks vectors of the memory. */
  copyVectors(key: MemoryKey): Promise<void>;
}

/** Passages that each ranking hands to the fusion. */
const fusedCount = 200;
/** Passages that are looked at, best first; more when a filter leaves too few. */
const candidateSteps = [0, 1_000, Infinity];

/** Searches the memory of an agent in all modes. */
export class MemorySearch {
  readonly #index: PassageIndex;
  readonly #upkeep: IndexUpkeep;

  constructor(index: PassageIndex, upkeep: IndexUpkeep) {
    this.#index = index;
    this.#upkeep = upkeep;
  }

  /**
   * The passages, best first, and the mode that found them: `hybrid` becomes `lexical` if there are no embeddings, or if
   * the query could not be embedded. Throws `embeddings_not_configured`, and the errors of `embed`, for `semantic` only.
   */
  async run(
    key: MemoryKey,
    search: Search,
    embed: EmbedQuery,
  ): Promise<{ results: FoundPassage[]; mode: SearchMode }> {
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
      const ranked = await rankBy(mode, view, search, near);
      return select(view, ranked, search);
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

/** The first candidates, best first. */
type Candidates = (limit: number) => Fused[];

async function rankBy(
  mode: SearchMode,
  view: IndexView,
  { users, query, filter }: Search,
  near: Near | null,
): Promise<Candidates> {
  const closest = near === null ? [] : (await view.semantic(users, near, filter)).slice(0, fusedCount);
  if (mode === 'semantic') return (limit) => alone(closest.slice(0, limit), 'semantic');
  const lexical = await view.lexical(users, query);
  if (mode === 'lexical') return (limit) => alone(lexical.top(limit), 'lexical');
  const fused = fuse(lexical.top(fusedCount), closest);
  const known = new Set(fused.map(keyOf));
  return (limit) => {
    if (limit <= fused.length) return fused.slice(0, limit);
    const rest = lexical.top(limit).filter((passage) => !known.has(keyOf(passage)));
    return [...fused, ...alone(rest, 'lexical').map((passage) => ({ ...passage, score: 0 }))].slice(0, limit);
  };
}

async function select(view: IndexView, ranked: Candidates, search: Search): Promise<FoundPassage[]> {
  for (const step of candidateSteps) {
    const count = Math.max(step, 3 * search.limit);
    const candidates = ranked(count);
    const passages = await view.select(candidates, search);
    if (passages.length >= search.limit || candidates.length < count) return passages;
  }
  return [];
}
