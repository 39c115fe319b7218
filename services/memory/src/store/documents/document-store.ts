import type { DocumentSource } from '@gatehouse/contract/memory';
import { newId } from '@gatehouse/kit/ids';
import type { PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, withTenantSnapshot, type Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import { Store } from '@gatehouse/pg/store';
import { sizeOf as bytesOf, type NewDocument, type StoredDocument } from '../../documents/document.ts';
import type { MemoryKey } from '../../shared/memory-key.ts';
import { wasDeleted } from '../scopes/deleted-user-store.ts';
import {
  countedBytes,
  growScope,
  growTenant,
  holdMemory,
  liveDocument,
  lockOwnScope,
  lockScopes,
  noLimits,
  shareAgent,
  visibleScope,
  type MemoryLimits,
} from '../scopes/scope-store.ts';
import { noModel } from '../search/embedding-store.ts';
import { analysePassages, deleteChunks, insertChunks } from '../search/index-store.ts';
import { removeDocuments, type Located, type Removed } from './removal-store.ts';
import { countReplaced, stagedIn } from './replaced-store.ts';

interface DocumentRow extends Omit<StoredDocument, 'source'> {
  sourceKind: DocumentSource['kind'];
  runId: string | null;
  sessionId: string | null;
}

const columns = `d.id, d.path, d.title, s.user_id as "userId", d.metadata, d.source_kind as "sourceKind",
  d.run_id as "runId", d.session_id as "sessionId", d.chunks, d.bytes, d.embedded_by is not null as embedded, d.created_at as "createdAt",
  d.updated_at as "updatedAt"`;

/** The documents of one tenant's agents. `$1` to `$3`: tenant, agent, users. */
const visible = `memory.documents as d join memory.scopes as s on s.id = d.scope_id
  join memory.agents as a on a.tenant_id = s.tenant_id and a.agent_id = s.agent_id
  where d.tenant_id = $1 and s.tenant_id = $1 and s.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}
    and ${liveDocument}`;

export interface DocumentFilter {
  pathPrefix: string | null;
  limit: number;
  /** Continue below this id; null for the first page. */
  before: string | null;
}

export interface DocumentStats extends Removed {
  bytes: number;
  pending_embeddings: number;
}

/** Reads documents. An agent without a memory has no documents. `pool` acts as `memory_app`. */
export class DocumentStore extends Store {
  /** Newest first, without texts. */
  async list(
    { tenantId, agentId }: MemoryKey,
    users: readonly string[],
    { pathPrefix, limit, before }: DocumentFilter,
  ): Promise<PageRows<StoredDocument>> {
    const { rows, more } = await readPage<DocumentRow>(this.tenant(tenantId), {
      columns,
      from: `${visible} and ($4::text is null or starts_with(d.path, $4)) and ($5::uuid is null or d.id < $5)`,
      order: 'id desc',
      size: sizeOf('d.metadata::text', 'd.title', 'd.path'),
      limit,
      values: [tenantId, agentId, users, pathPrefix, before],
    });
    return { rows: rows.map(toDocument), more };
  }

  /** With its text. A document of a user comes before one of the agent with the same path. */
  async find(
    { tenantId, agentId }: MemoryKey,
    users: readonly string[],
    path: string,
  ): Promise<(StoredDocument & { text: string }) | null> {
    return withTenant(this.pool, tenantId, async (db) => {
      const row = await db.first<DocumentRow & { text: string }>(
        `select ${columns}, d.text from ${visible} and d.path = $4 order by s.user_id desc limit 1`,
        [tenantId, agentId, users, path],
      );
      if (row === null) return null;
      const { text, ...document } = row;
      return { ...toDocument(document), text };
    });
  }

  /** Counts what belongs to these users. */
  async stats({ tenantId, agentId }: MemoryKey, users: readonly string[]): Promise<DocumentStats> {
    return withTenantSnapshot(this.pool, tenantId, async (db) => {
      const counted = await db.one<{ documents: number; chunks: number; bytes: number; pending: number }>(
        `select coalesce(sum(s.documents), 0)::float8 as documents, coalesce(sum(s.chunks), 0)::float8 as chunks,
                coalesce(sum(s.bytes), 0)::float8 as bytes,
                coalesce(sum((
                  select sum(d.chunks) from memory.documents as d
                  where d.tenant_id = $1 and d.scope_id = s.id and ${liveDocument} and a.embedding_model <> '${noModel}'
                    and (d.embedded_by is null or d.embedded_by <> a.embedding_model)
                )), 0)::float8 as pending
         from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
         where s.tenant_id = $1 and s.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}`,
        [tenantId, agentId, users],
      );
      const { documents, chunks, bytes, pending } = counted;
      const replaced = await countReplaced(db, { tenantId, agentId }, users);
      return {
        documents: documents - replaced.documents,
        chunks: chunks - replaced.chunks,
        bytes: bytes - replaced.bytes,
        pending_embeddings: pending,
      };
    });
  }
}

export interface PutOptions {
  limits?: MemoryLimits;
  /** Whether a document with the same path is replaced; otherwise it stays. Default: true. */
  replace?: boolean;
}

/**
 * Stores a document in place of the one with its path, with its passages and its part of the index. Returns null if
 * there is one not to be replaced, or if the data of its user were deleted since it was sent. Throws `limit_reached`,
 * and `not_found` if the agent was deleted.
 */
export async function putDocument(
  db: Queryable,
  key: MemoryKey,
  document: NewDocument,
  { limits = noLimits, replace = true }: PutOptions = {},
): Promise<{ document: StoredDocument; created: boolean } | null> {
  const put = await storeDocument(db, key, document, replace);
  if (put === null) return null;
  await growTenant(db, key.tenantId, put.growth, limits);
  return { document: await selectDocument(db, key.tenantId, put.id), created: put.created };
}

/** A stored document, and what it adds to the use of its tenant. */
interface Put {
  id: string;
  created: boolean;
  growth: { documents: number; bytes: number };
}

/** The same, without counting the document towards the use of the tenant. */
export async function storeDocument(
  db: Queryable,
  key: MemoryKey,
  document: NewDocument,
  replace: boolean,
): Promise<Put | null> {
  const { tenantId } = key;
  const analyser = await holdMemory(db, key);
  const passages = await analysePassages(db, document.passages, analyser);
  if (await wasDeleted(db, { tenantId, userId: document.userId, at: document.at })) return null;
  const [scopeId, ...others] = await lockOwnScope(db, key, document.userId);
  const before = await selectByPath(db, tenantId, [scopeId, ...others], document.path);
  if (before !== null && !replace) return null;
  const bytes = bytesOf(document);
  let removed = { chunks: 0, tokens: 0 };
  if (before !== null) {
    removed = await deleteChunks(db, { tenantId, scopeId: before.scopeId }, [before.id]);
    if (before.scopeId !== scopeId) {
      const { chunks, tokens } = removed;
      await growScope(db, tenantId, before.scopeId, {
        documents: -1,
        chunks: -chunks,
        bytes: -before.bytes,
        tokens: -tokens,
      });
      removed = { chunks: 0, tokens: 0 };
    }
  }
  const id = before?.id ?? newId();
  const values = { tenantId, scopeId, id, bytes, document };
  if (before === null) await insertDocument(db, values, await stagedIn(db, key, document));
  else await updateDocument(db, values);
  const added = await insertChunks(db, { tenantId, scopeId, documentId: id }, passages);
  const moved = before === null || before.scopeId !== scopeId;
  await growScope(db, tenantId, scopeId, {
    documents: moved ? 1 : 0,
    chunks: added.chunks - removed.chunks,
    bytes: bytes - (moved ? 0 : before.bytes),
    tokens: added.tokens - removed.tokens,
  });
  const growth = { documents: before === null ? 1 : 0, bytes: bytes - (before?.bytes ?? 0) };
  return { id, created: before === null, growth };
}

/** Removes one user's, or the agent's, document. Null without one. */
export async function deleteDocument(
  db: Queryable,
  key: MemoryKey,
  userId: string,
  path: string,
): Promise<StoredDocument | null> {
  await shareAgent(db, key);
  const scopes = await lockScopes(db, key, [userId]);
  const located = await selectByPath(
    db,
    key.tenantId,
    scopes.map(({ id }) => id),
    path,
  );
  if (located === null) return null;
  const document = await selectDocument(db, key.tenantId, located.id);
  await removeDocuments(db, key.tenantId, located.scopeId, [located]);
  return document;
}

async function selectByPath(
  db: Queryable,
  tenantId: string,
  scopeIds: readonly string[],
  path: string,
): Promise<Located | null> {
  return db.first<Located>(
    `select d.id, d.scope_id as "scopeId", ${countedBytes} as bytes, true as counted
     from memory.documents as d join memory.scopes as s on s.id = d.scope_id
     join memory.agents as a on a.tenant_id = $1 and a.agent_id = s.agent_id
     where d.tenant_id = $1 and d.scope_id = any ($2::bigint[]) and d.path = $3 and ${liveDocument}`,
    [tenantId, scopeIds, path],
  );
}

async function selectDocument(db: Queryable, tenantId: string, id: string): Promise<StoredDocument> {
  const selected = db.query<DocumentRow>(
    `select ${columns} from memory.documents as d join memory.scopes as s on s.id = d.scope_id
     where d.tenant_id = $1 and d.id = $2`,
    [tenantId, id],
  );
  return toDocument(only(await selected));
}

interface DocumentValues {
  tenantId: string;
  scopeId: string;
  id: string;
  /** The bytes the document counts towards the limit of its tenant. */
  bytes: number;
  document: NewDocument;
}

async function insertDocument(
  db: Queryable,
  values: DocumentValues,
  replacedBy: number | null,
): Promise<void> {
  await db.query(
    `insert into memory.documents (tenant_id, id, scope_id, title, metadata, source_kind, run_id, session_id, text, bytes,
       chunks, created_at, updated_at, extra, path, replaced_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, coalesce($12, now()), coalesce($13, now()), $14, $15, $16)`,
    [...documentValues(values), values.document.path, replacedBy],
  );
}

async function updateDocument(db: Queryable, values: DocumentValues): Promise<void> {
  await db.query(
    `update memory.documents set scope_id = $3, title = $4, metadata = $5, source_kind = $6, run_id = $7, session_id = $8,
       text = $9, bytes = $10, chunks = $11, embedded_by = null, created_at = coalesce($12, created_at),
       updated_at = coalesce($13, clock_timestamp()), extra = $14, acted_at = default
     where tenant_id = $1 and id = $2`,
    documentValues(values),
  );
}

function documentValues({ tenantId, scopeId, id, bytes, document }: DocumentValues): unknown[] {
  const { title, metadata, source, text, passages, createdAt, updatedAt } = document;
  const { kind, run_id: runId, session_id: sessionId } = source;
  const textBytes = Buffer.byteLength(text);
  return [
    tenantId,
    id,
    scopeId,
    title,
    JSON.stringify(metadata),
    kind,
    runId,
    sessionId,
    text,
    textBytes,
    passages.length,
    createdAt ?? null,
    updatedAt ?? null,
    bytes - textBytes,
  ];
}

function toDocument({ sourceKind, runId, sessionId, ...row }: DocumentRow): StoredDocument {
  return { ...row, source: { kind: sourceKind, run_id: runId, session_id: sessionId } };
}
