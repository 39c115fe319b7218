import { defaultMinScore } from '@gatehouse/contract/agents';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import type { MemoryKey } from '@gatehouse/service-memory/shared/memory-key';
import { noFilter } from '@gatehouse/service-memory/search/search';
import { subjectOf } from '@gatehouse/service-memory/search/small-talk';
import { indexOnly } from '@gatehouse/service-memory/config';
import { EmbeddingStore } from '@gatehouse/service-memory/store/search/embedding-store';
import { withDatabase } from './database.ts';
import { loadMemory, searchOf } from './recall-memory.ts';
import { memory, messages } from './recall-set.ts';
import { loadModel, type TextModel } from './text-model.ts';

/**
 * `make bench`: which passages an agent recalls for messages, by the score that they need. Half of the messages are
 * about something else, or about nothing; each passage that these recall costs tokens.
 */

const recallLimit = 5;
const charactersOfToken = 4;

await withDatabase('memory', async ({ url }) => {
  const log = createLogger('bench', 'silent');
  const pool = createPool({ url, role: 'memory_app', max: 4, log, settings: indexOnly });
  const key = await loadMemory(pool, Object.entries(memory));
  console.log(
    `${messages.length} messages, ${messages.filter(isAnswered).length} about something in the memory`,
  );
  await measure(pool, key, 'lexical', null);
  const model = await loadModel();
  if (model === null) console.log('hybrid recall skipped: the embedding model could not be installed');
  else {
    await embed(pool, key, model);
    await measure(pool, key, 'hybrid', model);
  }
  await pool.end();
});

function isAnswered([, ...passages]: (typeof messages)[number]): boolean {
  return passages.length > 0;
}

async function embed(pool: Pool, key: MemoryKey, model: TextModel): Promise<void> {
  const store = new EmbeddingStore(pool);
  const chunks = await store.pending(key, { limit: 1_000, without: [] });
  await store.save(key, chunks, {
    model: 'bench',
    vectors: await model.embed(chunks.map(({ text }) => text)),
  });
}

async function measure(
  pool: Pool,
  key: MemoryKey,
  mode: 'lexical' | 'hybrid',
  model: TextModel | null,
): Promise<void> {
  const search = searchOf(pool);
  console.log(`\n${mode.padEnd(12)}found   others   tokens of others`);
  for (const minScore of [0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6]) {
    let [found, others, characters] = [0, 0, 0];
    for (const [message, ...wanted] of messages) {
      const query = subjectOf(message);
      if (query === '') continue;
      const asked = { users: [''], query, limit: recallLimit, mode, filter: noFilter, minScore };
      const { results } = await search.run(key, asked, async (text) => {
        const [vector = []] = (await model?.embed([text])) ?? [];
        return { model: 'bench', vector };
      });
      if (results.some(({ path }) => wanted.includes(path))) found += 1;
      for (const { path, text } of results.filter((result) => !wanted.includes(result.path))) {
        others += 1;
        characters += path.length + text.length;
      }
    }
    const tokens = Math.round(characters / charactersOfToken);
    const mark = minScore === defaultMinScore ? '   the default' : '';
    console.log(
      `  from ${minScore.toFixed(2)}${String(found).padStart(6)}${String(others).padStart(9)}${String(tokens).padStart(11)}${mark}`,
    );
  }
}
