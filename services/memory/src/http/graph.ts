import type { Changes } from '@gatehouse/audited-changes/changes';
import type {
  listEntities,
  NewEntity,
  NewRelation as WireRelation,
  TraverseGraph,
  UpsertEntities,
  UpsertRelations,
} from '@gatehouse/contract/graph';
import type { Call, Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import type { FairQueue } from '@gatehouse/kit/fair-queue';
import type { z } from 'zod';
import { showEntity, showNode, type EntityInput } from '../graph/entity.ts';
import { showEdge, showRelation } from '../graph/relation.ts';
import type { MemoryAgents } from '../clients/agents.ts';
import { readableUsers, writableUser } from '../shared/memory-key.ts';
import { upsertEntities, type GraphWrite } from '../store/graph/entity-store.ts';
import type { GraphLimits } from '../store/graph/graph-row-store.ts';
import { deleteEntity, type GraphStore } from '../store/graph/graph-store.ts';
import { upsertRelations, type NewRelation } from '../store/graph/relation-store.ts';
import type { TraversalStore } from '../store/graph/traversal-store.ts';
import { memoryOf, type MemoryCall } from './memory-call.ts';
import { sharedChange } from './shared-change.ts';

type List = Call<unknown, z.output<typeof listEntities>>;

const what = 'entity';

export interface GraphDependencies {
  agents: MemoryAgents;
  graphs: GraphStore;
  traversals: TraversalStore;
  changes: Changes;
  /** Limits the work one tenant has under way. */
  work: FairQueue;
  /** Those of a tenant. */
  limitsOf: (tenantId: string) => Promise<GraphLimits>;
}

/** `/v1/agents/{agentID}/kg/*` without `extract` */
export function graphHandlers(dependencies: GraphDependencies): Record<string, Handler> {
  const { agents, graphs, traversals, changes, work, limitsOf } = dependencies;
  const writeOf = async ({ key: { tenantId } }: MemoryCall, userId: string): Promise<GraphWrite> => {
    return { userId, at: new Date(), limits: await limitsOf(tenantId) };
  };
  return {
    'kg.entities.list': async (call: List) => {
      const { key, principal } = await memoryOf(call, agents);
      const { limit, cursor, q = null, type = null } = call.query;
      const filter = { q, type, limit, before: decodeCursor(cursor) };
      return { body: pageOf(await graphs.list(key, readableUsers(principal), filter), limit, showEntity) };
    },

    'kg.entities.get': async (call: Call) => {
      const { key, principal } = await memoryOf(call, agents);
      const entity = await graphs.find(key, readableUsers(principal), resourceId(call.params, what));
      return { body: showEntity(orNotFound(entity, what)) };
    },

    'kg.entities.upsert': async (call: Call<UpsertEntities>) => {
      const memory = await memoryOf(call, agents);
      const { entities } = call.body;
      const write = await writeOf(memory, writableGraph(memory, entities));
      return work.run(memory.key.tenantId, () =>
        changes.change(call, async (db) => {
          const { rows, created, updated } = await upsertEntities(
            db,
            memory.key,
            write,
            entities.map(toEntity),
          );
          const counts = { entities_created: created, entities_updated: updated };
          return {
            body: { data: rows.map(showEntity), created, updated },
            changes: sharedChange('memory_graph.updated', memory, { after: counts }),
          };
        }),
      );
    },

    'kg.entities.delete': async (call: Call) => {
      const memory = await memoryOf(call, agents);
      const { key, principal } = memory;
      const userId = writableUser(principal);
      const id = resourceId(call.params, what);
      const { userId: owner } = orNotFound(await graphs.find(key, readableUsers(principal), id), what);
      if (owner !== userId)
        throw new AppError(
          'user_mismatch',
          'A request with an acting user deletes only entities of that user: omit X-Service-User-Id.',
        );
      await graphs.removeRelations(key, userId, id);
      return changes.change(call, async (db) => {
        orNotFound(await deleteEntity(db, key, userId, id), what);
        return { changes: sharedChange('memory_graph.updated', memory, { after: { entities_deleted: 1 } }) };
      });
    },

    'kg.relations.upsert': async (call: Call<UpsertRelations>) => {
      const memory = await memoryOf(call, agents);
      const write = await writeOf(memory, writableUser(memory.principal));
      return work.run(memory.key.tenantId, () =>
        changes.change(call, async (db) => {
          const relations = call.body.relations.map(toRelation);
          const { rows, created, updated } = await upsertRelations(db, memory.key, write, relations);
          const counts = { relations_created: created, relations_updated: updated };
          return {
            body: { data: rows.map(showRelation), created, updated },
            changes: sharedChange('memory_graph.updated', memory, { after: counts }),
          };
        }),
      );
    },

    'kg.traverse': async (call: Call<TraverseGraph>) => {
      const { key, principal } = await memoryOf(call, agents);
      const { as_of: asOf = null, ...query } = call.body;
      const subgraph = await work.run(key.tenantId, () =>
        traversals.traverse(key, readableUsers(principal), { ...query, asOf }),
      );
      const nodes = subgraph.nodes.map((node) => showNode(node, node.distance));
      return { body: { nodes, edges: subgraph.edges.map(showEdge), truncated: subgraph.truncated } };
    },
  };
}

/** The user of the graph for the entities. Throws when the scope of one names another. */
function writableGraph({ principal }: MemoryCall, entities: readonly NewEntity[]): string {
  for (const [index, { scope }] of entities.entries()) {
    try {
      writableUser(principal, scope);
    } catch (error) {
      if (!(error instanceof AppError) || error.param === null) throw error;
      throw new AppError(error.code, error.message, { param: `entities[${index}].${error.param}` });
    }
  }
  return writableUser(principal);
}

function toEntity({
  external_id: externalId = null,
  name,
  type,
  description,
  properties,
}: NewEntity): EntityInput {
  return { externalId, name, type, description, properties };
}

function toRelation({ valid_from: from, valid_to: to, ...relation }: WireRelation): NewRelation {
  const { source, target, type, weight, properties } = relation;
  return {
    source,
    target,
    type,
    weight,
    properties,
    validFrom: from === undefined ? undefined : Date.parse(from),
    validTo: to === undefined || to === null ? to : Date.parse(to),
  };
}
