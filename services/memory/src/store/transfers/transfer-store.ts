import { withTenant } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { tenantUsage, visibleScope } from '../scopes/scope-store.ts';

/** The memory of an agent, as a transfer shows it. */
export interface TransferableMemory {
  agentId: string;
  documents: number;
  passages: number;
  /** Bytes of the documents. */
  bytes: number;
  entities: number;
  relations: number;
}

/** Reads for transfers of agents between tenants, one tenant at a time. `pool` acts as `memory_app`. */
export class TransferStore extends Store {
  find(tenantId: string, agentIds: readonly string[]): Promise<TransferableMemory[]> {
    return this.tenant(tenantId).all<TransferableMemory>(
      `select a.agent_id as "agentId", coalesce(m.documents, 0)::float8 as documents,
           coalesce(m.passages, 0)::float8 as passages, coalesce(m.bytes, 0)::float8 as bytes,
           coalesce(g.entities, 0)::float8 as entities, coalesce(g.relations, 0)::float8 as relations
         from unnest($2::uuid[]) as a (agent_id)
           left join lateral (
             select sum(s.documents) as documents, sum(s.chunks) as passages, sum(s.bytes) as bytes
             from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
             where s.tenant_id = $1 and s.agent_id = a.agent_id and ${visibleScope}) as m on true
           left join lateral (
             select sum(entities) as entities, sum(relations) as relations from memory.graphs as g
             where g.tenant_id = $1 and g.agent_id = a.agent_id and g.generation = 0) as g on true`,
      [tenantId, agentIds],
    );
  }

  usage(tenantId: string): Promise<{ documents: bigint; bytes: bigint; entities: bigint }> {
    return withTenant(this.pool, tenantId, (db) => tenantUsage(db, tenantId));
  }
}
