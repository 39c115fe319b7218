import { batchDocuments } from '../../bounds.ts';
import type { DocumentSource } from '@gatehouse/contract/memory';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { Store } from '@gatehouse/pg/store';
import type { MemoryKey } from '../../shared/memory-key.ts';
import { liveDocument, visibleScope } from '../scopes/scope-store.ts';

/** A document as exported. */
export interface StoredText {
  userId: string;
  path: string;
  title: string | null;
  metadata: Record<string, unknown>;
  source: DocumentSource;
  text: string;
  createdAt: Date;
  updatedAt: Date;
}

/** The last document read. Neither a put nor an import changes the order of documents. */
export type ExportPosition = Pick<StoredText, 'userId' | 'path'>;

interface ExportRow extends Omit<StoredText, 'userId' | 'source'> {
  user_id: string;
  sourceKind: DocumentSource['kind'];
  runId: string | null;
  sessionId: string | null;
}

/** Reads whole memories, page by page: no transaction lasts while a client reads. `pool` acts as `memory_app`. */
export class ExportStore extends Store {
  /** The next documents of these users, ordered by user and path. Empty at the end. */
  async documents(
    { tenantId, agentId }: MemoryKey,
    users: readonly string[] | 'all',
    after: ExportPosition | null,
  ): Promise<StoredText[]> {
    const { rows } = await readPage<ExportRow>(this.tenant(tenantId), {
      columns: `d.user_id, d.path, d.title, d.metadata, d.source_kind as "sourceKind", d.run_id as "runId",
          d.session_id as "sessionId", d.text, d.created_at as "createdAt", d.updated_at as "updatedAt"`,
      from: nextDocuments,
      order: 'user_id, path',
      size: sizeOf('d.text', 'd.metadata::text'),
      limit: batchDocuments,
      values: [tenantId, agentId, users === 'all' ? null : users, after?.userId ?? null, after?.path ?? ''],
    });
    return rows.map(({ user_id: userId, sourceKind, runId, sessionId, ...row }) => ({
      ...row,
      userId,
      source: { kind: sourceKind, run_id: runId, session_id: sessionId },
    }));
  }
}

/**
 * Reads a few documents of each scope in the order of the index, and stops with the user that has enough. A user has
 * one scope in each generation.
 */
const nextDocuments = `(
  select own.path, own.title, own.metadata, own.source_kind, own.run_id, own.session_id, own.text, own.created_at,
         own.updated_at, ids.user_id
  from (
    select found.id, u.user_id from (
      select distinct s.user_id from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
      where s.tenant_id = $1 and s.agent_id = $2 and ($3::text[] is null or s.user_id = any ($3)) and ${visibleScope}
        and ($4::text is null or s.user_id >= $4) and s.documents > 0
      order by s.user_id
    ) as u
    cross join lateral (
      select first.id, first.path from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
      cross join lateral (
        select d.id, d.path from memory.documents as d
        where d.tenant_id = $1 and d.scope_id = s.id and (u.user_id is distinct from $4 or d.path > $5) and ${liveDocument}
        order by d.path limit ${batchDocuments + 1}
      ) as first
      where s.tenant_id = $1 and s.agent_id = $2 and s.user_id = u.user_id and ${visibleScope}
      order by first.path limit ${batchDocuments + 1}
    ) as found
    order by u.user_id, found.path limit ${batchDocuments + 1}
  ) as ids
  cross join lateral (
    select path, title, metadata, source_kind, run_id, session_id, text, created_at, updated_at
    from memory.documents where id = ids.id and tenant_id = $1 limit 1
  ) as own
) as d`;
