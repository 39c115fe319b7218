import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { copyHalfVectors } from '@gatehouse/service-memory/jobs/copy-half-vectors';
import type { MemoryKey } from '@gatehouse/service-memory/shared/memory-key';
import { firstPlace } from '@gatehouse/service-memory/store/search/place';
import { migrations } from '@gatehouse/service-memory/config';
import { migrateService } from '@gatehouse/shell/migrate';
import { createLogger } from '@gatehouse/kit/log';
import { newId } from '@gatehouse/kit/ids';
import { postgresBinariesIn } from '@gatehouse/local/postgres-binaries';
import { eventually } from '@gatehouse/test/eventually';
import { PlainOwnerServer } from '@gatehouse/test/plain-owner';
import { query } from '@gatehouse/test/query';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { MemoryServiceUnderTest } from '../../../services/memory/test/memory-service.ts';
import {
  randomVector,
  randomVectors,
  recallAt10,
  StoredVectors,
} from '../../../services/memory/test/stored-vectors.ts';

/** Sketches of so few bits find little, so recall shows whether pgvector was used. */
const size = 16;
const few = 0.9;

function migrateMemory({ adminUrl, url }: { adminUrl: string; url: string }): Promise<void> {
  return migrateService({ service: 'memory', adminUrl, serviceUrl: url, directory: migrations });
}

describe('a database with pgvector', () => {
  let stored: StoredVectors;
  let vectors: Float32Array[];
  let key: MemoryKey;
  beforeAll(async () => {
    vectors = randomVectors(5_000, size);
  });
  beforeEach(async () => {
    stored = await StoredVectors.prepare();
    key = stored.makeAgent();
  });
  afterEach(() => stored.stop());

  const recall = (among = vectors) =>
    recallAt10(among, randomVectors(20, size), (query) => stored.closest(key, query));
  const copy = () =>
    copyHalfVectors(stored.copies)(
      { agentId: key.agentId },
      {
        tenantId: key.tenantId,
        jobId: '',
        attempt: 1,
        lastAttempt: false,
        signal: new AbortController().signal,
        log: createLogger('test', 'silent'),
      },
    );

  it('finds all of the closest passages', async () => {
    await stored.add(key, vectors);
    expect(await recall()).toBeGreaterThan(0.99);
    expect(stored.requested).toEqual([]);
    expect(await tablesWithoutPolicies(stored.database.adminUrl, 'memory')).toEqual([]);
  });

  it('may get it later: sketches are used until the vectors of the agent are copied', async () => {
    await stored.admin.query('drop extension vector cascade');
    await stored.add(key, vectors);
    expect(await recall()).toBeLessThan(few);
    expect(stored.requested).toEqual([]);
    await copy();
    await migrateMemory(stored.database);
    expect(await recall()).toBeLessThan(few);

    await stored.admin.query('create schema elsewhere');
    await stored.admin.query('grant usage on schema elsewhere to memory_app');
    await stored.admin.query('create extension vector schema elsewhere');
    expect(await recall()).toBeLessThan(few);
    await migrateMemory(stored.database);
    expect(
      await stored.copies.copy({ ...key, tenantId: stored.makeAgent().tenantId }, firstPlace, 10),
    ).toBeNull();
    expect(await recall()).toBeLessThan(few);
    expect(new Set(stored.requested)).toEqual(new Set([key.agentId]));
    // Rows that a replica without knowledge of the extension stores meanwhile need no copy.
    await stored.add(stored.makeAgent(key.tenantId), randomVectors(1, size));
    const { rows } = await stored.admin.query<{ waiting: string }>(
      'select (select count(*) from memory.embeddings) - (select count(*) from memory.half_vectors) as waiting',
    );
    expect(rows).toEqual([{ waiting: '5000' }]);
    await copy();
    await migrateMemory(stored.database);
    expect(await recall()).toBeGreaterThan(0.99);
  });

  it('may lose it', async () => {
    await stored.add(key, vectors);
    await stored.admin.query('drop extension vector cascade');
    expect(await recall()).toBeLessThan(few);
    const more = randomVectors(5, size);
    await stored.add(key, more);
    await stored.admin.query('create extension vector');
    await migrateMemory(stored.database);
    await copy();
    expect(await recall([...vectors, ...more])).toBeGreaterThan(0.99);
  });

  it('stores any vector, also one that pgvector does not take', async () => {
    const odd = [Float32Array.of(NaN, 1), Float32Array.of(Infinity, 1e-40), Float32Array.of(1e30, -1e30)];
    await stored.add(key, odd);
    expect(await stored.closest(key, Float32Array.of(0, 1))).toHaveLength(3);
    const long = randomVector(16_001);
    await stored.add(key, [long], { model: 'long' });
    expect(await stored.closest(key, long, { model: 'long' })).toEqual([3]);
  });

  it('uses an index of the operator for a large agent, and stays within the agent', async () => {
    const [other, small] = [stored.makeAgent(key.tenantId), stored.makeAgent(key.tenantId)];
    await stored.add(key, vectors);
    await stored.add(other, vectors.slice(0, 500));
    await stored.add(small, vectors.slice(0, 20));
    await stored.admin.query(
      `create index concurrently half_vectors_hnsw_16 on memory.half_vectors
       using hnsw ((vector::halfvec(16)) halfvec_ip_ops) where vector_dims(vector) = 16`,
    );
    await stored.admin.query('analyze memory.half_vectors');
    expect(await recall()).toBeGreaterThanOrEqual(0.95);
    await eventually(async () => {
      const { rows } = await stored.admin.query<{ scans: string }>(
        `select idx_scan as scans from pg_stat_user_indexes where indexrelname = 'half_vectors_hnsw_16'`,
      );
      expect(Number(rows[0]?.scans)).toBeGreaterThan(0);
    });
    expect(await stored.closest(small, randomVector(size))).toHaveLength(20);
    const [first = randomVector(size)] = vectors;
    expect((await stored.closest(other, first))[0]).toBe(0);
  });
});

describe('an owner of the tables without superuser rights', () => {
  it('migrates to pgvector once a superuser has installed it', async () => {
    const server = await PlainOwnerServer.start(
      postgresBinariesIn(path.join(process.env['TEST_PGVECTOR'] ?? '', 'bin')),
    );
    await server.createDatabase('memory');
    const superuserUrl = server.superuserUrl('memory');
    const urls = { adminUrl: server.ownerUrl('memory'), url: server.serviceUrl('memory', 'memory') };
    await migrateMemory(urls);
    const [tenantId, agentId] = [newId(), newId()];
    await query(
      superuserUrl,
      `insert into memory.agents (tenant_id, agent_id, analyser) values ('${tenantId}', '${agentId}', 'english')`,
    );
    await query(superuserUrl, 'create extension vector');
    await migrateMemory(urls);
    await migrateMemory(urls);
    const agents = 'select half_vectors_complete as complete from memory.agents';
    expect(await query(superuserUrl, agents)).toEqual([{ complete: false }]);
    expect(await tablesWithoutPolicies(superuserUrl, 'memory')).toEqual([]);
    await query(superuserUrl, 'drop extension vector cascade');
    expect(
      await query(superuserUrl, `select tgname from pg_trigger where tgname = 'embeddings_half_vector'`),
    ).toEqual([]);
    await server.stop();
  });
});

describe('a service whose database gets pgvector', () => {
  let memory: MemoryServiceUnderTest;
  beforeAll(async () => {
    memory = await MemoryServiceUnderTest.start();
    memory.chat.model = 'embed-small';
  });
  afterAll(() => memory.stop());

  it('copies the vectors of an agent after its next search, without a restart', async () => {
    await memory.rows('drop extension vector cascade');
    const tenant = memory.makeTenant();
    await memory.put(tenant, 'dog', 'The hound sleeps.');
    await eventually(async () => expect((await memory.get(tenant, 'dog')).body.embedded).toBe(true));
    await memory.rows('create extension vector');
    await migrateMemory(memory.ground.database);
    const search = async () =>
      (await memory.search(tenant, { query: 'puppy', mode: 'semantic' })).body.results.map(
        ({ path }) => path,
      );
    expect(await search()).toEqual(['dog']);
    await eventually(async () => {
      const rows = await memory.rows(
        `select half_vectors_complete as complete, number as copied from memory.agents, memory.half_vectors`,
      );
      expect(rows).toEqual([{ complete: true, copied: 0 }]);
    });
    expect(await search()).toEqual(['dog']);
  });
});
