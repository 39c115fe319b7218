import { maxGraphEdges } from '@gatehouse/contract/graph';
import type { Queryable } from '@gatehouse/pg/pool';
import type { StoredEdge } from '../../graph/relation.ts';
import { maxLookups, relationsOf, validity, Values, type GraphView } from './graph-view.ts';
import { relationColumns } from './relation-store.ts';

/** Entities with relations read by one statement for the edges of the response. */
const edgeBatch = 40;

const edgeColumns = 'id, "sourceId", "targetId", type, weight, "validFrom", "validTo"';

/**
 * Relations between these entities: those from the first entity first, the strongest first. `read` returns null once
 * the time is over; then, and if there are too many, the rest is cut.
 */
export async function edgesBetween(
  ids: readonly string[],
  read: (from: readonly string[], all: readonly string[]) => Promise<readonly StoredEdge[] | null>,
  hasUnread: (ids: readonly string[]) => Promise<boolean>,
): Promise<{ edges: StoredEdge[]; cut: boolean }> {
  const edges: StoredEdge[] = [];
  for (let at = 0; at < ids.length; at += edgeBatch) {
    const batch = await read(ids.slice(at, at + edgeBatch), ids);
    if (batch === null) return { edges, cut: true };
    edges.push(...batch);
    if (edges.length > maxGraphEdges) return { edges: edges.slice(0, maxGraphEdges), cut: true };
  }
  return { edges, cut: await hasUnread(ids) };
}

/** Whether an entity has more relations than are read for edges. Stops at the first. */
export async function hasUnreadEdges(
  db: Queryable,
  view: GraphView,
  ids: readonly string[],
): Promise<boolean> {
  const values = new Values([view.tenantId, view.asOf, ids]);
  const outgoing = { ...view, query: { ...view.query, direction: 'out' as const } };
  const more = relationsOf(outgoing, values).map(
    (relations) => `(${relations} offset ${maxLookups.ofEntity} limit 1)`,
  );
  return db.exists(
    values.prepared(
      `select from unnest($3::uuid[]) as origin (id)
       cross join lateral (select from (${more.join(' union all ')}) as one limit 1) as more limit 1`,
    ),
  );
}

/**
 * Relations from entities to any of `all`, at most one more than may be shown. The strongest relations from each entity
 * are read from the index. The condition on their targets is written for a check by PostgreSQL against a hash: as a
 * condition on the index it would sort the entities again for each of them (measured 550 ms instead of 40 ms for 2,000
 * entities).
 */
export async function selectEdges(
  db: Queryable,
  view: GraphView,
  from: readonly string[],
  all: readonly string[],
): Promise<StoredEdge[]> {
  const values = new Values([view.tenantId, view.asOf, from, all]);
  const valid = validity(view.query, values);
  const branches = view.graphIds.map((graphId) => {
    const graph = values.add(graphId);
    return `(select ${edgeColumns} from (
        select ${relationColumns} from memory.relations as r
        where r.source_id = node.node_id and r.tenant_id = $1 and r.graph_id = ${graph}::bigint and ${valid}
        order by r.weight desc, r.target_id limit ${maxLookups.ofEntity}
      ) as strongest where ("targetId" in (select unnest($4::uuid[]))) is true)`;
  });
  return db.all<StoredEdge>(
    values.prepared(
      `select ${edgeColumns}
       from unnest($3::uuid[]) as node (node_id)
       cross join lateral (${branches.join(' union all ')}) as edge
       limit ${maxGraphEdges + 1}`,
    ),
  );
}
