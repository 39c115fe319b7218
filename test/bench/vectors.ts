import { availableParallelism, cpus, loadavg } from 'node:os';
import path from 'node:path';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres } from '@gatehouse/local/postgres';
import { postgresBinariesIn } from '@gatehouse/local/postgres-binaries';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { migrateService } from '@gatehouse/shell/migrate';
import { migrations } from '@gatehouse/service-memory/config';
import { copyHalfVectors } from '@gatehouse/service-memory/jobs/copy-half-vectors';
import { noFilter } from '@gatehouse/service-memory/search/search';
import { normalised, packVector, sketchOf } from '@gatehouse/service-memory/search/vectors';
import { indexOnly } from '@gatehouse/service-memory/config';
import { HalfVectorStore } from '@gatehouse/service-memory/store/search/half-vector-store';
import { readClosest, readVectorScopes } from '@gatehouse/service-memory/store/search/vector-store';
import { Client } from 'pg';
import { makeFolder } from './folder.ts';

/**
 * Semantic search among 100,000 passages of one agent, beside 1,000 agents with a few: by sketches, by pgvector, and by
 * pgvector with an index. `TEST_PGVECTOR=<folder> node test/bench/vectors.ts` runs the PostgreSQL of that folder, which
 * must have pgvector; `RANDOM=1` takes vectors without any structure, the worst case.
 */

const passages = 100_000;
const others = 1_000;
const perOther = 5;
const size = 384;
const topics = 2_000;
const queries = 200;
const checked = 40;
const warmUp = 10;

const key = { tenantId: newId(), agentId: newId(), analyser: 'english' } as const;
const binaries = process.env['TEST_PGVECTOR'];
if (binaries === undefined) throw new Error('TEST_PGVECTOR names no folder');
const random = process.env['RANDOM'] === '1';

const { folder, remove } = await makeFolder();
const postgres = await startPostgres({
  dataDirectory: path.join(folder, 'postgres'),
  port: await freePort(),
  binaries: postgresBinariesIn(path.join(binaries, 'bin')),
});
const adminUrl = postgres.adminUrl('postgres');
const admin = new Client({ connectionString: adminUrl });
try {
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), PostgreSQL on the same machine`,
  );
  const serviceUrl = new URL(adminUrl);
  serviceUrl.username = 'memory_login';
  serviceUrl.password = 'bench';
  const migrate = () =>
    migrateService({ service: 'memory', adminUrl, serviceUrl: serviceUrl.href, directory: migrations });
  await migrate();
  await admin.connect();
  const centres = Array.from({ length: topics }, randomVector);
  const stored = Array.from({ length: passages }, () => someVector(centres));
  await load(stored, centres);
  const log = createLogger('bench', 'silent');
  const pool = createPool({
    url: serviceUrl.href,
    role: 'memory_app',
    max: 8,
    log,
    settings: indexOnly,
  });
  await admin.query('create extension vector');
  await timed('migration step, then', migrate);
  await timed('copy of the vectors', () => copy(pool));
  await admin.query('vacuum analyze memory.embeddings, memory.half_vectors');
  const wanted = Array.from({ length: queries }, () => someVector(centres));
  console.log(
    `\n${random ? 'random' : 'clustered'} vectors          p50 ms   p95 ms   recall@10   load average`,
  );
  const ways = ['sketches', 'pgvector'] as const;
  await compare(pool, ways, stored, wanted);
  await admin.query("set maintenance_work_mem = '512MB'");
  await timed('index of pgvector', async () => {
    await admin.query(
      `create index concurrently on memory.half_vectors using hnsw ((vector::halfvec(${size})) halfvec_ip_ops)
       where vector_dims(vector) = ${size}`,
    );
    await admin.query('analyze memory.half_vectors');
  });
  await compare(pool, ways, stored, wanted);
  await pool.end();
} finally {
  await admin.end();
  await postgres.stop();
  await remove();
}

function randomVector(): Float32Array {
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return normalised(Array.from({ length: size }, normal));
}

function someVector(centres: readonly Float32Array[]): Float32Array {
  const noise = randomVector();
  const centre = centres[Math.floor(Math.random() * centres.length)];
  if (random || centre === undefined) return noise;
  return normalised(Array.from(centre, (value, at) => value + 0.8 * (noise[at] ?? 0)));
}

/** As if the service had stored them before there was pgvector. */
async function load(stored: readonly Float32Array[], centres: readonly Float32Array[]): Promise<void> {
  // The checks of foreign keys would need passages.
  await admin.query('set session_replication_role = replica');
  await store(key, stored);
  for (let other = 0; other < others; other += 1) {
    const few = Array.from({ length: perOther }, () => someVector(centres));
    await store({ tenantId: newId(), agentId: newId() }, few);
  }
  await admin.query('vacuum analyze');
}

async function store(
  { tenantId, agentId }: { tenantId: string; agentId: string },
  vectors: readonly Float32Array[],
): Promise<void> {
  await admin.query("insert into memory.agents (tenant_id, agent_id, analyser) values ($1, $2, 'english')", [
    tenantId,
    agentId,
  ]);
  const { rows } = await admin.query<{ id: string }>(
    `insert into memory.scopes (tenant_id, agent_id, user_id, chunks) values ($1, $2, '', $3) returning id`,
    [tenantId, agentId, vectors.length],
  );
  for (let first = 0; first < vectors.length; first += 1_000) {
    const batch = vectors.slice(first, first + 1_000);
    await admin.query(
      `insert into memory.embeddings (tenant_id, scope_id, number, model, vector, sketch)
       select $1, $2, $3::integer + n - 1, 'm', vector, sketch::bit varying
       from unnest($4::bytea[], $5::text[]) with ordinality as new (vector, sketch, n)`,
      [tenantId, rows[0]?.id, first, batch.map(packVector), batch.map(sketchOf)],
    );
  }
}

async function copy(pool: Pool): Promise<void> {
  const { signal } = new AbortController();
  const log = createLogger('bench', 'silent');
  const context = { tenantId: key.tenantId, jobId: '', attempt: 1, lastAttempt: false, signal, log };
  await copyHalfVectors(new HalfVectorStore(pool))({ agentId: key.agentId }, context);
}

async function timed(what: string, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await work();
  console.log(`${what}: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
}

/** Each query in turn in each way, so that a busy machine slows all of them. */
async function compare(
  pool: Pool,
  ways: readonly ('sketches' | 'pgvector')[],
  stored: readonly Float32Array[],
  wanted: readonly Float32Array[],
): Promise<void> {
  const times = new Map(ways.map((way) => [way, [] as number[]]));
  const found = new Map(ways.map((way) => [way, 0]));
  for (const [index, vector] of [...wanted.slice(0, warmUp), ...wanted].entries()) {
    const truth = index >= warmUp && index < warmUp + checked ? closest(stored, vector) : null;
    for (const way of ways) {
      const startedAt = performance.now();
      const numbers = await search(pool, way, vector);
      if (index >= warmUp) times.get(way)?.push(performance.now() - startedAt);
      if (truth === null) continue;
      const first = new Set(numbers.slice(0, 10));
      found.set(way, (found.get(way) ?? 0) + truth.filter((number) => first.has(number)).length);
    }
  }
  for (const way of ways) {
    const sorted = (times.get(way) ?? []).sort((one, other) => one - other);
    const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1).padStart(9);
    const recall = ((found.get(way) ?? 0) / (10 * checked)).toFixed(3).padStart(12);
    console.log(`  ${way.padEnd(22)}${at(0.5)}${at(0.95)}${recall}   ${loadavg()[0]?.toFixed(1) ?? ''}`);
  }
}

function search(pool: Pool, way: 'sketches' | 'pgvector', vector: Float32Array): Promise<number[]> {
  return withTenant(pool, key.tenantId, async (db) => {
    const { scopeIds, ...vectors } = await readVectorScopes(db, key, ['']);
    const by = way === 'pgvector' ? vectors : { complete: null, schema: null };
    const scopes = { tenantId: key.tenantId, scopeIds };
    const which = { near: { model: 'm', vector }, extent: { filter: noFilter, only: null } };
    return (await readClosest(db, scopes, which, by)).map(({ number }) => number);
  });
}

function closest(stored: readonly Float32Array[], to: Float32Array): number[] {
  const scored = stored.map((vector, number) => {
    let score = 0;
    for (let at = 0; at < size; at += 1) score += (vector[at] ?? 0) * (to[at] ?? 0);
    return { number, score };
  });
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, 10)
    .map(({ number }) => number);
}
