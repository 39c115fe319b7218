import { hash } from 'node:crypto';
import { maxGraphEdges, type TraverseGraph } from '@gatehouse/contract/graph';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import { labelKey, type StoredEntity } from '../graph/entity.ts';
import type { StoredEdge } from '../graph/relation.ts';
import { traverse, type Step } from '../graph/traversal.ts';
import { entityColumns, entitySize } from './entity-statements.ts';
import { selectGraphs } from './graph-statements.ts';
import { relationColumns } from './relation-statements.ts';
import type { AgentKey } from './scope-statements.ts';

export type Traverse = Omit<TraverseGraph, 'as_of'> & {
  /** Null: now. */
  asOf: string | null;
};

export type Node = Omit<StoredEntity, 'userId'> & { distance: number };

export interface Subgraph {
  nodes: Node[];
  edges: StoredEdge[];
  truncated: boolean;
}

/** Of one statement, and of a whole traversal. */
const statementTimeoutMs = 1_000;
const maxDurationMs = 3_000;

/** Nodes of one response, in bytes. */
const maxNodesBytes = 3 * 1024 * 1024;

export class TraversalStore {
  readonly #pool: Pool;

  /** `pool` acts as `memory_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Visits what is connected to the start, as these users see it, in one statement a step. Throws `not_found` for an
   * unknown start, and `query_timeout`.
   */
  async traverse(key: AgentKey, users: readonly string[], query: Traverse): Promise<Subgraph> {
    const endsAt = monotonicMs() + maxDurationMs;
    return withTenant(this.#pool, key.tenantId, async (db) => {
      const asOf = await beginTraversal(db, query.asOf);
      const graphs = await selectGraphs(db, key, users);
      const view: View = { tenantId: key.tenantId, graphIds: graphs.map(({ id }) => id), asOf, query };
      const starts = await selectStarts(db, view);
      const bounds = { depth: query.depth, maxNodes: query.max_nodes };
      const { distances, truncated } = await traverse(starts, bounds, {
        neighbours: (step) => {
          if (monotonicMs() > endsAt) throw tookTooLong();
          return selectNeighbours(db, view, step);
        },
        isCut: (frontier) => hasMoreThanFanOut(db, view, frontier),
      });
      const found = await selectNodes(db, view, [...distances.keys()]);
      const nodes = found.rows.map((node) => ({ ...node, distance: distances.get(node.id) ?? 0 }));
      const edges = await selectEdges(
        db,
        view,
        nodes.map(({ id }) => id),
      );
      return {
        nodes,
        edges: edges.slice(0, maxGraphEdges),
        truncated: truncated || found.cut || edges.length > maxGraphEdges,
      };
    });
  }
}

/** What a traversal sees of the relations. */
interface View {
  tenantId: string;
  graphIds: readonly string[];
  asOf: string;
  query: Traverse;
}

/** Limits the time of the following statements. Returns the time of the traversal, by default the database's. */
async function beginTraversal(db: Queryable, asOf: string | null): Promise<string> {
  const begun = await db.query<{ as_of: Date }>(
    `select set_config('statement_timeout', '${statementTimeoutMs}', true),
            coalesce($1, date_trunc('milliseconds', clock_timestamp())) as as_of`,
    [asOf],
  );
  return only(begun).as_of.toISOString();
}

function tookTooLong(): AppError {
  return new AppError('query_timeout', 'The traversal timed out. Request a smaller depth or fan_out.', {
    headers: { 'retry-after': '1' },
  });
}

/** Ids of the entities to start from, in the order of the request. Throws `not_found` for one that is unknown. */
async function selectStarts(db: Queryable, { tenantId, graphIds, query }: View): Promise<string[]> {
  const { start } = query;
  const ids = start.map((ref) => (isUuid(ref) ? ref : null));
  const values = new Values([tenantId, graphIds, start, ids, start.map(labelKey), query.max_nodes + 1]);
  const { rows } = await db.query<{ position: string; rank: number; id: string }>(
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
    const found = byPosition.get(index + 1) ?? [];
    if (found.length === 0)
      throw new AppError('not_found', `There is no entity ${JSON.stringify(ref)}.`, {
        param: `start[${index}]`,
      });
    return found.filter(({ rank }) => rank === found[0]?.rank).map(({ id }) => id);
  });
}

/** The columns of a relation as seen from an entity. */
const ends = {
  out: { own: 'source_id', other: 'target_id' },
  in: { own: 'target_id', other: 'source_id' },
};

/**
 * The strongest relations of each entity of the frontier, over an index for each direction: a limit inside `lateral`
 * reads `fan_out` of an entity's relations, however many it has. Self-loops lead nowhere and are left out.
 */
async function selectNeighbours(
  db: Queryable,
  view: View,
  { frontier, visited, limit }: Step,
): Promise<string[]> {
  const values = new Values([view.tenantId, view.asOf, frontier, view.query.fan_out, visited, limit]);
  const { rows } = await db.query<{ id: string }>(
    values.prepared(
      // Not a join: joins by hash are switched off.
      `select near.id from unnest($3::uuid[]) as origin (id)
       cross join lateral (
         select id, weight from (${branches(view, values, '$4::int')}) as branch
         order by weight desc, id limit $4::int
       ) as near
       where near.id not in (select unnest($5::uuid[]))
       group by near.id order by max(near.weight) desc, near.id limit $6::int`,
    ),
  );
  return rows.map(({ id }) => id);
}

/** Whether an entity of the frontier has more relations than may be followed. Stops at the first. */
async function hasMoreThanFanOut(db: Queryable, view: View, frontier: readonly string[]): Promise<boolean> {
  const values = new Values([view.tenantId, view.asOf, frontier, view.query.fan_out]);
  const { rows } = await db.query(
    values.prepared(
      `select from unnest($3::uuid[]) as origin (id)
       cross join lateral (
         select from (${branches(view, values, '$4::int + 1')}) as branch offset $4::int limit 1
       ) as more
       limit 1`,
    ),
  );
  return rows.length > 0;
}

/** The `limit` strongest relations of `origin` in each visible graph and each direction. */
function branches({ graphIds, query }: View, values: Values, limit: string): string {
  const directions = query.direction === 'both' ? (['out', 'in'] as const) : [query.direction];
  const valid = validity(query, values);
  const types = query.entity_types.length === 0 ? null : values.add(query.entity_types.map(labelKey));
  return graphIds
    .flatMap((graphId) => {
      const graph = values.add(graphId);
      return directions.map((direction) => {
        const { own, other } = ends[direction];
        // A subquery instead of a join, so that relations are still read in the order of the index.
        const ofType =
          types === null
            ? ''
            : `and (select e.type_key from memory.entities as e where e.id = r.${other} and e.tenant_id = $1)
                 = any (${types}::text[])`;
        return `(select r.${other} as id, r.weight from memory.relations as r
          where r.${own} = origin.id and r.tenant_id = $1 and r.graph_id = ${graph}::bigint
            and r.${other} <> origin.id and ${valid} ${ofType}
          order by r.weight desc, r.${other} limit ${limit})`;
      });
    })
    .join(' union all ');
}

/** Parameters of a statement whose text depends on the query. */
class Values {
  readonly #list: unknown[];

  constructor(first: unknown[]) {
    this.#list = [...first];
  }

  /** Returns the name of the parameter. */
  add(value: unknown): string {
    return `$${this.#list.push(value)}`;
  }

  /** The statement, prepared under a name of its text: planning takes as long as a step does. There are few texts. */
  prepared(text: string): { name: string; text: string; values: unknown[] } {
    return { name: `graph_${hash('sha1', text)}`, text, values: this.#list };
  }
}

/** SQL condition for the relations `r` that count; `$2` is the time. */
function validity({ relation_types: types }: Traverse, values: Values): string {
  const ofType = types.length === 0 ? '' : `and r.type = any (${values.add(types)}::text[])`;
  return `r.valid_from <= $2::timestamptz and (r.valid_to is null or r.valid_to > $2::timestamptz) ${ofType}`;
}

/** The entities, in order, as far as they fit into a response. */
async function selectNodes(
  db: Queryable,
  { tenantId, graphIds }: View,
  ids: readonly string[],
): Promise<{ rows: Omit<Node, 'distance'>[]; cut: boolean }> {
  const { rows } = await db.query<Omit<Node, 'distance'> & { found: string }>(
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
  const found = Number(rows[0]?.found ?? 0);
  return { rows: rows.map(({ found: _found, ...node }) => node), cut: found > rows.length };
}

/**
 * Relations between these entities: those from the first entity first, the strongest first; one more than may be shown,
 * if there are more. All relations from each entity are read from the index. The condition on their targets is written
 * so that PostgreSQL checks it against a hash: as a condition on the index it would sort the entities again for each of
 * them (measured 550 ms instead of 40 ms for 2,000 entities).
 */
async function selectEdges(db: Queryable, view: View, ids: readonly string[]): Promise<StoredEdge[]> {
  const values = new Values([view.tenantId, view.asOf, ids]);
  const valid = validity(view.query, values);
  const branches = view.graphIds.map((graphId) => {
    const graph = values.add(graphId);
    return `(select ${relationColumns} from memory.relations as r
      where r.source_id = node.id and r.tenant_id = $1 and r.graph_id = ${graph}::bigint and ${valid}
        and (r.target_id in (select unnest($3::uuid[]))) is true
      order by r.weight desc, r.target_id)`;
  });
  const { rows } = await db.query<StoredEdge>(
    values.prepared(
      `select edge.id, edge."sourceId", edge."targetId", edge.type, edge.weight, edge."validFrom", edge."validTo"
       from unnest($3::uuid[]) as node (id)
       cross join lateral (${branches.join(' union all ')}) as edge
       limit ${maxGraphEdges + 1}`,
    ),
  );
  return rows;
}
