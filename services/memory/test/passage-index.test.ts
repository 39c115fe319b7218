import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withTenant } from '@gatehouse/pg/pool';
import { everything } from '../src/store/documents/removal-store.ts';
import { randomVector, randomVectors, recallAt10, StoredVectors, vectorsOfTopics } from './stored-vectors.ts';

/**
 * The promises of semantic search, however the database compares vectors. `make test` runs it against sketches,
 * `make test-outside` also against pgvector.
 */
let stored: StoredVectors;
beforeAll(async () => {
  stored = await StoredVectors.prepare();
});
afterAll(() => stored.stop());

describe('the closest passages', () => {
  it('are those with the largest cosines, best first, with their cosine as score', async () => {
    const key = stored.makeAgent();
    const topics = randomVectors(40, 128);
    const vectors = vectorsOfTopics(1_000, topics);
    await stored.add(key, vectors);
    const search = (query: Float32Array) => stored.closest(key, query);
    expect(await recallAt10(vectors, vectorsOfTopics(40, topics), search)).toBeGreaterThanOrEqual(0.95);
    const [first = new Float32Array()] = vectors;
    const found = await stored.near(key, [''], { model: 'm', vector: first });
    expect(found[0]).toMatchObject({ number: 0, score: expect.closeTo(1, 5) });
    const scores = found.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  it('are all there are, if these are few', async () => {
    const key = stored.makeAgent();
    await stored.add(key, [...randomVectors(8, 4), new Float32Array(4)]);
    expect(await stored.closest(key, randomVector(4))).toHaveLength(9);
    expect(await stored.closest(stored.makeAgent(), randomVector(4))).toEqual([]);
  });

  it('are only those of the agent and the users that are asked for', async () => {
    const key = stored.makeAgent();
    const others = [stored.makeAgent(key.tenantId), stored.makeAgent()];
    const vector = randomVector(8);
    for (const each of [key, ...others])
      for (const user of ['', 'ann', 'bob']) await stored.add(each, [vector], { user });
    for (const users of [[''], ['', 'ann'], ['bob']]) {
      const found = await stored.near(key, users, { model: 'm', vector });
      expect(found).toHaveLength(users.length);
    }
  });

  it('never have a vector of another model, of the same size or not', async () => {
    const key = stored.makeAgent();
    await stored.add(key, randomVectors(5, 8));
    await stored.add(key, randomVectors(5, 8), { model: 'same size' });
    await stored.add(key, randomVectors(5, 12), { model: 'larger' });
    const numbers = async (model: string, size: number) =>
      (await stored.closest(key, randomVector(size), { model })).sort((a, b) => a - b);
    expect(await numbers('m', 8)).toEqual([0, 1, 2, 3, 4]);
    expect(await numbers('same size', 8)).toEqual([5, 6, 7, 8, 9]);
    expect(await numbers('larger', 12)).toEqual([10, 11, 12, 13, 14]);
    expect(await numbers('larger', 8)).toEqual([]);
  });

  it('have the vector that was stored last', async () => {
    const key = stored.makeAgent();
    const [before, after] = [Float32Array.of(1, 0), Float32Array.of(0, 1)];
    const scopeId = await stored.add(key, [before]);
    const { rows } = await stored.admin.query<{ id: string }>(
      'select document_id as id from memory.chunks where scope_id = $1',
      [scopeId],
    );
    const passage = { scopeId, number: 0, documentId: rows[0]?.id ?? '', text: '' };
    await stored.embeddings.save(key, [passage], { model: 'new', vectors: [[...after]] });
    expect(await stored.closest(key, before)).toEqual([]);
    const found = await stored.near(key, [''], { model: 'new', vector: after });
    expect(found).toMatchObject([{ number: 0, score: 1 }]);
  });

  it('are gone with what is forgotten', async () => {
    const key = stored.makeAgent();
    const vector = randomVector(8);
    for (const user of ['', 'ann']) await stored.add(key, [vector, vector], { user });
    const count = async () => (await stored.closest(key, vector, { users: ['', 'ann'] })).length;
    expect(await count()).toBe(4);
    await stored.forgetting.forget(key, everything(['ann']));
    expect(await count()).toBe(2);
    await stored.forgetting.forgetAgent(key);
    expect(await count()).toBe(0);
    const { rows } = await stored.admin.query('select number from memory.embeddings where tenant_id = $1', [
      key.tenantId,
    ]);
    expect(rows).toEqual([]);
  });
});

describe('row-level security', () => {
  it('alone keeps the vectors of tenants apart', async () => {
    const [own, other] = [stored.makeAgent(), stored.makeAgent()];
    const scopeId = await stored.add(own, randomVectors(3, 8));
    const otherScope = await stored.add(other, randomVectors(3, 8));
    const change = 'update memory.embeddings set vector = vector';
    const scopes = await withTenant(stored.pool, own.tenantId, async (db) => {
      expect((await db.query(change)).rowCount).toBe(3);
      return (await db.query<{ id: string }>('select distinct scope_id as id from memory.embeddings')).rows;
    });
    expect(scopes).toEqual([{ id: scopeId }]);
    await expect(stored.pool.query('select number from memory.embeddings')).rejects.toThrow('no tenant');
    expect(otherScope).not.toBe(scopeId);
  });
});
