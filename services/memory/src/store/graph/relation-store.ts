import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { pageBytes } from '@gatehouse/kit/page';
import type { Queryable } from '@gatehouse/pg/pool';
import {
  maxVersions,
  planRelations,
  relationKey,
  type ChangedVersion,
  type KnownVersion,
  type RelationInput,
  type StoredRelation,
  type UpdatedVersion,
} from '../../graph/relation.ts';
import { agentScope, type MemoryKey } from '../../shared/memory-key.ts';
import { assertShown, ownedBy, type GraphWrite, type Upserted } from './entity-store.ts';
import { bytesOf, growGraph, lockGraph, type Graph } from './graph-row-store.ts';

/** A relation with ids or external ids as its source and target. */
export interface NewRelation extends Omit<RelationInput, 'sourceId' | 'targetId'> {
  source: string;
  target: string;
}

export const relationColumns = `r.id, r.source_id as "sourceId", r.target_id as "targetId", r.type, r.weight,
  r.valid_from as "validFrom", r.valid_to as "validTo"`;

/**
 * Stores relations, all or nothing, and returns them in the order of the inputs. Throws `invalid_value`, naming the
 * index, for an unknown source or target and for inputs rejected by `planRelations`, and `limit_reached`.
 */
export async function upsertRelations(
  db: Queryable,
  key: MemoryKey,
  { userId, at, runId = null, limits }: GraphWrite,
  inputs: readonly NewRelation[],
): Promise<Upserted<StoredRelation>> {
  const { tenantId } = key;
  const graph = await lockGraph(db, key, { userId, at });
  const resolved = resolveEnds(inputs, await selectEnds(db, tenantId, graph.readable, inputs));
  const known = await selectVersions(db, { tenantId, graphId: graph.id }, resolved);
  const plan = planRelations(known, resolved, await databaseTime(db));
  const changed = plan.updated.map(({ id }) => id);
  const before = await bytesOf(db, 'relations', { tenantId, ids: [...plan.removed, ...changed] });
  await deleteVersions(db, tenantId, plan.removed);
  // Before the new versions: two may not begin at the same time.
  await updateVersions(db, { tenantId, userId, runId }, plan.updated);
  await insertVersions(db, { tenantId, graphId: graph.id, runId }, plan.inserted);
  const rows = await selectInOrder(db, tenantId, plan.ids);
  const relations = plan.inserted.length - plan.removed.length;
  const stored = [...changed, ...plan.inserted.map(({ id }) => id)];
  const bytes = (await bytesOf(db, 'relations', { tenantId, ids: stored })) - before;
  await growGraph(db, { tenantId, graphId: graph.id, limits }, { entities: 0, relations, bytes });
  return { rows, created: plan.inserted.length, updated: plan.replaced };
}

/** SQL expression for what a version counts towards the limit of its tenant's bytes. */
function countedSize(type: string, properties: string): string {
  return `octet_length(${type}) + coalesce(octet_length(nullif(${properties}::text, '{}')), 0)`;
}

/** The time in milliseconds, as the database's clock has it. */
async function databaseTime(db: Queryable): Promise<number> {
  const clock = await db.one<{ now: Date }>(`select date_trunc('milliseconds', clock_timestamp()) as now`);
  return clock.now.getTime();
}

interface RelationEnd {
  ref: string;
  id: string;
}

/** Entities named by an id or, first in the own graph, by an external id. */
async function selectEnds(
  db: Queryable,
  tenantId: string,
  readable: readonly Graph[],
  inputs: readonly NewRelation[],
): Promise<Map<string, string>> {
  const refs = [...new Set(inputs.flatMap(({ source, target }) => [source, target]))];
  const rows = await db.all<RelationEnd>(
    `select ref, id from (
       select input.ref, e.id, 0 as rank
       from unnest($3::text[], $4::uuid[]) as input (ref, id)
       cross join lateral (
         select id from memory.entities
         where tenant_id = $1 and id = input.id and graph_id = any ($2::bigint[]) limit 1
       ) as e
       union all
       select input.ref, e.id, graph.rank
       from unnest($3::text[]) as input (ref)
       cross join unnest($2::bigint[]) with ordinality as graph (id, rank)
       cross join lateral (
         select id from memory.entities
         where tenant_id = $1 and graph_id = graph.id and external_id = input.ref and external_id is not null limit 1
       ) as e
     ) as found
     order by rank desc`,
    [tenantId, readable.map(({ id }) => id), refs, refs.map((ref) => (isUuid(ref) ? ref : null))],
  );
  // The last of a reference wins: the lowest rank.
  return new Map(rows.map(({ ref, id }) => [ref, id]));
}

function resolveEnds(inputs: readonly NewRelation[], ends: ReadonlyMap<string, string>): RelationInput[] {
  const resolve = (ref: string, param: string): string => {
    const id = ends.get(ref);
    if (id !== undefined) return id;
    throw new AppError('invalid_value', `Invalid value for ${param}: there is no such entity.`, { param });
  };
  return inputs.map(({ source, target, ...relation }, index) => ({
    ...relation,
    sourceId: resolve(source, `relations[${index}].source`),
    targetId: resolve(target, `relations[${index}].target`),
  }));
}

interface GraphOfTenant {
  tenantId: string;
  graphId: string;
}

/** All versions of these relations. */
async function selectVersions(
  db: Queryable,
  { tenantId, graphId }: GraphOfTenant,
  relations: readonly RelationInput[],
): Promise<KnownVersion[]> {
  const distinct = [...new Map(relations.map((relation) => [relationKey(relation), relation])).values()];
  const rows = await db.all<
    Omit<KnownVersion, 'validFrom' | 'validTo'> & { validFrom: Date; validTo: Date | null }
  >(
    `select version.id, input.source_id as "sourceId", input.target_id as "targetId", input.type, version."validFrom",
            version."validTo"
     from unnest($3::uuid[], $4::uuid[], $5::text[]) as input (source_id, target_id, type)
     cross join lateral (
       select r.id, r.valid_from as "validFrom", r.valid_to as "validTo" from memory.relations as r
       where r.tenant_id = $1 and r.graph_id = $2 and r.source_id = input.source_id and r.target_id = input.target_id
         and r.type = input.type
       -- This order is that of one index. Without statistics PostgreSQL would choose one with all of a hub's relations.
       order by r.valid_from limit ${maxVersions}
     ) as version`,
    [tenantId, graphId, ...endsOf(distinct)],
  );
  return rows.map(({ validFrom, validTo, ...row }) => ({
    ...row,
    validFrom: validFrom.getTime(),
    validTo: validTo?.getTime() ?? null,
  }));
}

function endsOf(relations: readonly Pick<KnownVersion, 'sourceId' | 'targetId' | 'type'>[]): string[][] {
  return [
    relations.map(({ sourceId }) => sourceId),
    relations.map(({ targetId }) => targetId),
    relations.map(({ type }) => type),
  ];
}

async function deleteVersions(db: Queryable, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.query('delete from memory.relations where tenant_id = $1 and id = any ($2::uuid[])', [
    tenantId,
    ids,
  ]);
}

/**
 * As `updateEntities`: each version exists, and is found by its key. A user's version given by the input as a whole,
 * but for its beginning, becomes the request's own.
 */
async function updateVersions(
  db: Queryable,
  { tenantId, userId, runId }: { tenantId: string; userId: string; runId: string | null },
  versions: readonly UpdatedVersion[],
): Promise<void> {
  if (versions.length === 0) return;
  await db.query(
    `insert into memory.relations
       (tenant_id, graph_id, id, source_id, target_id, type, valid_from, valid_to, weight, properties, size, run_id,
        acted_at)
     select $1, old.graph_id, input.id, old.source_id, old.target_id, old.type, input.valid_from, input.valid_to,
            merged.weight, merged.properties, ${countedSize('old.type', 'merged.properties')},
            ${ownedBy('merged.is_whole', '$8')}
     from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::float8[], $6::json[], $7::boolean[])
       as input (id, valid_from, valid_to, weight, properties, is_replaced)
     cross join lateral (
       select graph_id, source_id, target_id, type, weight, properties, run_id, acted_at from memory.relations
       where id = input.id and tenant_id = $1 limit 1
     ) as old
     cross join lateral (
       select coalesce(input.weight, old.weight) as weight, coalesce(input.properties, old.properties) as properties,
              $9::boolean and input.is_replaced and (input.weight is not null or old.weight = 1)
                and (input.properties is not null or old.properties::text = '{}') as is_whole
     ) as merged
     on conflict (id, tenant_id) do update
       set valid_from = excluded.valid_from, valid_to = excluded.valid_to, weight = excluded.weight,
           properties = excluded.properties, size = excluded.size, updated_at = clock_timestamp(),
           run_id = excluded.run_id, acted_at = excluded.acted_at`,
    [
      tenantId,
      versions.map(({ id }) => id),
      ...valuesOf(versions),
      versions.map(({ isReplaced }) => isReplaced),
      runId,
      userId !== agentScope,
    ],
  );
}

async function insertVersions(
  db: Queryable,
  { tenantId, graphId, runId }: GraphOfTenant & { runId: string | null },
  versions: readonly ChangedVersion[],
): Promise<void> {
  if (versions.length === 0) return;
  await db.query(
    `insert into memory.relations
       (tenant_id, graph_id, run_id, id, source_id, target_id, type, valid_from, valid_to, weight, properties, size)
     select $1, $2, $3, new.*, ${countedSize('type', 'properties')} from unnest($4::uuid[], $5::uuid[], $6::uuid[],
       $7::text[], $8::timestamptz[], $9::timestamptz[], $10::float8[], $11::json[])
       as new (id, source_id, target_id, type, valid_from, valid_to, weight, properties)`,
    [tenantId, graphId, runId, versions.map(({ id }) => id), ...endsOf(versions), ...valuesOf(versions)],
  );
}

/** Columns of versions: beginning, end, weight, properties. Null leaves weight and properties unchanged. */
function valuesOf(versions: readonly ChangedVersion[]): (string | number | null)[][] {
  return [
    versions.map(({ validFrom }) => new Date(validFrom).toISOString()),
    versions.map(({ validTo }) => (validTo === null ? null : new Date(validTo).toISOString())),
    versions.map(({ weight }) => weight ?? null),
    versions.map(({ properties }) => (properties === undefined ? null : JSON.stringify(properties))),
  ];
}

async function selectInOrder(
  db: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<StoredRelation[]> {
  const rows = await db.all<StoredRelation>(
    `select id, "sourceId", "targetId", type, weight, "validFrom", "validTo", properties from (
       select r.*, input.position, sum(octet_length(r.properties::text)) over () as total
       from unnest($2::uuid[]) with ordinality as input (id, position)
       cross join lateral (
         select ${relationColumns}, r.properties from memory.relations as r
         where r.tenant_id = $1 and r.id = input.id limit 1
       ) as r
     ) as found
     where total <= ${pageBytes}
     order by position`,
    [tenantId, ids],
  );
  assertShown(rows.length, ids.length, 'relations');
  return rows;
}
