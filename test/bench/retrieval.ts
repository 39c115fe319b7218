import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { splitMarkdown } from '@gatehouse/service-memory/documents/split-markdown';
import type { MemoryKey } from '@gatehouse/service-memory/shared/memory-key';
import { MemorySearch, noFilter } from '@gatehouse/service-memory/search/search';
import { indexOnly } from '@gatehouse/service-memory/config';
import { putDocument } from '@gatehouse/service-memory/store/documents/document-store';
import { EmbeddingStore } from '@gatehouse/service-memory/store/search/embedding-store';
import { SearchStore } from '@gatehouse/service-memory/store/search/search-store';
import { Client } from 'pg';
import { percentile, withDatabase } from './database.ts';
import { loadModel, type TextModel } from './text-model.ts';
import { bible, newTestament, type Corpus, type Question } from './verses.ts';

/**
 * `make bench`: how often the passage with the answer is among the first that a search finds. PostgreSQL's own ranking is
 * asked the same questions about the same passages.
 */

const users = [''];
const batch = 32;

interface Passage {
  path: string;
  startLine: number;
  endLine: number;
}

type Ask = (question: string) => Promise<Passage[]>;

await withDatabase('memory', async ({ adminUrl, url }) => {
  const log = createLogger('bench', 'silent');
  const pool = createPool({ url, role: 'memory_app', max: 4, log, settings: indexOnly });
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  await compare(pool, admin, bible, null);
  const model = await loadModel();
  if (model === null)
    console.log('semantic and hybrid search skipped: the embedding model could not be installed');
  else await compare(pool, admin, newTestament, model);
  await admin.end();
  await pool.end();
});

/** Asks all questions in each way. */
async function compare(pool: Pool, admin: Client, corpus: Corpus, model: TextModel | null): Promise<void> {
  const key = { tenantId: newId(), agentId: newId(), analyser: 'english' as const };
  await load(pool, key, corpus);
  const search = new MemorySearch(new SearchStore(pool), {
    noteModel: () => Promise.resolve(),
    noteAnalyser: () => Promise.resolve(),
    copyVectors: () => Promise.resolve(),
  });
  const ask =
    (mode: 'lexical' | 'semantic' | 'hybrid'): Ask =>
    async (query) => {
      const { results } = await search.run(
        key,
        { users, query, limit: 10, mode, filter: noFilter, minScore: 0 },
        () => Promise.resolve({ model: 'bench', vector: model?.known(query) ?? [] }),
      );
      return results;
    };
  const { name, chapters, questions } = corpus;
  console.log(
    `${questions.length} questions about ${name}, ${chapters.length} documents, in the words of another translation`,
  );
  console.log('                          recall@5   recall@10   nDCG@10   p50 ms   p95 ms');
  await measure('ts_rank', questions, await tsRank(admin, key));
  await measure('lexical', questions, ask('lexical'));
  if (model === null) return;
  await embedAll(new EmbeddingStore(pool), key, model);
  // The time of the model is not counted.
  for (const { text } of questions) await model.embed([text]);
  await measure(`semantic (${model.name})`, questions, ask('semantic'));
  await measure('hybrid', questions, ask('hybrid'));
}

async function load(pool: Pool, key: MemoryKey, { chapters }: Corpus): Promise<void> {
  for (const { path, text } of chapters) {
    const document = {
      ...{ path, text, userId: '', title: null, metadata: {}, at: new Date() },
      source: { kind: 'api' as const, run_id: null, session_id: null },
      passages: splitMarkdown(text),
    };
    await withTenant(pool, key.tenantId, (db) => putDocument(db, key, document));
  }
}

async function embedAll(store: EmbeddingStore, key: MemoryKey, model: TextModel): Promise<void> {
  for (;;) {
    const chunks = await store.pending(key, { limit: batch, without: [] });
    if (chunks.length === 0) return;
    const vectors = await model.embed(chunks.map(({ text }) => text));
    await store.save(key, chunks, { model: 'bench', vectors });
  }
}

/** Any word of the question, ranked by `ts_rank` with the length of the passage, over an index of its own. */
async function tsRank(admin: Client, { agentId }: MemoryKey): Promise<Ask> {
  await admin.query('drop table if exists passages');
  await admin.query(
    `create temporary table passages as
     select d.path, c.start_line as "startLine", c.end_line as "endLine",
            to_tsvector('english', c.context || E'\n' || c.text) as words
     from memory.chunks as c join memory.documents as d on d.id = c.document_id
     join memory.scopes as s on s.id = c.scope_id and s.agent_id = '${agentId}'`,
  );
  await admin.query('create index on passages using gin (words)');
  await admin.query('analyze passages');
  return async (question) => {
    const { rows } = await admin.query<Passage>(
      `select path, "startLine", "endLine" from passages,
         (select string_agg(quote_literal(word), ' | ')::tsquery as query
          from unnest(tsvector_to_array(to_tsvector('english', $1))) as word) as asked
       where words @@ query order by ts_rank(words, query, 1) desc limit 10`,
      [question],
    );
    return rows;
  };
}

async function measure(name: string, questions: readonly Question[], ask: Ask): Promise<void> {
  const times: number[] = [];
  let [five, ten, gain] = [0, 0, 0];
  for (const question of questions) {
    const startedAt = performance.now();
    const found = await ask(question.text);
    times.push(performance.now() - startedAt);
    const place = found.findIndex((passage) => answers(passage, question));
    if (place < 0) continue;
    five += place < 5 ? 1 : 0;
    ten += 1;
    gain += 1 / Math.log2(place + 2);
  }
  const share = (sum: number) => ((100 * sum) / questions.length).toFixed(1);
  const ms = (at: number) => percentile(times, at).toFixed(1);
  console.log(
    `  ${name.padEnd(24)}${share(five).padStart(8)}${share(ten).padStart(12)}${share(gain).padStart(10)}${ms(0.5).padStart(9)}${ms(0.95).padStart(9)}`,
  );
}

function answers({ path, startLine, endLine }: Passage, question: Question): boolean {
  return path === question.path && startLine <= question.line && question.line <= endLine;
}
