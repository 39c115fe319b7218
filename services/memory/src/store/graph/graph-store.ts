import type { PageRows } from '@gatehouse/kit/page';
import { readPage } from '@gatehouse/pg/page';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { labelKey, type StoredEntity } from '../../graph/entity.ts';
import type { MemoryKey } from '../../shared/memory-key.ts';
import type { AgentKey } from '../scopes/scope-store.ts';
import { entityColumns, entitySize } from './entity-store.ts';
import {
  bytesOf,
  growGraph,
  lockGraph,
  selectGraphs,
  type Graph,
  type GraphGrowth,
} from './graph-row-store.ts';

export interface EntityFilter {
  /** Part of the name, or the whole external id. */
  q: string | null;
  type: string | null;
  limit: number;
  /** Continue below this id; null for the first page. */
  before: string | null;
}

/** Reads the entities visible to users of an agent. `pool` acts as `memory_app`. */
export class GraphStore extends Store {
  /** Counts what belongs to these users. */
  count({ tenantId, agentId }: AgentKey, users: readonly string[]): Promise<GraphGrowth> {
    return this.tenant(tenantId).one<GraphGrowth>(
      `select coalesce(sum(g.entities), 0)::float8 as entities, coalesce(sum(g.relations), 0)::float8 as relations
         from memory.graphs as g
         left join memory.agents as a on a.tenant_id = g.tenant_id and a.agent_id = g.agent_id
         where g.tenant_id = $1 and g.agent_id = $2 and g.user_id = any ($3::text[]) and g.generation = 0
           and a.deleted_at is null`,
      [tenantId, agentId, users],
    );
  }

  /** Newest first. */
  async list(
    key: AgentKey,
    users: readonly string[],
    { q, type, limit, before }: EntityFilter,
  ): Promise<PageRows<StoredEntity>> {
    return withTenant(this.pool, key.tenantId, async (db) => {
      const graphs = await selectGraphs(db, key, users);
      // A sorted scan for each graph; one over several would sort all their entities.
      const page = await readPage<Omit<StoredEntity, 'userId'> & { graphId: string }>(db, {
        columns: `${entityColumns}, e.graph_id as "graphId"`,
        from: `unnest($2::bigint[]) as graph (id)
         cross join lateral (
           select id, external_id, name, type, description, properties, graph_id from memory.entities
           where tenant_id = $1 and graph_id = graph.id and ($3::uuid is null or id < $3)
             and ($4::text is null or strpos(name_key, $4) > 0 or external_id = $5)
             and ($6::text is null or type_key = $6)
           order by id desc limit ${limit + 1}
         ) as e`,
        order: 'id desc',
        size: entitySize,
        limit,
        values: [
          key.tenantId,
          graphs.map(({ id }) => id),
          before,
          q === null ? null : q.normalize('NFC').toLowerCase().normalize('NFC'),
          q,
          type === null ? null : labelKey(type),
        ],
      });
      return {
        rows: page.rows.map(({ graphId, ...row }) => ({ ...row, userId: userOf(graphs, graphId) })),
        more: page.more,
      };
    });
  }

  async find(key: AgentKey, users: readonly string[], id: string): Promise<StoredEntity | null> {
    return withTenant(this.pool, key.tenantId, async (db) =>
      selectEntity(db, key.tenantId, await selectGraphs(db, key, users), id),
    );
  }

  /**
   * Removes the relations of an entity of this user in short transactions: a hub delays no other writer for long. Call
   * it before `deleteEntity`, which removes the rest.
   */
  async removeRelations(key: MemoryKey, userId: string, id: string): Promise<void> {
    for (;;) {
      const removed = await withTenant(this.pool, key.tenantId, async (db) => {
        const graph = await lockGraph(db, key, { userId, at: new Date() });
        if ((await selectEntity(db, key.tenantId, [graph], id)) === null) return 0;
        return deleteRelationsOf(db, key.tenantId, [id]);
      });
      if (removed < batchRelations) return;
    }
  }
}

/** Versions of relations one statement removes at most. */
export const batchRelations = 5_000;

/** Removes an entity of this user and its relations. Returns null without one. */
export async function deleteEntity(
  db: Queryable,
  key: MemoryKey,
  userId: string,
  id: string,
): Promise<StoredEntity | null> {
  const { tenantId } = key;
  const graph = await lockGraph(db, key, { userId, at: new Date() });
  const entity = await selectEntity(db, tenantId, [graph], id);
  if (entity === null) return null;
  while ((await deleteRelationsOf(db, tenantId, [id])) === batchRelations);
  await deleteEntityRows(db, { tenantId, graphId: graph.id }, [id]);
  return entity;
}

/** Removes entities of a locked graph, which have no relations any more. */
export async function deleteEntityRows(
  db: Queryable,
  { tenantId, graphId }: { tenantId: string; graphId: string },
  ids: readonly string[],
): Promise<void> {
  const bytes = await bytesOf(db, 'entities', { tenantId, ids });
  await db.query('delete from memory.entities where tenant_id = $1 and id = any ($2::uuid[])', [
    tenantId,
    ids,
  ]);
  await growGraph(db, { tenantId, graphId }, { entities: -ids.length, relations: 0, bytes: -bytes });
}

/**
 * Removes up to `batchRelations` relations of these entities. The graph of the entities must be locked. Users'
 * relations to entities of the agent are in the graphs of the users, which no other transaction changes while the
 * agent's is locked.
 */
export async function deleteRelationsOf(
  db: Queryable,
  tenantId: string,
  entityIds: readonly string[],
): Promise<number> {
  const rows = await db.all<{ graphId: string; count: string; bytes: number }>(
    `with found as materialized (
       select r.id from memory.relations as r where r.tenant_id = $1 and r.source_id = any ($2::uuid[])
       union
       select r.id from memory.relations as r where r.tenant_id = $1 and r.target_id = any ($2::uuid[])
       limit ${batchRelations}
     ), deleted as (
       delete from memory.relations where id = any (array(select id from found)) and tenant_id = $1 returning graph_id, size
     )
     select graph_id as "graphId", count(*) as count, coalesce(sum(size), 0)::float8 as bytes
     from deleted group by graph_id order by graph_id`,
    [tenantId, entityIds],
  );
  let removed = 0;
  for (const { graphId, count, bytes } of rows) {
    await growGraph(db, { tenantId, graphId }, { entities: 0, relations: -Number(count), bytes: -bytes });
    removed += Number(count);
  }
  return removed;
}

async function selectEntity(
  db: Queryable,
  tenantId: string,
  graphs: readonly Graph[],
  id: string,
): Promise<StoredEntity | null> {
  const row = await db.first<Omit<StoredEntity, 'userId'> & { graphId: string }>(
    `select ${entityColumns}, e.graph_id as "graphId" from memory.entities as e
     where e.tenant_id = $1 and e.id = $2 and e.graph_id = any ($3::bigint[])`,
    [tenantId, id, graphs.map((graph) => graph.id)],
  );
  if (row === null) return null;
  const { graphId, ...entity } = row;
  return { ...entity, userId: userOf(graphs, graphId) };
}

function userOf(graphs: readonly Graph[], graphId: string): string {
  const graph = graphs.find(({ id }) => id === graphId);
  if (graph === undefined) throw new Error('an entity is in a graph that was not asked for');
  return graph.userId;
}
