import { AppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import { agentScope, type MemoryKey } from '../../shared/memory-key.ts';
import { wasDeleted } from '../scopes/deleted-user-store.ts';
import {
  assertWithin,
  holdMemory,
  noLimits,
  type AgentKey,
  type MemoryLimits,
} from '../scopes/scope-store.ts';

/** The entities and relations of one user of an agent, or of the agent. */
export interface Graph {
  id: string;
  userId: string;
}

/** A graph to write to, locked until the transaction ends. */
export interface LockedGraph extends Graph {
  /** The graphs with entities its relations may connect: itself and the graph of the agent. */
  readable: Graph[];
}

/** The visible graphs of these users of an agent; empty if the agent was deleted. */
export function selectGraphs(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  users: readonly string[],
): Promise<Graph[]> {
  return db.all<Graph>(
    `select g.id, g.user_id as "userId" from memory.graphs as g
     left join memory.agents as a on a.tenant_id = g.tenant_id and a.agent_id = g.agent_id
     where g.tenant_id = $1 and g.agent_id = $2 and g.user_id = any ($3::text[]) and g.generation = 0
       and a.deleted_at is null`,
    [tenantId, agentId, users],
  );
}

/**
 * Locks the graph of a user, and creates it if it does not exist. Every writer calls it first: it locks the graph of
 * the agent, shared for writers of users, and then the user's, so writers can't deadlock, and no entity of the agent
 * disappears while a user's relation to it is stored. Throws `not_found` if the agent, or data of the user up to `at`,
 * was deleted.
 */
export async function lockGraph(
  db: Queryable,
  key: MemoryKey,
  { userId, at }: { userId: string; at: Date },
): Promise<LockedGraph> {
  await holdMemory(db, key);
  if (await wasDeleted(db, { tenantId: key.tenantId, userId, at }))
    throw new AppError('not_found', 'There is no such user: their data were deleted meanwhile.');
  const agent = await graphOf(db, key, agentScope, userId === agentScope ? 'for no key update' : 'for share');
  if (userId === agentScope) return { ...agent, readable: [agent] };
  const graph = await graphOf(db, key, userId, 'for no key update');
  return { ...graph, readable: [graph, agent] };
}

type Lock = 'for share' | 'for no key update';

async function graphOf(db: Queryable, key: MemoryKey, userId: string, lock: Lock): Promise<Graph> {
  const { tenantId, agentId } = key;
  const values = [tenantId, agentId, userId];
  // Forgetting may delete the graph between the two statements.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const graph = await db.first<Graph>(
      `select id, user_id as "userId" from memory.graphs
       where tenant_id = $1 and agent_id = $2 and user_id = $3 and generation = 0 ${lock}`,
      values,
    );
    if (graph !== null) return graph;
    await db.query(
      'insert into memory.graphs (tenant_id, agent_id, user_id) values ($1, $2, $3) on conflict do nothing',
      values,
    );
  }
  throw new AppError('service_unavailable', 'The memory of this user is being removed. Try again shortly.', {
    headers: { 'retry-after': '1' },
  });
}

/** A graph to count in. */
interface Growing {
  tenantId: string;
  graphId: string;
  /** Those of the tenant; by default no limits. */
  limits?: GraphLimits;
}

export type GraphLimits = Pick<MemoryLimits, 'entities' | 'bytes'>;

/** Amounts by which a graph grows; negative for less. */
export interface GraphGrowth {
  entities: number;
  relations: number;
}

/** The same, with what it counts towards the limit of the tenant's bytes. */
type CountedGrowth = GraphGrowth & { bytes: number };

/**
 * Versions of relations a tenant may have for each entity of its limit. Nothing else limits them: an entity may
 * have many relations.
 */
const maxRelationsPerEntity = 50;

/**
 * Counts what was added to a graph and to its tenant. Throws `limit_reached` when the tenant grows past its limit. Call
 * it last in a transaction: all writers of the tenant wait for its row.
 */
export async function growGraph(
  db: Queryable,
  { tenantId, graphId, limits = noLimits }: Growing,
  growth: CountedGrowth,
): Promise<void> {
  await growGraphAlone(db, { tenantId, graphId }, growth);
  await growTenantGraph(db, { tenantId, limits }, growth);
}

/** Counts in a graph alone. */
export async function growGraphAlone(
  db: Queryable,
  { tenantId, graphId }: Pick<Growing, 'tenantId' | 'graphId'>,
  { entities, relations }: GraphGrowth,
): Promise<void> {
  if (entities === 0 && relations === 0) return;
  await db.query(
    `update memory.graphs set entities = entities + $3, relations = relations + $4 where tenant_id = $1 and id = $2`,
    [tenantId, graphId, entities, relations],
  );
}

/** Counts in a tenant alone, with the rules of {@link growGraph}. */
export async function growTenantGraph(
  db: Queryable,
  { tenantId, limits = noLimits }: Pick<Growing, 'tenantId' | 'limits'>,
  { entities, relations, bytes }: CountedGrowth,
): Promise<void> {
  if (entities === 0 && relations === 0 && bytes === 0) return;
  const used = await db.one<{ entities: string; relations: string; bytes: string }>(
    `insert into memory.tenants as t (tenant_id, entities, relations, bytes) values ($1, $2, $3, $4)
       on conflict (tenant_id) do update
         set entities = t.entities + excluded.entities, relations = t.relations + excluded.relations,
             bytes = t.bytes + excluded.bytes
       returning entities, relations, bytes`,
    [tenantId, entities, relations, bytes],
  );
  const maxRelations = limits.entities === null ? null : limits.entities * maxRelationsPerEntity;
  assertWithin('entities', entities, Number(used.entities), limits.entities);
  assertWithin('relations', relations, Number(used.relations), maxRelations);
  assertWithin('bytes', bytes, Number(used.bytes), limits.bytes);
}

/** The sum of bytes counted by rows towards the limit of the tenant. */
export async function bytesOf(
  db: Queryable,
  table: 'entities' | 'relations',
  { tenantId, ids }: { tenantId: string; ids: readonly string[] },
): Promise<number> {
  if (ids.length === 0) return 0;
  const { bytes } = await db.one<{ bytes: number }>(
    `select coalesce(sum(size), 0)::float8 as bytes from memory.${table}
     where id = any ($2::uuid[]) and tenant_id = $1`,
    [tenantId, ids],
  );
  return bytes;
}
