import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { isStatementTimeout } from '@gatehouse/pg/errors';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { labelKey, type StoredEntity } from '../../graph/entity.ts';
import type { StoredEdge } from '../../graph/relation.ts';
import { traverse, type Step } from '../../graph/traversal.ts';
import type { AgentKey } from '../scopes/scope-store.ts';
import { edgesBetween, hasUnreadEdges, selectEdges } from './edge-store.ts';
import { entityColumns, entitySize } from './entity-store.ts';
import { selectGraphs } from './graph-row-store.ts';
import { maxLookups, relationsOf, Values, type Traverse, type GraphView } from './graph-view.ts';

export type Node = Omit<StoredEntity, 'userId'> & { distance: number };

export interface Subgraph {
  nodes: Node[];
  edges: StoredEdge[];
  truncated: boolean;
}

/** Time-outs of one statement, and of all a traversal follows. */
const statementTimeoutMs = 1_000;
const maxDurationMs = 3_000;

/** Nodes of one response, in bytes. */
const maxNodesBytes = 3 * 1024 * 1024;

/** `pool` acts as `memory_app`. */
export class TraversalStore extends Store {
  /**
   * Visits entities connected to the start, as these users see it, in one statement a step. Relations not found in time
   * are left out, and the result is `truncated`. Throws `not_found` for an unknown start, and `query_timeout` if the
   * graphs, the start or the nodes are not read in time.
   */
  async traverse(key: AgentKey, users: readonly string[], query: Traverse): Promise<Subgraph> {
    return withTenant(this.pool, key.tenantId, async (db) => {
      const asOf = await beginTraversal(db, query.asOf);
      const graphs = await selectGraphs(db, key, users);
      const view: GraphView = { tenantId: key.tenantId, graphIds: graphs.map(({ id }) => id), asOf, query };
      const inTime = untilEnd(db, monotonicMs() + maxDurationMs);
      const starts = await selectStarts(db, view);
      const bounds = { depth: query.depth, maxNodes: query.max_nodes };
      const { distances, truncated } = await traverse(starts, bounds, {
        neighbours: (step) => inTime(() => selectNeighbours(db, view, step)),
        isCut: async (frontier) => (await inTime(() => isCut(db, view, frontier))) ?? true,
      });
      const selected = await selectNodes(db, view, [...distances.keys()]);
      const nodes = selected.rows.map((node) => ({ ...node, distance: distances.get(node.id) ?? 0 }));
      const between = await edgesBetween(
        nodes.map(({ id }) => id),
        (from, all) => inTime(() => selectEdges(db, view, from, all)),
        async (ids) => (await inTime(() => hasUnreadEdges(db, view, ids))) ?? true,
      );
      return { nodes, edges: between.edges, truncated: truncated || selected.cut || between.cut };
    });
  }
}

/** Runs work in a transaction; returns null if it takes too long, or once the time is over. */
function untilEnd(
  db: Queryable,
  endsAt: number,
): <Result>(work: () => Promise<Result>) => Promise<Result | null> {
  return async (work) => {
    if (monotonicMs() > endsAt) return null;
    await db.query('savepoint in_time');
    try {
      return await work();
    } catch (error) {
      if (!isStatementTimeout(error)) throw error;
      await db.query('rollback to savepoint in_time');
      return null;
    }
  };
}

/** Limits the time of the following statements. Returns the time of the traversal, by default the database's. */
async function beginTraversal(db: Queryable, asOf: string | null): Promise<string> {
  const begun = await db.one<{ as_of: Date }>(
    `select set_config('statement_timeout', '${statementTimeoutMs}', true),
            coalesce($1, date_trunc('milliseconds', clock_timestamp())) as as_of`,
    [asOf],
  );
  return begun.as_of.toISOString();
}

/** Ids of the entities to start from, in the order of the request. Throws `not_found` for an unknown one. */
async function selectStarts(db: Queryable, { tenantId, graphIds, query }: GraphView): Promise<string[]> {
  const { start } = query;
  const ids = start.map((ref) => (isUuid(ref) ? ref : null));
  const values = new Values([tenantId, graphIds, start, ids, start.map(labelKey), query.max_nodes + 1]);
  const rows = await db.all<{ position: string; rank: number; id: string }>(
    values.prepared(`select input.position, found.rank, found.id
     from unnest($3::text[], $4::uuid[], $5::text[]) with ordinality as input (ref, id, name_key, position)
     cross join lateral (
       select id, 1 as rank from memory.entities
       where tenant_id = $1 and id = input.id and graph_id = any ($2::bigint[])
       union all
       select id, 2 from memory.entities
       where tenant_id = $1 and graph_id = any ($2::bigint[]) and external_id = input.ref and external_id is not null
       union all
       (select id, 3 from memory.entities
        where tenant_id = $1 and graph_id = any ($2::bigint[]) and name_key = input.name_key
        order by id limit $6::int)
     ) as found
     order by input.position, found.rank, found.id`),
  );
  const byPosition = Map.groupBy(rows, ({ position }) => Number(position));
  return start.flatMap((ref, index) => {
    const matches = byPosition.get(index + 1) ?? [];
    if (matches.length === 0)
      throw new AppError('not_found', `There is no entity ${JSON.stringify(ref)}.`, {
        param: `start[${index}]`,
      });
    return matches.filter(({ rank }) => rank === matches[0]?.rank).map(({ id }) => id);
  });
}

/**
 * The strongest relations of each entity of the frontier, over an index for each direction: a limit inside `lateral`
 * reads `fan_out` of an entity's relations, however many it has. Self-loops lead nowhere and are left out.
 */
async function selectNeighbours(
  db: Queryable,
  view: GraphView,
  { frontier, visited, limit }: Step,
): Promise<string[]> {
  const values = new Values([view.tenantId, view.asOf, frontier, view.query.fan_out, visited, limit]);
  const near = branches(view, values, { limit: '$4::int', lookups: lookupsFor(frontier) });
  const rows = await db.all<{ id: string }>(
    values.prepared(
      // Not a join: joins by hash are switched off.
      `select near.id from unnest($3::uuid[]) as origin (id)
       cross join lateral (
         select id, weight from (${near}) as branch
         order by weight desc, id limit $4::int
       ) as near
       where near.id not in (select unnest($5::uuid[]))
       group by near.id order by max(near.weight) desc, near.id limit $6::int`,
    ),
  );
  return rows.map(({ id }) => id);
}

function lookupsFor({ length }: readonly string[]): number {
  const { ofEntity: perEntity, ofStep: perStep, least } = maxLookups;
  return Math.min(perEntity, Math.max(least, Math.ceil(perStep / length)));
}

/**
 * Whether an entity of the frontier has more relations than may be followed, or than are looked up. Stops at the first.
 */
async function isCut(db: Queryable, view: GraphView, frontier: readonly string[]): Promise<boolean> {
  const { fan_out: fanOut, entity_types: types } = view.query;
  const values = new Values([view.tenantId, view.asOf, frontier, fanOut]);
  const lookups = lookupsFor(frontier);
  const branch = branches(view, values, { limit: '$4::int + 1', lookups });
  const more = [`(select from (${branch}) as branch offset $4::int limit 1)`];
  if (types.length > 0) {
    const rest = `offset ${values.add(lookups)}::int limit 1`;
    more.push(
      ...relationsOf(view, values).map((relations) => `(select from (${relations} ${rest}) as unseen)`),
    );
  }
  return db.exists(
    values.prepared(
      `select from unnest($3::uuid[]) as origin (id)
       cross join lateral (select from (${more.join(' union all ')}) as one limit 1) as more
       limit 1`,
    ),
  );
}

/** The `limit` strongest relations of `origin` in each visible graph and each direction. */
function branches(
  view: GraphView,
  values: Values,
  { limit, lookups }: { limit: string; lookups: number },
): string {
  const { entity_types: types } = view.query;
  const wanted =
    types.length === 0 ? null : { types: values.add(types.map(labelKey)), most: values.add(lookups) };
  return relationsOf(view, values)
    .map((relations) => {
      if (wanted === null) return `(${relations} limit ${limit})`;
      // A subquery instead of a join: relations are still read in the order of the index.
      return `(select id, weight from (${relations} limit ${wanted.most}::int) as strongest
        where (select e.type_key from memory.entities as e where e.id = strongest.id and e.tenant_id = $1)
          = any (${wanted.types}::text[])
        limit ${limit})`;
    })
    .join(' union all ');
}

/** The entities, in order, as far as they fit into a response. */
async function selectNodes(
  db: Queryable,
  { tenantId, graphIds }: GraphView,
  ids: readonly string[],
): Promise<{ rows: Omit<Node, 'distance'>[]; cut: boolean }> {
  const rows = await db.all<Omit<Node, 'distance'> & { found: string }>(
    new Values([tenantId, graphIds, ids])
      .prepared(`select id, "externalId", name, type, description, properties, found from (
       select e.*, node.position, count(*) over () as found, sum(e.size) over (order by node.position) as total
       from unnest($3::uuid[]) with ordinality as node (id, position)
       cross join lateral (
         select ${entityColumns}, ${entitySize} as size from memory.entities as e
         where e.tenant_id = $1 and e.id = node.id and e.graph_id = any ($2::bigint[]) limit 1
       ) as e
     ) as entity
     where total <= ${maxNodesBytes} or position = 1
     order by position`),
  );
  const count = Number(rows[0]?.found ?? 0);
  return { rows: rows.map(({ found: _found, ...node }) => node), cut: count > rows.length };
}
