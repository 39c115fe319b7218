import { newId } from '@gatehouse/kit/ids';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { splitMarkdown } from '@gatehouse/service-memory/documents/split-markdown';
import { MemorySearch } from '@gatehouse/service-memory/search/search';
import type { MemoryKey } from '@gatehouse/service-memory/shared/memory-key';
import { putDocument } from '@gatehouse/service-memory/store/documents/document-store';
import { SearchStore } from '@gatehouse/service-memory/store/search/search-store';

export type Texts = readonly (readonly [path: string, text: string])[];

/** Stores texts as the memory of a new agent, shared by its users. */
export async function loadMemory(pool: Pool, texts: Texts): Promise<MemoryKey> {
  const key = { tenantId: newId(), agentId: newId(), analyser: 'english' as const };
  for (const [path, text] of texts) {
    const document = {
      ...{ path, text, userId: '', title: null, metadata: {}, at: new Date() },
      source: { kind: 'api' as const, run_id: null, session_id: null },
      passages: splitMarkdown(text),
    };
    await withTenant(pool, key.tenantId, (db) => putDocument(db, key, document));
  }
  return key;
}

const none = (): Promise<void> => Promise.resolve();

/** Searches without the upkeep of an index. */
export function searchOf(pool: Pool): MemorySearch {
  return new MemorySearch(new SearchStore(pool), {
    noteModel: none,
    noteAnalyser: none,
    copyVectors: none,
  });
}
