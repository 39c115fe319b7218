import { AppError } from '@gatehouse/kit/errors';
import { pageBytes } from '@gatehouse/kit/page';
import type { Queryable } from '@gatehouse/pg/pool';
import {
  labelKey,
  planEntities,
  type EntityInput,
  type KnownEntity,
  type PlannedEntity,
  type StoredEntity,
} from '../../graph/entity.ts';
import { agentScope, type MemoryKey } from '../../shared/memory-key.ts';
import { bytesOf, growGraph, lockGraph, type Graph, type GraphLimits } from './graph-row-store.ts';

/** The graph to write, and its limit. */
export interface GraphWrite {
  /** '' for the agent. */
  userId: string;
  /** When the request arrived: before the deletion of the user's data it is refused. */
  at: Date;
  /** The run it was extracted by; null if a client sent it. */
  runId?: string | null;
  /** Those of the tenant. */
  limits: GraphLimits;
}

export interface Upserted<Row> {
  rows: Row[];
  created: number;
  updated: number;
}

export const entityColumns = `e.id, e.external_id as "externalId", e.name, e.type, e.description, e.properties`;

/** SQL expression for the size of an entity in bytes. */
export const entitySize = `octet_length(e.name) + coalesce(octet_length(e.description), 0) + octet_length(e.properties::text)`;

/**
 * Stores entities, all or nothing, and returns them in the order of the inputs. Throws `invalid_value` when two of them
 * are the same, and `limit_reached`.
 */
export async function upsertEntities(
  db: Queryable,
  key: MemoryKey,
  { userId, at, runId = null, limits }: GraphWrite,
  inputs: readonly EntityInput[],
): Promise<Upserted<StoredEntity>> {
  const { tenantId } = key;
  const graph = await lockGraph(db, key, { userId, at });
  const plan = planEntities(await selectKnown(db, tenantId, graph.id, inputs), inputs);
  const inserted = plan.filter(({ isNew }) => isNew);
  const changed = plan.filter(({ isNew }) => !isNew);
  const before = await bytesOf(db, 'entities', { tenantId, ids: idsOf(changed) });
  await insertEntities(db, { tenantId, graphId: graph.id, runId }, inserted);
  await updateEntities(db, { tenantId, userId, runId }, changed);
  const rows = await selectInOrder(db, tenantId, graph, plan);
  const bytes = (await bytesOf(db, 'entities', { tenantId, ids: idsOf(plan) })) - before;
  await growGraph(
    db,
    { tenantId, graphId: graph.id, limits },
    { entities: inserted.length, relations: 0, bytes },
  );
  return { rows, created: inserted.length, updated: plan.length - inserted.length };
}

function idsOf(planned: readonly PlannedEntity[]): string[] {
  return planned.map(({ id }) => id);
}

/** SQL expression for what an entity counts towards the limit of its tenant's bytes. */
function countedSize(description: string, properties: string): string {
  return `octet_length(name) + octet_length(type) + coalesce(octet_length(external_id), 0)
    + coalesce(octet_length(${description}), 0) + coalesce(octet_length(nullif(${properties}::text, '{}')), 0)`;
}

/** Stored entities an input may be the same as. */
async function selectKnown(
  db: Queryable,
  tenantId: string,
  graphId: string,
  inputs: readonly EntityInput[],
): Promise<KnownEntity[]> {
  return db.all<KnownEntity>(
    `select e.id, e.external_id as "externalId", e.name_key as "nameKey", e.type_key as "typeKey"
     from unnest($3::text[]) as input (external_id)
     cross join lateral (
       select id, external_id, name_key, type_key from memory.entities
       where tenant_id = $1 and graph_id = $2 and external_id = input.external_id and external_id is not null
       limit 1
     ) as e
     union
     select e.id, e.external_id, e.name_key, e.type_key
     from unnest($4::text[], $5::text[]) as input (name_key, type_key)
     cross join lateral (
       -- More than two with an external id are as ambiguous as two; the one without is the first of them.
       select id, external_id, name_key, type_key from memory.entities
       where tenant_id = $1 and graph_id = $2 and name_key = input.name_key and type_key = input.type_key
       order by external_id nulls first limit 3
     ) as e`,
    [
      tenantId,
      graphId,
      inputs.flatMap(({ externalId }) => externalId ?? []),
      inputs.map(({ name }) => labelKey(name)),
      inputs.map(({ type }) => labelKey(type)),
    ],
  );
}

async function insertEntities(
  db: Queryable,
  { tenantId, graphId, runId }: { tenantId: string; graphId: string; runId: string | null },
  planned: readonly PlannedEntity[],
): Promise<void> {
  if (planned.length === 0) return;
  await db.query(
    `insert into memory.entities
       (tenant_id, graph_id, run_id, id, external_id, name, type, name_key, type_key, description, properties, size)
     select $1, $2, $3, new.*, ${countedSize('description', 'properties')} from
       unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::json[])
       as new (id, external_id, name, type, name_key, type_key, description, properties)`,
    [
      tenantId,
      graphId,
      runId,
      ...labelsOf(planned),
      planned.map(({ input }) => input.description ?? null),
      planned.map(({ input }) => JSON.stringify(input.properties ?? {})),
    ],
  );
}

/**
 * Leaves entities of the agent alone if they have the values already, as after a repeated import. An entity of a user,
 * without anything older than this request, becomes the request's own: a deletion of earlier data of the user leaves
 * it. All exist, so each is found by its key: an update joining them to `unnest` would compare each with every input.
 */
async function updateEntities(
  db: Queryable,
  { tenantId, userId, runId }: { tenantId: string; userId: string; runId: string | null },
  planned: readonly PlannedEntity[],
): Promise<void> {
  if (planned.length === 0) return;
  await db.query(
    `insert into memory.entities as e
       (tenant_id, graph_id, id, external_id, name, type, name_key, type_key, description, properties, size, run_id,
        acted_at)
     select $1, old.graph_id, input.id, input.external_id, input.name, input.type, input.name_key, input.type_key,
            merged.description, merged.properties, ${countedSize('merged.description', 'merged.properties')},
            ${ownedBy('merged.is_whole', '$12')}
     from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::json[],
       $10::boolean[], $11::boolean[])
       as input (id, external_id, name, type, name_key, type_key, description, properties, has_description,
                 has_external_id)
     cross join lateral (
       select graph_id, external_id is null as is_unnamed, description, properties, run_id, acted_at from memory.entities
       where id = input.id and tenant_id = $1 limit 1
     ) as old
     cross join lateral (
       select case when input.has_description then input.description else old.description end as description,
              coalesce(input.properties, old.properties) as properties,
              $13::boolean and (input.has_external_id or old.is_unnamed)
                and (input.has_description or old.description is null)
                and (input.properties is not null or old.properties::text = '{}') as is_whole
     ) as merged
     on conflict (id, tenant_id) do update
       set external_id = excluded.external_id, name = excluded.name, type = excluded.type,
           name_key = excluded.name_key, type_key = excluded.type_key, description = excluded.description,
           properties = excluded.properties, size = excluded.size, updated_at = clock_timestamp(),
           run_id = excluded.run_id, acted_at = excluded.acted_at
       where (e.external_id, e.name, e.type, e.description, e.properties::text, e.acted_at)
         is distinct from (excluded.external_id, excluded.name, excluded.type, excluded.description,
                           excluded.properties::text, excluded.acted_at)`,
    [
      tenantId,
      ...labelsOf(planned),
      planned.map(({ input }) => input.description ?? null),
      planned.map(({ input }) => (input.properties === undefined ? null : JSON.stringify(input.properties))),
      planned.map(({ input }) => input.description !== undefined),
      planned.map(({ input }) => input.externalId !== null),
      runId,
      userId !== agentScope,
    ],
  );
}

/**
 * SQL expressions for the run and the time of a row changed by a request, `old` as stored: those of the request if
 * nothing else is left in it. The time is never later than the time of anything in the row.
 */
export function ownedBy(isWhole: string, runId: string): string {
  return `case when ${isWhole} then ${runId}::uuid else old.run_id end,
    case when ${isWhole} or old.acted_at > memory.acted_at() then memory.acted_at() else old.acted_at end`;
}

/** Columns of planned entities: id, external id, name, type, and the keys of name and type. */
function labelsOf(planned: readonly PlannedEntity[]): (string | null)[][] {
  return [
    planned.map(({ id }) => id),
    planned.map(({ externalId }) => externalId),
    planned.map(({ input }) => input.name),
    planned.map(({ input }) => input.type),
    planned.map(({ nameKey }) => nameKey),
    planned.map(({ typeKey }) => typeKey),
  ];
}

async function selectInOrder(
  db: Queryable,
  tenantId: string,
  { userId }: Graph,
  planned: readonly PlannedEntity[],
): Promise<StoredEntity[]> {
  const rows = await db.all<Omit<StoredEntity, 'userId'>>(
    `select id, "externalId", name, type, description, properties from (
       select e.*, input.position, sum(e.size) over () as total
       from unnest($2::uuid[]) with ordinality as input (id, position)
       cross join lateral (
         select ${entityColumns}, ${entitySize} as size from memory.entities as e
         where e.tenant_id = $1 and e.id = input.id limit 1
       ) as e
     ) as found
     where total <= ${pageBytes}
     order by position`,
    [tenantId, planned.map(({ id }) => id)],
  );
  assertShown(rows.length, planned.length, 'entities');
  return rows.map((row) => ({ ...row, userId }));
}

/** Throws when the stored rows are too large for one response: members omitted in the request kept their values. */
export function assertShown(count: number, stored: number, what: string): void {
  if (count === stored) return;
  throw new AppError(
    'payload_too_large',
    `The ${what} are larger than ${pageBytes} bytes together: send fewer at once.`,
    { param: what },
  );
}
