import type { SearchMode } from '@gatehouse/contract/memory';
import { AppError } from '@gatehouse/kit/errors';
import type { Analyser, MemoryKey } from '../documents/memory-key.ts';
import { alone, fuse, type Fused } from './fusion.ts';
import type { Scored } from './ranking.ts';
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
  /** Changes whenever an import is published. */
  published: string;
}

/** The index of passages. */
export interface PassageIndex {
  /** Passages with words of the query, best first. */
  lexical(key: MemoryKey, users: readonly string[], query: string): Promise<Scored[]>;
  /** The embedding model whose vectors the memory has; null if it has none. */
  embeddingModel(key: MemoryKey): Promise<string | null>;
  /** The passages whose vectors of this model are closest, best first. */
  semantic(
    key: MemoryKey,
    users: readonly string[],
    near: { model: string; vector: Float32Array },
  ): Promise<Scored[]>;
  /** Null for an agent without a memory. */
  state(key: MemoryKey): Promise<IndexState | null>;
  /** The passages among the candidates that the filter lets through, in their order. */
  select(
    key: MemoryKey,
    candidates: readonly Fused[],
    which: Pick<Search, 'filter' | 'limit'>,
  ): Promise<FoundPassage[]>;
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
}

/** Passages that each ranking hands to the fusion. */
const fusedCount = 200;
/** Passages that are looked at, best first; more when a filter leaves too few. */
const candidateSteps = [0, 1_000, Infinity];

const maxAttempts = 3;

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
   * the query could not be embedded. Searches again if an import was published meanwhile, which may have replaced what
   * was ranked. Throws `embeddings_not_configured`, and the errors of `embed`, for `semantic` only.
   */
  async run(
    key: MemoryKey,
    search: Search,
    embed: EmbedQuery,
  ): Promise<{ results: FoundPassage[]; mode: SearchMode }> {
    let state = await this.#index.state(key);
    if (state !== null && state.analyser !== key.analyser) await this.#upkeep.noteAnalyser(key);
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#once(key, search, embed);
      const now = await this.#index.state(key);
      if (now?.published === state?.published || attempt === maxAttempts) return found;
      state = now;
    }
  }

  async #once(
    key: MemoryKey,
    search: Search,
    embed: EmbedQuery,
  ): Promise<{ results: FoundPassage[]; mode: SearchMode }> {
    const { users, query, mode } = search;
    if (mode === 'semantic') {
      const near = await this.#near(key, users, await embed(query));
      return { results: await this.#select(key, alone(near, 'semantic'), search), mode };
    }
    const [lexical, semantic] = await Promise.all([
      this.#index.lexical(key, users, query),
      mode === 'hybrid' ? this.#nearIfPossible(key, search, embed) : null,
    ]);
    if (semantic === null)
      return { results: await this.#select(key, alone(lexical, 'lexical'), search), mode: 'lexical' };
    const fused = fuse(lexical.slice(0, fusedCount), semantic);
    const rest = alone(lexical.slice(fusedCount), 'lexical').map((passage) => ({ ...passage, score: 0 }));
    return { results: await this.#select(key, [...fused, ...rest], search), mode: 'hybrid' };
  }

  async #nearIfPossible(
    key: MemoryKey,
    { users, query }: Search,
    embed: EmbedQuery,
  ): Promise<Scored[] | null> {
    if ((await this.#index.embeddingModel(key)) === null) return null;
    try {
      return await this.#near(key, users, await embed(query));
    } catch (error) {
      if (error instanceof AppError) return null;
      throw error;
    }
  }

  async #near(key: MemoryKey, users: readonly string[], { model, vector }: QueryVector): Promise<Scored[]> {
    await this.#upkeep.noteModel(key, model);
    const near = await this.#index.semantic(key, users, { model, vector: normalised(vector) });
    return near.slice(0, fusedCount);
  }

  async #select(key: MemoryKey, ranked: readonly Fused[], search: Search): Promise<FoundPassage[]> {
    for (const step of candidateSteps) {
      const candidates = ranked.slice(0, Math.max(step, 3 * search.limit));
      const passages = await this.#index.select(key, candidates, search);
      if (passages.length >= search.limit || candidates.length === ranked.length) return passages;
    }
    return [];
  }
}
