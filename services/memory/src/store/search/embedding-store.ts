import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { normalised, packVector, sketchOf, type Embedded } from '../../search/vectors.ts';
import type { RequestJob } from '../scopes/job-request.ts';
import { liveDocument, visibleScope, type AgentKey } from '../scopes/scope-store.ts';

/** Stands for the model of a memory while the catalogue has no embedding model. */
export const noModel = '';

/** A passage waiting for its embedding. */
export interface PendingChunk {
  scopeId: string;
  number: number;
  documentId: string;
  /** The passage with the headings above it. */
  text: string;
}

/** Longer than a batch takes. */
const claimedFor = `interval '90 s'`;

/** Reads passages without an embedding, and stores embeddings. `pool` acts as `memory_app`. */
export class EmbeddingStore extends Store {
  /**
   * Claims the embedding of an agent's passages for a job, or prolongs its claim. `gone`: the memory does not exist.
   */
  async claim({ tenantId, agentId }: AgentKey, jobId: string): Promise<'claimed' | 'held' | 'gone'> {
    return withTenant(this.pool, tenantId, async (db) => {
      const isClaimed = await db.exists(
        `update memory.agents set embedding_job = $3, embedding_until = clock_timestamp() + ${claimedFor}
         where tenant_id = $1 and agent_id = $2 and deleted_at is null
           and (embedding_job is null or embedding_job = $3 or embedding_until < clock_timestamp())`,
        [tenantId, agentId, jobId],
      );
      if (isClaimed) return 'claimed';
      const isHeld = await db.exists(
        'select from memory.agents where tenant_id = $1 and agent_id = $2 and deleted_at is null',
        [tenantId, agentId],
      );
      return isHeld ? 'held' : 'gone';
    });
  }

  async release({ tenantId, agentId }: AgentKey, jobId: string): Promise<void> {
    await this.tenant(tenantId).query(
      `update memory.agents set embedding_job = null
         where tenant_id = $1 and agent_id = $2 and embedding_job = $3`,
      [tenantId, agentId, jobId],
    );
  }

  /** Passages without an embedding of the model the memory uses. */
  async pending(
    { tenantId, agentId }: AgentKey,
    { limit, without }: { limit: number; without: readonly Pick<PendingChunk, 'scopeId' | 'number'>[] },
  ): Promise<PendingChunk[]> {
    return this.tenant(tenantId).all<PendingChunk>(
      `select c.scope_id as "scopeId", c.number, c.document_id as "documentId", c.context || E'\\n' || c.text as text
         from memory.scopes as s
         join memory.agents as a using (tenant_id, agent_id)
         -- The second part is read only if the first has too few: it reads all documents.
         cross join lateral (
           select id, replaced_by from memory.documents
           where tenant_id = $1 and scope_id = s.id and embedded_by is null
           union all
           select id, replaced_by from memory.documents
           where tenant_id = $1 and scope_id = s.id and embedded_by <> a.embedding_model
         ) as d
         -- With "offset 0", each document's passages are found by its id, and not all of the tenant's compared with it.
         cross join lateral (
           select tenant_id, scope_id, number, document_id, context, text from memory.chunks
           where tenant_id = $1 and document_id = d.id offset 0
         ) as c
         where s.tenant_id = $1 and s.agent_id = $2 and ${visibleScope} and ${liveDocument}
           and not exists (
             select from memory.embeddings as e
             where e.tenant_id = $1 and e.scope_id = c.scope_id and e.number = c.number
               and e.model = coalesce(nullif(a.embedding_model, '${noModel}'), e.model)
           )
           -- Unlike one of "not exists", this subquery is hashed.
           and (c.scope_id, c.number) not in (
             select scope_id, number from unnest($4::bigint[], $5::integer[]) as without (scope_id, number))
         limit $3`,
      [
        ...[tenantId, agentId, limit],
        without.map(({ scopeId }) => scopeId),
        without.map(({ number }) => number),
      ],
    );
  }

  /** Stores the embeddings of the remaining passages, and notes the model. */
  async save(key: AgentKey, chunks: readonly PendingChunk[], { model, vectors }: Embedded): Promise<void> {
    const { tenantId } = key;
    const made = vectors.map(normalised);
    await withTenant(this.pool, tenantId, async (db) => {
      await setEmbeddingModel(db, key, model);
      await shareScopes(db, tenantId, chunks);
      await db.query(
        `insert into memory.embeddings (tenant_id, scope_id, number, model, vector, sketch)
         select $1, new.scope_id, new.number, $2, new.vector, new.sketch::bit varying
         from unnest($3::bigint[], $4::integer[], $5::bytea[], $6::text[]) as new (scope_id, number, vector, sketch)
         cross join lateral (
           select from memory.chunks as c
           where c.tenant_id = $1 and c.scope_id = new.scope_id and c.number = new.number limit 1
         ) as present
         on conflict (tenant_id, scope_id, number)
         do update set model = excluded.model, vector = excluded.vector, sketch = excluded.sketch`,
        [
          ...[tenantId, model],
          chunks.map(({ scopeId }) => scopeId),
          chunks.map(({ number }) => number),
          made.map(packVector),
          made.map(sketchOf),
        ],
      );
      await markEmbedded(db, tenantId, {
        ids: [...new Set(chunks.map(({ documentId }) => documentId))],
        model,
      });
    });
  }

  /** Notes the current model, or `noModel`. Returns whether it is another one than before. */
  async noteModel(key: AgentKey, model: string, request: RequestJob): Promise<boolean> {
    return withTenant(this.pool, key.tenantId, async (db) => {
      const changed = await setEmbeddingModel(db, key, model);
      if (changed && model !== noModel) await request(db, key);
      return changed;
    });
  }
}

async function setEmbeddingModel(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  model: string,
): Promise<boolean> {
  return db.exists(
    `update memory.agents set embedding_model = $3
     where tenant_id = $1 and agent_id = $2 and embedding_model is distinct from $3`,
    [tenantId, agentId, model],
  );
}

/** Keeps writers out of the scopes of passages, so no passage is deleted before its embedding is there. */
async function shareScopes(db: Queryable, tenantId: string, chunks: readonly PendingChunk[]): Promise<void> {
  await db.query(
    'select 1 from memory.scopes where tenant_id = $1 and id = any ($2::bigint[]) order by id for share',
    [tenantId, [...new Set(chunks.map(({ scopeId }) => scopeId))]],
  );
}

/** Marks documents with an embedding of the model for every passage. */
async function markEmbedded(
  db: Queryable,
  tenantId: string,
  { ids, model }: { ids: readonly string[]; model: string },
): Promise<void> {
  await db.query(
    `update memory.documents as d set embedded_by = $3
     where d.tenant_id = $1 and d.id = any ($2::uuid[]) and not exists (
       select from memory.chunks as c
       where c.tenant_id = $1 and c.document_id = d.id and not exists (
         select from memory.embeddings as e
         where e.tenant_id = $1 and e.scope_id = c.scope_id and e.number = c.number and e.model = $3
       )
     )`,
    [tenantId, ids, model],
  );
}
