import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { AgentKey } from '../scopes/scope-store.ts';
import type { PassagePosition } from './place.ts';
import { waitsForCopy } from './vector-store.ts';

/** Copies vectors from before the database had pgvector. `pool` acts as `memory_app`. */
export class HalfVectorStore extends Store {
  /** Whether vectors of the agent wait to be copied. False without pgvector. */
  async incomplete({ tenantId, agentId }: AgentKey): Promise<boolean> {
    return withTenant(this.pool, tenantId, async (db) => {
      const rows = await db.all<{ incomplete: boolean }>(
        `select ${waitsForCopy} as incomplete
         from memory.agents as a where a.tenant_id = $1 and a.agent_id = $2`,
        [tenantId, agentId],
      );
      return rows[0]?.incomplete === true;
    });
  }

  /** Copies the next vectors after a place. Returns the place of the last one, or null if there are no more. */
  copy(key: AgentKey, after: PassagePosition, limit: number): Promise<PassagePosition | null> {
    return withTenant(this.pool, key.tenantId, (db) => copyBatch(db, key, after, limit));
  }

  /** Notes the end of copying. Returns false if some vectors are not copied. */
  async complete({ tenantId, agentId }: AgentKey): Promise<boolean> {
    return this.tenant(tenantId).exists(
      `update memory.agents set half_vectors_complete = true
         where tenant_id = $1 and agent_id = $2 and not exists (
           select from memory.embeddings as e
           where e.tenant_id = $1 and e.scope_id = any (array(${scopes})) and ${waiting})`,
      [tenantId, agentId],
    );
  }
}

/** All scopes, also those of unpublished imports. */
const scopes = 'select s.id from memory.scopes as s where s.tenant_id = $1 and s.agent_id = $2';

/** The others are compared by their sketches. */
const waiting = `octet_length(e.vector) between 4 and 64000 and not exists (
  select from memory.half_vectors as h
  where h.tenant_id = e.tenant_id and h.scope_id = e.scope_id and h.number = e.number)`;

/** Skips rows being changed or deleted, and so never waits in a deadlock. */
async function copyBatch(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  after: PassagePosition,
  limit: number,
): Promise<PassagePosition | null> {
  return db.first<PassagePosition>(
    `with batch as materialized (
       select e.scope_id, e.number, e.model, e.vector from memory.embeddings as e
       where e.tenant_id = $1 and e.scope_id = any (array(${scopes})) and ${waiting}
         and (e.scope_id, e.number) > ($3::bigint, $4::integer)
       order by e.scope_id, e.number limit $5
       for share skip locked
     ), copied as (
       insert into memory.half_vectors (tenant_id, scope_id, number, model, vector)
       select $1, scope_id, number, model, memory.half_vector_of(vector) from batch
       on conflict do nothing
     )
     select scope_id as "scopeId", number from batch order by scope_id desc, number desc limit 1`,
    [tenantId, agentId, after.scopeId, after.number, limit],
  );
}
