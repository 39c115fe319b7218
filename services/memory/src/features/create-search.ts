import { withTenant } from '@gatehouse/pg/pool';
import { limitedIndex, searchHandlers } from '../http/search.ts';
import { copyHalfVectors } from '../jobs/copy-half-vectors.ts';
import { embedPassages } from '../jobs/embed.ts';
import { reindexPassages } from '../jobs/reindex.ts';
import { callTool } from '../rpc/call-tool.ts';
import { recall } from '../rpc/recall.ts';
import { MemorySearch, type IndexUpkeep } from '../search/search.ts';
import { TraversalStore } from '../store/graph/traversal-store.ts';
import { EmbeddingStore } from '../store/search/embedding-store.ts';
import { HalfVectorStore } from '../store/search/half-vector-store.ts';
import { ReindexStore } from '../store/search/reindex-store.ts';
import { SearchStore } from '../store/search/search-store.ts';
import type { Ground } from './ground.ts';

/** Searches of clients and of models, and the jobs keeping the index as agents want it. */
export function createSearch({ app, rpc, jobs, peers, work, requestJob }: Ground) {
  const { agents, embedder } = peers;
  const requestEmbeddings = requestJob('embed');
  const embeddings = new EmbeddingStore(rpc);
  const reindexing = new ReindexStore(rpc);
  const upkeep: IndexUpkeep = {
    noteModel: async (key, model) => {
      await embeddings.noteModel(key, model, requestEmbeddings);
    },
    noteAnalyser: (key) => reindexing.noteAnalyser(key, requestJob('reindex')),
    copyVectors: (key) => withTenant(rpc, key.tenantId, (db) => requestJob('copy_half_vectors')(db, key)),
  };
  const search = new MemorySearch(limitedIndex(new SearchStore(app), work), upkeep);
  const recalling = new MemorySearch(new SearchStore(rpc), upkeep);
  return {
    handlers: searchHandlers({ agents, search, embedder }),
    rpcs: {
      recall: recall(recalling, embedder),
      callTool: callTool({ search: recalling, embedder, traversals: new TraversalStore(rpc) }),
    },
    jobs: {
      embed: embedPassages(new EmbeddingStore(jobs), embedder, (key, runAt) =>
        withTenant(jobs, key.tenantId, (db) => requestEmbeddings(db, key, runAt)),
      ),
      reindex: reindexPassages(new ReindexStore(jobs)),
      copy_half_vectors: copyHalfVectors(new HalfVectorStore(jobs)),
    },
  };
}
