import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { Client } from 'pg';
import type { MemoryKey } from '../src/shared/memory-key.ts';
import { normalised, packVector, sketchOf } from '../src/search/vectors.ts';
import { EmbeddingStore } from '../src/store/search/embedding-store.ts';
import { ForgetStore } from '../src/store/forgetting/forget-store.ts';
import type { Scored } from '../src/search/ranking.ts';
import { noFilter, type Near } from '../src/search/search.ts';
import { HalfVectorStore } from '../src/store/search/half-vector-store.ts';
import { SearchStore } from '../src/store/search/search-store.ts';

/** Passages with given vectors, and the stores that search and remove them. */
export class StoredVectors {
  readonly database: TestDatabase;
  /** As the superuser. */
  readonly admin: Client;
  readonly pool: Pool;
  readonly search: SearchStore;
  readonly embeddings: EmbeddingStore;
  readonly forgetting: ForgetStore;
  readonly copies: HalfVectorStore;
  /** The agents whose searches found that vectors are to be copied for pgvector. */
  readonly requested: string[] = [];

  private constructor(database: TestDatabase) {
    this.database = database;
    this.admin = new Client({ connectionString: database.adminUrl });
    const log = createLogger('test', 'silent');
    this.pool = createPool({ url: database.url, role: 'memory_app', max: 4, log });
    this.search = new SearchStore(this.pool);
    this.embeddings = new EmbeddingStore(this.pool);
    this.forgetting = new ForgetStore(this.pool);
    this.copies = new HalfVectorStore(this.pool);
  }

  static async prepare(): Promise<StoredVectors> {
    const prepared = new StoredVectors(await createTestDatabase('memory'));
    await prepared.admin.connect();
    return prepared;
  }

  makeAgent(tenantId = newId()): MemoryKey {
    return { tenantId, agentId: newId(), analyser: 'english' };
  }

  /** Stores a document of one passage for each vector. Returns the id of its scope. */
  async add(
    { tenantId, agentId }: MemoryKey,
    vectors: readonly Float32Array[],
    { user = '', model = 'm' }: { user?: string; model?: string } = {},
  ): Promise<string> {
    await this.admin.query(
      `insert into memory.agents (tenant_id, agent_id, analyser, embedding_model) values ($1, $2, 'english', $3)
       on conflict do nothing`,
      [tenantId, agentId, model],
    );
    const { rows } = await this.admin.query<{ id: string; first: number }>(
      `insert into memory.scopes as s (tenant_id, agent_id, user_id, documents, chunks, next_number)
       values ($1, $2, $3, 1, $4, $4)
       on conflict on constraint scopes_use_key do update
         set documents = s.documents + 1, chunks = s.chunks + $4, next_number = s.next_number + $4
       returning id, next_number - $4 as first`,
      [tenantId, agentId, user, vectors.length],
    );
    const [{ id, first } = { id: '', first: 0 }] = rows;
    await this.admin.query(
      `with document as (
         insert into memory.documents (id, tenant_id, scope_id, path, metadata, source_kind, text, bytes, chunks, embedded_by)
         values (gen_random_uuid(), $1, $2, 'document ' || $3::integer, '{}', 'api', '', 0, $4, $5) returning id
       ), passages as (
         insert into memory.chunks (tenant_id, scope_id, number, document_id, start_line, end_line, context, text, analyser,
           length, terms, counts)
         select $1, $2, $3::integer + n - 1, document.id, 1, 1, '', 'passage', 'english', 0, '{}', '{}' from document, generate_series(1, $4::integer) as n
       )
       insert into memory.embeddings (tenant_id, scope_id, number, model, vector, sketch)
       select $1, $2, $3::integer + n - 1, $5, vector, sketch::bit varying
       from unnest($6::bytea[], $7::text[]) with ordinality as new (vector, sketch, n)`,
      [tenantId, id, first, vectors.length, model, vectors.map(packVector), vectors.map(sketchOf)],
    );
    return id;
  }

  /** The closest passages, best first. */
  async near(key: MemoryKey, users: readonly string[], near: Near): Promise<Scored[]> {
    const state = await this.search.state(key);
    if (state?.hasVectorsToCopy === true) this.requested.push(key.agentId);
    return this.search.read(key, (view) => view.semantic(users, near, { filter: noFilter, only: null }));
  }

  /** Their numbers. */
  async closest(
    key: MemoryKey,
    vector: Float32Array,
    { users = [''], model = 'm' }: { users?: string[]; model?: string } = {},
  ): Promise<number[]> {
    const found = await this.near(key, users, { model, vector });
    return found.map(({ number }) => number);
  }

  async stop(): Promise<void> {
    await this.pool.end();
    await this.admin.end();
    await this.database.drop();
  }
}

/** A vector in a random direction. */
export function randomVector(size: number): Float32Array {
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return normalised(Array.from({ length: size }, normal));
}

export function randomVectors(count: number, size: number): Float32Array[] {
  return Array.from({ length: count }, () => randomVector(size));
}

/** Vectors around a few directions, as those of texts about a few topics are. */
export function vectorsOfTopics(count: number, topics: readonly Float32Array[]): Float32Array[] {
  return Array.from({ length: count }, (_, index) => {
    const topic = topics[index % topics.length] ?? new Float32Array();
    const noise = randomVector(topic.length);
    return normalised(Array.from(topic, (value, at) => value + 0.8 * (noise[at] ?? 0)));
  });
}

/** The indexes of the vectors with the largest cosines, best first. */
export function exactlyClosest(vectors: readonly Float32Array[], to: Float32Array, count: number): number[] {
  const product = (vector: Float32Array) =>
    vector.reduce((sum, value, index) => sum + value * (to[index] ?? 0), 0);
  const scored = vectors.map((vector, index) => ({ index, score: product(vector) }));
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, count)
    .map(({ index }) => index);
}

/** The share of the ten closest vectors that a search has among its first ten. */
export async function recallAt10(
  vectors: readonly Float32Array[],
  queries: readonly Float32Array[],
  search: (query: Float32Array) => Promise<number[]>,
): Promise<number> {
  let found = 0;
  for (const query of queries) {
    const closest = new Set((await search(query)).slice(0, 10));
    found += exactlyClosest(vectors, query, 10).filter((index) => closest.has(index)).length;
  }
  return found / (10 * queries.length);
}
