import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
beforeEach(() => {
  memory.chat.model = 'embed-small';
  memory.chat.delayMs = 0;
});
afterAll(() => memory.stop());

async function untilEmbedded(tenant: TestTenant, path: string): Promise<void> {
  await eventually(async () => expect((await memory.get(tenant, path)).body.embedded).toBe(true));
}

async function tenantWithDocuments(): Promise<TestTenant> {
  const tenant = memory.makeTenant();
  await memory.put(tenant, 'car', 'My automobile is red.');
  await memory.put(tenant, 'dog', 'The hound sleeps.');
  for (const path of ['car', 'dog']) await untilEmbedded(tenant, path);
  return tenant;
}

const search = async (tenant: TestTenant, body: object) =>
  (await memory.search(tenant, { query: '', ...body })).body;

describe('semantic search', () => {
  it('finds passages by their meaning, once they are embedded in the background', async () => {
    const tenant = await tenantWithDocuments();
    expect(await memory.stats(tenant)).toMatchObject({ pending_embeddings: 0 });
    const { results, mode } = await search(tenant, { query: 'a car', mode: 'semantic', limit: 1 });
    expect([mode, results.map(({ path }) => path)]).toEqual(['semantic', ['car']]);
    expect(results[0]?.scores).toEqual({ lexical: null, semantic: results[0]?.score });
    expect(await memory.pathsFor(memory.makeTenant(), 'car')).toEqual([]);
  });

  it('embeds composed letters, however texts and queries are written', async () => {
    const tenant = memory.makeTenant();
    await memory.put(tenant, 'car', 'Automobile für Åre'.normalize('NFD'));
    await untilEmbedded(tenant, 'car');
    await search(tenant, { query: 'vehicle für Åre'.normalize('NFD'), mode: 'semantic' });
    expect(memory.chat.texts).toEqual(expect.arrayContaining(['\nAutomobile für Åre', 'vehicle für Åre']));
  });

  it('is joined with the words in hybrid search', async () => {
    const tenant = await tenantWithDocuments();
    const { results, mode } = await search(tenant, { query: 'puppy sleeps', limit: 1 });
    expect([mode, results[0]?.path]).toEqual(['hybrid', 'dog']);
    expect(results[0]?.scores.lexical).toBeGreaterThan(0);
    expect(results[0]?.scores.semantic).toBeGreaterThan(0.5);
    expect(results[0]?.score).toBeCloseTo(1);
  });

  it('leaves out what is near by neither words nor meaning, and what has too low a score', async () => {
    const tenant = await tenantWithDocuments();
    for (const mode of ['hybrid', 'semantic'] as const) {
      const { results } = await search(tenant, { query: 'a puppy, the sea', mode });
      expect([mode, results.map(({ path }) => path)]).toEqual([mode, ['dog']]);
      const score = results[0]?.score ?? 0;
      expect(
        (await search(tenant, { query: 'a puppy, the sea', mode, min_score: score })).results,
      ).toHaveLength(1);
      expect(
        (await search(tenant, { query: 'a puppy, the sea', mode, min_score: score + 0.001 })).results,
      ).toEqual([]);
    }
    memory.chat.model = null;
    const words = await search(tenant, { query: 'hound sleeps', min_score: 0.9 });
    expect([words.mode, words.results.map(({ path }) => path)]).toEqual(['lexical', ['dog']]);
  });

  it('embeds a replaced document anew, and forgets its vectors with it', async () => {
    const tenant = await tenantWithDocuments();
    await memory.put(tenant, 'car', 'A loaf from the bakery.');
    await untilEmbedded(tenant, 'car');
    const { results } = await search(tenant, { query: 'bread', mode: 'semantic', limit: 1 });
    expect(results[0]?.path).toBe('car');
    await memory.call('POST', `${tenant.base}/memory/forget`, {
      as: tenant.admin,
      body: { path_prefix: 'c' },
    });
    const vectors = await memory.rows('select number from memory.embeddings where tenant_id = $1', [
      tenant.id,
    ]);
    expect(vectors).toHaveLength(1);
  });

  it('never compares vectors of different models, and embeds all again with a new one', async () => {
    const tenant = await tenantWithDocuments();
    memory.chat.model = 'embed-large';
    // The passages are embedded after the query was.
    memory.chat.delayMs = 500;
    const first = await search(tenant, { query: 'car', mode: 'semantic' });
    expect(first.results).toEqual([]);
    memory.chat.delayMs = 0;
    await eventually(async () => {
      const { results } = await search(tenant, { query: 'car', mode: 'semantic', limit: 1 });
      expect(results[0]?.path).toBe('car');
      expect((await memory.stats(tenant)).pending_embeddings).toBe(0);
    });
  });

  it('finds the closest passages that a filter lets through, however many others are closer', async () => {
    const tenant = await tenantWithDocuments();
    await memory.put(tenant, 'cars', 'A car and a vehicle.\n\n'.repeat(2_000));
    await untilEmbedded(tenant, 'cars');
    const filter = { path_prefix: 'dog' };
    const { results } = await search(tenant, { query: 'car, car or dog', mode: 'semantic', filter });
    expect(results.map(({ path }) => path)).toEqual(['dog']);
  });

  it('embeds each passage once, however many puts come meanwhile, and others beside one that is refused', async () => {
    const tenant = memory.makeTenant();
    memory.chat.texts.length = 0;
    memory.chat.delayMs = 100;
    const words = ['ocean', 'loaf', 'hound', 'refused', 'puppy', 'vehicle'];
    for (const word of words) await memory.put(tenant, word, `The ${word} of ${tenant.id}.`);
    for (const path of words.filter((word) => word !== 'refused')) await untilEmbedded(tenant, path);
    memory.chat.delayMs = 0;
    const embedded = memory.chat.texts.filter((text) => text.includes(tenant.id));
    expect(embedded.toSorted()).toEqual([...new Set(embedded)].toSorted());
    expect(embedded).toHaveLength(words.length - 1);
    expect(await memory.stats(tenant)).toMatchObject({ pending_embeddings: 1 });
  });

  it('falls back to words when the query cannot be embedded, and says so', async () => {
    const tenant = await tenantWithDocuments();
    memory.chat.model = null;
    expect((await search(tenant, { query: 'hound' })).mode).toBe('lexical');
    const { error } = await search(tenant, { query: 'hound', mode: 'semantic' });
    expect(error.code).toBe('embeddings_not_configured');
  });

  it('without a model leaves documents as they are, and embeds them after the next put with one', async () => {
    memory.chat.model = null;
    const tenant = memory.makeTenant();
    await memory.put(tenant, 'sea', 'The ocean is wide.');
    await eventually(async () => {
      const [row] = await memory.rows('select embedding_model from memory.agents where tenant_id = $1', [
        tenant.id,
      ]);
      expect(row?.['embedding_model']).toBe('');
    });
    expect(await memory.stats(tenant)).toMatchObject({ documents: 1, pending_embeddings: 0 });
    memory.chat.model = 'embed-small';
    await memory.put(tenant, 'dog', 'A puppy.');
    await untilEmbedded(tenant, 'sea');
  });
});

describe('Recall', () => {
  const recall = async (tenant: TestTenant, query: string) => {
    const chat = await memory.peer('chat');
    const request = { agentId: tenant.agentId, analyser: 'english', query, limit: 5, minScore: 0 };
    const assertion = await memory.identity.assertion(tenant.admin);
    return chat.call('recall', request, { deadlineMs: 2_000, assertion });
  };

  it('uses the meaning if its embedding comes in time, and else the words', async () => {
    const tenant = await tenantWithDocuments();
    // On a busy machine an embedding may be late.
    await eventually(async () => {
      const near = await recall(tenant, 'my vehicle');
      expect([near.mode, near.passages[0]?.path]).toEqual(['hybrid', 'car']);
    });
    memory.chat.delayMs = 1_000;
    const began = performance.now();
    const lexical = await recall(tenant, 'the hound');
    expect([lexical.mode, lexical.passages.map(({ path }) => path)]).toEqual(['lexical', ['dog']]);
    expect(performance.now() - began).toBeLessThan(900);
  });
});
