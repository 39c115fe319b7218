import { beforeFirst } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { EntityInput, StoredEntity } from '../../graph/entity.ts';
import type { StoredRelation } from '../../graph/relation.ts';
import type { MemoryKey } from '../../shared/memory-key.ts';
import type { AgentKey } from '../scopes/scope-statements.ts';
import { entityColumns, upsertEntities, type GraphWrite } from './entity-statements.ts';
import { relationColumns, upsertRelations, type NewRelation } from './relation-statements.ts';

type Exported<Row> = Row & { userId: string; graphId: string };

interface Page<Row> {
  /** The last row of the page before; null for the first page. */
  after: Row | null;
  limit: number;
}

/** The next entities of these users, in a fixed order. */
export async function exportEntities(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  users: readonly string[] | 'all',
  { after, limit }: Page<Pick<Exported<StoredEntity>, 'graphId' | 'id'>>,
): Promise<Exported<StoredEntity>[]> {
  const { rows } = await db.query<Exported<StoredEntity>>(
    `select g.user_id as "userId", g.id as "graphId", found.*
     from memory.graphs as g
     cross join lateral (
       select ${entityColumns} from memory.entities as e
       where e.tenant_id = $1 and e.graph_id = g.id and (g.id > $4 or e.id > $5::uuid)
       order by e.id limit $6
     ) as found
     where ${ofUsers}
     order by g.id, found.id limit $6`,
    [tenantId, agentId, users === 'all' ? null : users, after?.graphId ?? 0, after?.id ?? beforeFirst, limit],
  );
  return rows;
}

type RelationPosition = 'graphId' | 'sourceId' | 'targetId' | 'type' | 'validFrom';

/** The next versions of relations of these users, in a fixed order: the versions of a relation from the oldest on. */
export async function exportRelations(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  users: readonly string[] | 'all',
  { after, limit }: Page<Pick<Exported<StoredRelation>, RelationPosition>>,
): Promise<Exported<StoredRelation>[]> {
  const { rows } = await db.query<Exported<StoredRelation>>(
    `select g.user_id as "userId", g.id as "graphId", found.*
     from memory.graphs as g
     cross join lateral (
       select ${relationColumns}, r.properties from memory.relations as r
       where r.tenant_id = $1 and r.graph_id = g.id
         and (g.id > $4 or (r.source_id, r.target_id, r.type, r.valid_from) > ($5::uuid, $7::uuid, $8, $9::timestamptz))
       order by r.source_id, r.target_id, r.type, r.valid_from limit $6
     ) as found
     where ${ofUsers}
     order by g.id, found."sourceId", found."targetId", found.type, found."validFrom" limit $6`,
    [
      tenantId,
      agentId,
      users === 'all' ? null : users,
      after?.graphId ?? 0,
      after?.sourceId ?? beforeFirst,
      limit,
      after?.targetId ?? beforeFirst,
      after?.type ?? '',
      after?.validFrom.toISOString() ?? '-infinity',
    ],
  );
  return rows;
}

/** `$1` to `$4`: tenant, agent, users or null for all, the graph to go on with. */
const ofUsers = `g.tenant_id = $1 and g.agent_id = $2 and g.generation = 0 and g.id >= $4
       and ($3::text[] is null or g.user_id = any ($3))`;

/** An exported entity, with the id that exported relations name. */
export interface ImportedEntity extends EntityInput {
  id: string;
}

/**
 * Stores a batch of exported entities, as an upsert does, and adds the ids that they have here to `ids`. Batches of one
 * transaction become visible together.
 */
export async function importEntities(
  db: Queryable,
  key: MemoryKey,
  { ids, ...write }: GraphWrite & { ids: Map<string, string> },
  entities: readonly ImportedEntity[],
): Promise<number> {
  const { rows } = await upsertEntities(db, key, write, entities);
  for (const [index, { id }] of entities.entries()) ids.set(id, rows[index]?.id ?? id);
  return rows.length;
}

/** Stores a batch of exported versions of relations; their sources and targets are ids of the export. */
export async function importRelations(
  db: Queryable,
  key: MemoryKey,
  { ids, ...write }: GraphWrite & { ids: ReadonlyMap<string, string> },
  relations: readonly NewRelation[],
): Promise<number> {
  const mapped = relations.map((relation) => ({
    ...relation,
    source: ids.get(relation.source) ?? relation.source,
    target: ids.get(relation.target) ?? relation.target,
  }));
  return (await upsertRelations(db, key, write, mapped)).rows.length;
}
