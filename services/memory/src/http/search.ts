import type { Passage, SearchMemory } from '@gatehouse/contract/memory';
import { type Call, type Handler } from '@gatehouse/http/app';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { FairQueue } from '@gatehouse/kit/fair-queue';
import type { MemoryAgents } from '../clients/agents.ts';
import type { Embedder } from '../clients/embedder.ts';
import type { ScoredPassage, MemorySearch, PassageIndex } from '../search/search.ts';
import { agentScope, readableUsers } from '../shared/memory-key.ts';
import { memoryOf } from './memory-call.ts';

export interface SearchDependencies {
  agents: MemoryAgents;
  search: MemorySearch;
  embedder: Embedder;
}

/** `/v1/agents/{agentID}/memory/search` */
export function searchHandlers({ agents, search, embedder }: SearchDependencies): Record<string, Handler> {
  return {
    'memory.search': async (call: Call<SearchMemory>) => {
      const { key, principal } = await memoryOf(call, agents);
      const { query, limit, mode, filter, min_score: minScore } = call.body;
      const startedAt = monotonicMs();
      const response = await search.run(
        key,
        {
          users: readableUsers(principal),
          query,
          limit,
          mode,
          minScore,
          filter: {
            pathPrefix: filter.path_prefix ?? null,
            metadata: filter.metadata ?? null,
            since: filter.since ?? null,
            until: filter.until ?? null,
          },
        },
        (text) => embedder.query(call, { agentId: key.agentId, text }),
      );
      const tookMs = Math.round((monotonicMs() - startedAt) * 10) / 10;
      const results = response.results.map(showPassage);
      return { body: { results, mode: response.mode, took_ms: tookMs } };
    },
  };
}

/** The same index for requests: no tenant reads it more than a few times at once. A provider holds up no read. */
export function limitedIndex(index: PassageIndex, work: FairQueue): PassageIndex {
  return {
    state: (key) => index.state(key),
    read: (key, inside) => work.run(key.tenantId, () => index.read(key, inside)),
  };
}

function showPassage(passage: ScoredPassage): Passage {
  const { documentId, path, title, text, startLine, endLine, userId, metadata, updatedAt } = passage;
  return {
    document_id: documentId,
    path,
    title,
    text,
    start_line: startLine,
    end_line: endLine,
    score: passage.score,
    scores: { lexical: passage.lexical, semantic: passage.semantic },
    scope: userId === agentScope ? 'agent' : 'user',
    metadata,
    updated_at: updatedAt.toISOString(),
  };
}
