import type { Queryable } from '@gatehouse/pg/pool';
import type { PassageId, Scored } from '../../search/ranking.ts';
import { isEmpty, type Extent, type Near } from '../../search/search.ts';
import { cosine, packVector, sketchOf } from '../../search/vectors.ts';
import type { MemoryKey } from '../../shared/memory-key.ts';
import { visibleScope } from '../scopes/scope-store.ts';
import { filterValues, matching } from './document-filter.ts';

/** The state of pgvector in the database. It may change at any time, so every search asks. */
interface HalfVectors {
  /** Whether all vectors of the agent are copied. Means nothing without `schema`. */
  complete: boolean | null;
  /** The schema of the extension, quoted; null without pgvector. */
  schema: string | null;
}

/** The schema of the extension, by the table the migration step makes for it; null without the table. */
export const halfVectorSchema = `(
  select quote_ident(n.nspname)
  from pg_catalog.pg_attribute as c join pg_catalog.pg_type as t on t.oid = c.atttypid
  join pg_catalog.pg_namespace as n on n.oid = t.typnamespace
  where c.attrelid = to_regclass('memory.half_vectors') and c.attname = 'vector' and not c.attisdropped)`;

/** SQL condition for agents `a` with vectors still to be copied for pgvector. */
export const waitsForCopy = `(coalesce(to_jsonb(a) ->> 'half_vectors_complete' = 'false', false) and ${halfVectorSchema} is not null)`;

/** Passages with an exact comparison of vectors, the closest by their sketches or as halfvec. */
const candidates = 200;
/** Passages a filter is applied to, the closest, if more match than can be listed. */
const filtered = 2_000;
/** The largest halfvec. */
const mostComponents = 16_000;

/** The visible scopes of these users, and what there is for pgvector. Without it, no statement may name its table. */
export async function readVectorScopes(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  users: readonly string[],
): Promise<HalfVectors & { scopeIds: string[] }> {
  const rows = await db.all<HalfVectors & { scopeIds: string[] }>(
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

/** The passages with the vectors of a model closest to `vector`, which has length 1; best first. */
export async function readClosest(
  db: Queryable,
  { tenantId, scopeIds }: { tenantId: string; scopeIds: readonly string[] },
  { near: { model, vector }, extent }: { near: Near; extent: Extent },
  { complete, schema }: HalfVectors,
): Promise<Scored[]> {
  const size = vector.length;
  const exact =
    extent.only === null && complete === true && schema !== null && size > 0 && size <= mostComponents;
  if (exact) await searchIndexes(db);
  const closest = exact ? byHalfVectors(schema, size) : bySketches(size, extent.only !== null);
  const rows = await db.all<{ scopeId: string; number: number; vector: Buffer }>(
    withVectors(first(closest, extent)),
    [...[tenantId, scopeIds, model, exact ? packVector(vector) : sketchOf(vector)], ...valuesOf(extent)],
  );
  return rows
    .map(({ scopeId, number, vector: packed }) => ({ scopeId, number, score: cosine(vector, packed) }))
    .sort((a, b) => b.score - a.score || b.number - a.number);
}

/** The cosines of passages with a vector of the model. */
export async function readCosines(
  db: Queryable,
  tenantId: string,
  { model, vector }: Near,
  passages: readonly PassageId[],
): Promise<Scored[]> {
  const rows = await db.all<PassageId & { vector: Buffer }>(
    `select e.scope_id as "scopeId", e.number, e.vector
     from unnest($2::bigint[], $3::integer[]) as listed (scope_id, number), ${embeddingOf('listed')} as e
     where e.model = $4 and octet_length(e.vector) = $5`,
    [
      tenantId,
      passages.map(({ scopeId }) => scopeId),
      passages.map(({ number }) => number),
      model,
      vector.byteLength,
    ],
  );
  return rows.map(({ scopeId, number, vector: packed }) => ({
    scopeId,
    number,
    score: cosine(vector, packed),
  }));
}

/** `$1` to `$3`: tenant, scopes, model. `v` has the vectors. */
const inModel = 'v.tenant_id = $1 and v.scope_id = any ($2::bigint[]) and v.model = $3';

/** Vectors `v`, and the SQL expression of their distance. */
interface Distances {
  from: string;
  distance: string;
}

function bySketches(size: number, listed: boolean): Distances {
  return {
    from: listed
      ? `unnest($5::bigint[], $6::integer[]) as listed (scope_id, number), ${embeddingOf('listed')} as v
         where v.scope_id = any ($2::bigint[]) and v.model = $3 and bit_length(v.sketch) = ${size}`
      : `memory.embeddings as v where ${inModel} and bit_length(v.sketch) = ${size}`,
    distance: 'bit_count(v.sketch # $4::bit varying)',
  };
}

/**
 * The same expressions as in an index an operator may make (docs/operators/install.md). The product of vectors of
 * length 1 is their cosine.
 */
function byHalfVectors(schema: string, size: number): Distances {
  const type = `${schema}.halfvec(${size})`;
  return {
    from: `memory.half_vectors as v where ${inModel} and ${schema}.vector_dims(v.vector) = ${size}`,
    distance: `(v.vector::${type}) operator(${schema}.<#>) (memory.half_vector_of($4::bytea)::${type})`,
  };
}

/** The closest passages. The order has no second column: an index serves it. */
function first({ from, distance }: Distances, { filter, only }: Extent): string {
  if (only !== null || isEmpty(filter))
    return `select v.scope_id, v.number from ${from} order by ${distance} limit ${candidates}`;
  return `select v.scope_id, v.number from (
      select v.scope_id, v.number, ${distance} as distance from ${from} order by ${distance} limit ${filtered}
    ) as v
    where exists (
      select from memory.chunks as c join memory.documents as d on d.tenant_id = $1 and d.id = c.document_id
      where c.tenant_id = $1 and c.scope_id = v.scope_id and c.number = v.number and ${matching(5)} offset 0)
    order by v.distance limit ${candidates}`;
}

function valuesOf({ filter, only }: Extent): unknown[] {
  if (only === null) return isEmpty(filter) ? [] : filterValues(filter);
  return [only.map(({ scopeId }) => scopeId), only.map(({ number }) => number)];
}

/** The passages of a statement with their vectors. */
function withVectors(closest: string): string {
  return `with closest as materialized (${closest})
    select e.scope_id as "scopeId", e.number, e.vector from closest, ${embeddingOf('closest')} as e`;
}

/**
 * The SQL for the embedding of each passage in a list, found by its key. In a join, PostgreSQL compares each with all
 * of a scope, because it underestimates the scope's size.
 */
function embeddingOf(list: string): string {
  return `lateral (
      select scope_id, number, model, sketch, vector from memory.embeddings
      where tenant_id = $1 and scope_id = ${list}.scope_id and number = ${list}.number offset 0
    )`;
}

/** Lets an index of an operator find enough passages of the scopes, however few of its rows they are. */
async function searchIndexes(db: Queryable): Promise<void> {
  await db.query(
    `select set_config('hnsw.ef_search', '${candidates}', true), set_config('hnsw.iterative_scan', 'relaxed_order', true)`,
  );
}
