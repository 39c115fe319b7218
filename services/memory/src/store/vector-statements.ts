import type { Queryable } from '@gatehouse/pg/pool';
import type { MemoryKey } from '../documents/memory-key.ts';
import type { Scored } from '../search/ranking.ts';
import { cosine, packVector, sketchOf } from '../search/vectors.ts';
import { visibleScope, type AgentKey } from './scope-statements.ts';

/** Adds a job that copies the vectors of a memory for pgvector, in the transaction of a search. */
export type RequestCopy = (db: Queryable, key: AgentKey) => Promise<void>;

/** What the database has for pgvector. It may change at any time, so every search asks. */
interface HalfVectors {
  /** Whether all vectors of the agent are copied. Means nothing without `schema`. */
  complete: boolean | null;
  /** The schema of the extension, quoted; null without pgvector. */
  schema: string | null;
}

/** The schema of the extension, by the table that the migration step makes for it; null without that table. */
export const halfVectorSchema = `(
  select quote_ident(n.nspname)
  from pg_catalog.pg_attribute as c join pg_catalog.pg_type as t on t.oid = c.atttypid
  join pg_catalog.pg_namespace as n on n.oid = t.typnamespace
  where c.attrelid = to_regclass('memory.half_vectors') and c.attname = 'vector' and not c.attisdropped)`;

/** Passages whose vectors are compared exactly, the closest by their sketches or as halfvec. */
const candidates = 200;
/** The largest halfvec. */
const mostComponents = 16_000;

/** The visible scopes of these users, and what there is for pgvector. Without it, no statement may name its table. */
export async function readVectorScopes(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  users: readonly string[],
): Promise<HalfVectors & { scopeIds: string[] }> {
  const { rows } = await db.query<HalfVectors & { scopeIds: string[] }>(
    `select array(
              select s.id from memory.scopes as s
              where s.tenant_id = $1 and s.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}
            )::text[] as "scopeIds",
            (to_jsonb(a) ->> 'half_vectors_complete')::boolean as complete,
            ${halfVectorSchema} as schema
     from memory.agents as a where a.tenant_id = $1 and a.agent_id = $2`,
    [tenantId, agentId, users],
  );
  return rows[0] ?? { scopeIds: [], complete: null, schema: null };
}

/** The passages whose vectors of a model are closest to `vector`, which has length 1; best first. */
export async function readClosest(
  db: Queryable,
  { tenantId, scopeIds }: { tenantId: string; scopeIds: readonly string[] },
  { model, vector }: { model: string; vector: Float32Array },
  { complete, schema }: HalfVectors,
): Promise<Scored[]> {
  const size = vector.length;
  const exact = complete === true && schema !== null && size > 0 && size <= mostComponents;
  if (exact) await searchIndexes(db);
  const { rows } = await db.query<{ scopeId: string; number: number; vector: Buffer }>(
    exact ? byHalfVectors(schema, size) : bySketches(size),
    [tenantId, scopeIds, model, exact ? packVector(vector) : sketchOf(vector)],
  );
  return rows
    .map(({ scopeId, number, vector: packed }) => ({ scopeId, number, score: cosine(vector, packed) }))
    .sort((a, b) => b.score - a.score || b.number - a.number);
}

/** `$1` to `$3`: tenant, scopes, model. */
const ofModel = 'tenant_id = $1 and scope_id = any ($2::bigint[]) and model = $3';

function bySketches(size: number): string {
  return `select scope_id as "scopeId", number, vector from memory.embeddings
    where ${ofModel} and bit_length(sketch) = ${size}
    order by bit_count(sketch # $4::bit varying), number desc limit ${candidates}`;
}

/**
 * The expressions are those of an index that an operator may make (docs/operations.md). The product of vectors of length
 * 1 is their cosine.
 */
function byHalfVectors(schema: string, size: number): string {
  const type = `${schema}.halfvec(${size})`;
  return `select e.scope_id as "scopeId", e.number, e.vector
    from (
      select scope_id, number from memory.half_vectors
      where ${ofModel} and ${schema}.vector_dims(vector) = ${size}
      order by (vector::${type}) operator(${schema}.<#>) (memory.half_vector_of($4::bytea)::${type}) limit ${candidates}
    ) as closest
    join memory.embeddings as e on e.tenant_id = $1 and e.scope_id = closest.scope_id and e.number = closest.number`;
}

/** Lets an index of an operator find enough passages of the scopes, however few of its rows they are. */
async function searchIndexes(db: Queryable): Promise<void> {
  await db.query(
    `select set_config('hnsw.ef_search', '${candidates}', true), set_config('hnsw.iterative_scan', 'relaxed_order', true)`,
  );
}
