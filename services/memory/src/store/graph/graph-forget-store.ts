import { monotonicMs } from '@gatehouse/kit/clock';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store, tenantDb } from '@gatehouse/pg/store';
import type { ErasedRows } from '../../documents/forget.ts';
import { agentScope } from '../../shared/memory-key.ts';
import { actedUntil, type UserDeletion } from '../scopes/deleted-user-store.ts';
import { isAgentDeleted, shareAgent, type AgentKey } from '../scopes/scope-store.ts';
import { growGraph, type GraphGrowth } from './graph-row-store.ts';
import { batchRelations, deleteEntityRows, deleteRelationsOf } from './graph-store.ts';

/** Entities removed by one transaction at most. */
const batchEntities = 1_000;

/** Counts of removed rows. */
export interface RemovedGraph extends GraphGrowth {
  /** False when more is to be removed: call again. */
  completed: boolean;
}

/** Removes in short transactions: a large graph delays no other writer for long. `pool` acts as `memory_app`. */
export class GraphForgetStore extends Store {
  /**
   * Removes everything matching, and the relations to it. Entities and relations have no path and no session, so a
   * filter by these matches nothing. Stops after `forMs`.
   */
  async forget(key: AgentKey, which: ErasedRows, forMs = Infinity): Promise<RemovedGraph> {
    const removal = new Removal(this.pool, forMs);
    if (which.pathPrefix === null && which.sessionId === null)
      await removal.remove(key, which.users, { runId: which.runId });
    return removal.removed;
  }

  /** Removes everything of an agent and its users, as long as the agent is marked as deleted. */
  async forgetAgent(key: AgentKey, forMs = Infinity): Promise<RemovedGraph> {
    const removal = new Removal(this.pool, forMs, { wasDeleted: true });
    await removal.remove(key, 'all', {});
    return removal.removed;
  }

  /**
   * Removes what a user's requests up to a time have stored, with any agent of the tenant. An entity goes as a whole if
   * the first of its requests is one of them. Call it after `noteDeletedUser`.
   */
  async forgetUser({ tenantId, userId, requestedAt }: UserDeletion, forMs = Infinity): Promise<RemovedGraph> {
    const agents = await this.tenant(tenantId).all<{ agentId: string }>(
      `select distinct agent_id as "agentId" from memory.graphs
         where tenant_id = $1 and user_id = $2 and user_id <> ''`,
      [tenantId, userId],
    );
    const removal = new Removal(this.pool, forMs);
    for (const { agentId } of agents)
      await removal.remove({ tenantId, agentId }, [userId], { until: requestedAt });
    return removal.removed;
  }
}

/** A removal in batches until nothing is left or the time is over. */
class Removal {
  readonly removed: RemovedGraph = { entities: 0, relations: 0, completed: true };
  readonly #pool: Pool;
  readonly #endsAt: number;
  readonly #wasDeleted: boolean;

  constructor(pool: Pool, forMs: number, { wasDeleted = false }: { wasDeleted?: boolean } = {}) {
    this.#pool = pool;
    this.#endsAt = monotonicMs() + forMs;
    this.#wasDeleted = wasDeleted;
  }

  async remove(
    key: AgentKey,
    users: ErasedRows['users'],
    { runId = null, until = null }: Partial<Filter>,
  ): Promise<void> {
    for (const userId of await this.#usersOf(key, users, runId))
      await this.#empty(key, userId, { runId, until });
  }

  /**
   * Users with a graph, or with something of a run in it; the agent last, because relations of users may have its
   * entities.
   */
  async #usersOf(
    { tenantId, agentId }: AgentKey,
    users: ErasedRows['users'],
    runId: string | null,
  ): Promise<string[]> {
    const rows = await tenantDb(this.#pool, tenantId).all<{ userId: string }>(
      `select distinct user_id as "userId" from memory.graphs
         where tenant_id = $1 and agent_id = $2 and ($3::text[] is null or user_id = any ($3))
           and ($4::uuid is null or id in (
             select graph_id from memory.entities where tenant_id = $1 and run_id = $4
             union all select graph_id from memory.relations where tenant_id = $1 and run_id = $4))
         order by user_id desc`,
      [tenantId, agentId, users === 'all' ? null : users, runId],
    );
    return rows.map(({ userId }) => userId);
  }

  /** Removes the graphs of a user, or what a run left in them, or requests up to a time. */
  async #empty({ tenantId, agentId }: AgentKey, userId: string, filter: Filter): Promise<void> {
    for (;;) {
      this.removed.completed &&= monotonicMs() < this.#endsAt;
      if (!this.removed.completed) return;
      const batch = await withTenant(this.#pool, tenantId, (db) =>
        removeGraphBatch(db, tenantId, { agentId, userId, ...filter, wasDeleted: this.#wasDeleted }),
      );
      if (batch === null) return;
      this.removed.entities += batch.entities;
      this.removed.relations += batch.relations;
    }
  }
}

interface Filter {
  runId: string | null;
  until: Date | null;
}

export interface GraphPart extends Filter {
  agentId: string;
  userId: string;
  /** Whether the agent must be marked as deleted. */
  wasDeleted: boolean;
}

/** Removes a batch of a graph. Returns what it has removed, or null when nothing is left. */
export async function removeGraphBatch(
  db: Queryable,
  tenantId: string,
  part: GraphPart,
): Promise<GraphGrowth | null> {
  await shareAgent(db, part);
  if (part.wasDeleted && !(await isAgentDeleted(db, { tenantId, agentId: part.agentId }))) return null;
  const graphId = await lockExisting(db, tenantId, part);
  if (graphId === null) return null;
  const graph = { tenantId, graphId };
  const values = [tenantId, graphId, part.runId, part.until];
  const removed = await db.one<{ relations: number; bytes: number }>(
    `with gone as (
       delete from memory.relations where tenant_id = $1 and id in (
         select r.id from memory.relations as r where ${removable('r')} limit ${batchRelations})
       returning size
     )
     select count(*)::float8 as relations, coalesce(sum(size), 0)::float8 as bytes from gone`,
    values,
  );
  const { relations, bytes } = removed;
  await growGraph(db, graph, { entities: 0, relations: -relations, bytes: -bytes });
  if (relations === batchRelations) return { entities: 0, relations };
  const rows = await db.all<{ id: string }>(
    `select e.id from memory.entities as e where ${removable('e')} limit ${batchEntities}`,
    values,
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) {
    // Relations to these entities, left by other runs or in the graphs of users.
    const others = await deleteRelationsOf(db, tenantId, ids);
    if (others === batchRelations) return { entities: 0, relations: relations + others };
    await deleteEntityRows(db, graph, ids);
    return { entities: ids.length, relations: relations + others };
  }
  // The row has the id of the user.
  if (part.runId === null)
    await db.query(`delete from memory.graphs as g where g.tenant_id = $1 and g.id = $2 and ${isEmpty}`, [
      tenantId,
      graphId,
    ]);
  return relations > 0 || part.runId === null ? { entities: 0, relations } : null;
}

/** The SQL condition for rows of this alias to remove: of the tenant $1, the graph $2, the run $3, written up to $4. */
function removable(alias: string): string {
  return `${alias}.tenant_id = $1 and ${alias}.graph_id = $2 and ($3::uuid is null or ${alias}.run_id = $3)
    and ${actedUntil(alias, '$4')}`;
}

/** The SQL condition for graphs `g` without any row. */
const isEmpty = `(not exists (select from memory.entities as e where e.graph_id = g.id)
  and not exists (select from memory.relations as r where r.graph_id = g.id))`;

/** Locks a graph of any generation as writers do, one with something to remove; null without one. */
async function lockExisting(
  db: Queryable,
  tenantId: string,
  { agentId, userId, until }: GraphPart,
): Promise<string | null> {
  const lock = async (user: string, mode: string): Promise<string | null> => {
    const row = await db.first<{ id: string }>(
      `select g.id from memory.graphs as g where g.tenant_id = $1 and g.agent_id = $2 and g.user_id = $3
         and ($4::timestamptz is null or ${isEmpty}
           or exists (select from memory.entities as e where e.graph_id = g.id and ${actedUntil('e', '$4')})
           or exists (select from memory.relations as r where r.graph_id = g.id and ${actedUntil('r', '$4')}))
       order by g.id limit 1 ${mode} of g`,
      [tenantId, agentId, user, user === userId ? until : null],
    );
    return row?.id ?? null;
  };
  if (userId !== agentScope) await lock(agentScope, 'for share');
  return lock(userId, 'for update');
}
