import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import type { MemoryKey } from '@gatehouse/service-memory/shared/memory-key';
import { splitMarkdown } from '@gatehouse/service-memory/documents/split-markdown';
import { MemorySearch, noFilter, type SearchFilter } from '@gatehouse/service-memory/search/search';
import { indexOnly } from '@gatehouse/service-memory/config';
import { putDocument } from '@gatehouse/service-memory/store/documents/document-store';
import { ImportStore } from '@gatehouse/service-memory/store/imports/import-store';
import { noLimits } from '@gatehouse/service-memory/store/scopes/scope-store';
import { SearchStore } from '@gatehouse/service-memory/store/search/search-store';
import { percentile, withDatabase } from './database.ts';
import { bible } from './verses.ts';

/** `make bench`: how fast passages are imported and found, with 100,000 in one agent, and 1,000 other agents. */

const passages = 100_000;
const agents = 1_000;
/** Chapters of one document, in an order of their own each time, so that documents differ. */
const chaptersOfDocument = 25;
const documentsOfBatch = 4;
const asked = 400;

const tenantId = newId();
const source = { kind: 'import' as const, run_id: null, session_id: null };
const { chapters, questions } = bible;

await withDatabase('memory', async ({ url }) => {
  const log = createLogger('bench', 'silent');
  const pool = createPool({ url, role: 'memory_app', max: 4, log, settings: indexOnly });
  const large = makeKey();
  await importPassages(pool, large);
  const small = await makeAgents(pool);
  const search = new MemorySearch(new SearchStore(pool), {
    noteModel: () => Promise.resolve(),
    noteAnalyser: () => Promise.resolve(),
    copyVectors: () => Promise.resolve(),
  });
  console.log('\nlexical search for 5 to 15 words       p50 ms   p95 ms');
  await measure(search, `of ${passages} passages`, () => large);
  const one = { path: 'document/7' };
  await measure(search, 'in one of its documents, by path', () => large, { pathPrefix: one.path });
  await measure(search, 'in one of its documents, by metadata', () => large, { metadata: one });
  await measure(search, 'in all of its documents, by path', () => large, { pathPrefix: 'document/' });
  await measure(search, `of the other ${agents} agents`, (round) => small[round % agents] ?? large);
  await pool.end();
});

function makeKey(): MemoryKey {
  return { tenantId, agentId: newId(), analyser: 'english' };
}

function documentOf(path: string, text: string) {
  const own = { path, text, passages: splitMarkdown(text) };
  return { ...own, userId: '', title: null, metadata: { path }, source, at: new Date(), line: 1 };
}

async function importPassages(pool: Pool, key: MemoryKey): Promise<void> {
  const store = new ImportStore(pool);
  const begun = await store.begin(key);
  if (begun === null) throw new Error('an import is under way');
  let stored = 0;
  const startedAt = performance.now();
  for (let number = 0; stored < passages; number += documentsOfBatch) {
    const documents = Array.from({ length: documentsOfBatch }, (_, index) =>
      documentOf(`document/${number + index}`, textOf(number + index)),
    );
    await store.stage(begun, documents);
    stored += documents.reduce((sum, document) => sum + document.passages.length, 0);
  }
  await withTenant(pool, tenantId, (db) => store.publish(db, begun, noLimits));
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`import of ${stored} passages: ${(stored / seconds).toFixed(0)} passages/s`);
}

/** Chapters that are far apart. Steps of each document differ, so that few have the same neighbours. */
function textOf(number: number): string {
  const step = 1 + 2 * number;
  return Array.from(
    { length: chaptersOfDocument },
    (_, index) => chapters[(number + index * step) % chapters.length]?.text ?? '',
  ).join('\n\n');
}

async function makeAgents(pool: Pool): Promise<MemoryKey[]> {
  const keys: MemoryKey[] = [];
  for (let number = 0; number < agents; number += 1) {
    const key = makeKey();
    const { path, text } = chapters[number % chapters.length] ?? { path: 'none', text: 'none' };
    await withTenant(pool, tenantId, (db) => putDocument(db, key, documentOf(path, text)));
    keys.push(key);
  }
  return keys;
}

async function measure(
  search: MemorySearch,
  what: string,
  keyOf: (round: number) => MemoryKey,
  wanted: Partial<SearchFilter> = {},
): Promise<void> {
  const filter = { ...noFilter, ...wanted };
  const times: number[] = [];
  for (let round = 0; round < asked; round += 1) {
    const query = questions[round % questions.length]?.text ?? '';
    const startedAt = performance.now();
    await search.run(
      keyOf(round),
      { users: [''], query, limit: 10, mode: 'lexical', filter, minScore: 0 },
      () => Promise.reject(new Error('not asked')),
    );
    times.push(performance.now() - startedAt);
  }
  const ms = (share: number) =>
    percentile(times.slice(asked / 10), share)
      .toFixed(1)
      .padStart(9);
  console.log(`  ${what.padEnd(36)}${ms(0.5)}${ms(0.95)}`);
}
