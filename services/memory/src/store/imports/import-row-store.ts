import { newId } from '@gatehouse/kit/ids';
import { AppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import { sizeOf, type NewDocument } from '../../documents/document.ts';
import type { Passage } from '../../documents/split-markdown.ts';
import { repeatedDocument, type NumberedDocument } from '../../moving/record-batches.ts';
import type { Analyser, MemoryKey } from '../../shared/memory-key.ts';
import { anyUserDeleted } from '../scopes/deleted-user-store.ts';
import {
  closeAgent,
  countedBytes,
  growScope,
  holdMemory,
  liveDocument,
  scopeOfDocument,
  visibleScope,
  type AgentKey,
} from '../scopes/scope-store.ts';
import { analysePassages, insertPassages } from '../search/index-store.ts';

/** A generation of an agent an import stores documents under. */
export interface ImportKey extends MemoryKey {
  generation: number;
}

/** An import without a sign of life for this long is discarded. */
export const deadAfter = `interval '60 s'`;
/** No import lasts longer. */
export const maxImportMinutes = 10;

/** Why no import can begin. */
export type NoImport =
  /** Another import into the agent is under way. */
  | { kind: 'busy' }
  /** The agent has as many generations as it may have. This is the smallest. */
  | { kind: 'full'; smallest: number };

/** More generations make searches slower. */
const maxGenerations = 16;

/** Makes the generation of an import. Discards an earlier import without a sign of life. */
export async function beginImport(
  db: Queryable,
  key: MemoryKey,
): Promise<{ kind: 'begun'; generation: number; analyser: Analyser } | NoImport> {
  const { tenantId, agentId } = key;
  await closeAgent(db, key);
  const analyser = await holdMemory(db, key);
  await db.query(
    `update memory.imports set state = 'discarded'
     where tenant_id = $1 and agent_id = $2 and state = 'staging' and alive_at < clock_timestamp() - ${deadAfter}`,
    [tenantId, agentId],
  );
  const isStaging = await db.exists(
    `select from memory.imports where tenant_id = $1 and agent_id = $2 and state = 'staging'`,
    [tenantId, agentId],
  );
  if (isStaging) return { kind: 'busy' };
  const generations = await selectGenerations(db, key);
  const [smallest] = generations;
  if (smallest !== undefined && generations.length >= maxGenerations) return { kind: 'full', smallest };
  const generation = await addGeneration(db, key, 'staging');
  return { kind: 'begun', generation, analyser };
}

/** Adds a hidden generation. `discarded`: for what is to be removed. The agent must be closed. */
export async function addGeneration(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  state: 'staging' | 'discarded',
): Promise<number> {
  const { generation } = await db.one<{ generation: number }>(
    `update memory.agents set last_generation = last_generation + 1, hidden = hidden || (last_generation + 1)
       where tenant_id = $1 and agent_id = $2 returning last_generation as generation`,
    [tenantId, agentId],
  );
  await db.query(
    'insert into memory.imports (tenant_id, agent_id, generation, state) values ($1, $2, $3, $4)',
    [tenantId, agentId, generation, state],
  );
  return generation;
}

/** Visible generations with documents, without generation 0, those with the fewest passages first. */
async function selectGenerations(db: Queryable, { tenantId, agentId }: AgentKey): Promise<number[]> {
  const rows = await db.all<{ generation: number }>(
    `select s.generation from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
     where s.tenant_id = $1 and s.agent_id = $2 and s.generation > 0 and s.documents > 0 and ${visibleScope}
       and exists (select 1 from memory.documents as d
                   where d.tenant_id = $1 and d.scope_id = s.id and ${liveDocument})
     group by s.generation order by sum(s.chunks), s.generation`,
    [tenantId, agentId],
  );
  return rows.map(({ generation }) => generation);
}

/** Records a sign of life. Throws if the import was discarded meanwhile. */
export async function keepAlive(db: Queryable, key: ImportKey): Promise<void> {
  const isAlive = await db.exists(
    `update memory.imports set alive_at = clock_timestamp()
     where tenant_id = $1 and agent_id = $2 and generation = $3 and state = 'staging'`,
    [key.tenantId, key.agentId, key.generation],
  );
  if (!isAlive) throw lost();
}

/** The error for an import with documents of a user with data deleted since it began. */
export function userDeleted(): AppError {
  return new AppError('not_found', 'There is no such user: their data were deleted meanwhile.');
}

function lost(): AppError {
  return new AppError('service_unavailable', 'The import was interrupted. It stored nothing. Try again.', {
    headers: { 'retry-after': '1' },
  });
}

/** A stored document without its passages yet. */
export interface OpenDocument {
  id: string;
  scopeId: string;
  passages: readonly Passage[];
}

/**
 * Stores documents without their passages under the generation of an import. Throws `invalid_value` for a document
 * already in it.
 */
export async function stageDocuments(
  db: Queryable,
  key: ImportKey,
  documents: readonly NumberedDocument[],
): Promise<OpenDocument[]> {
  await keepAlive(db, key);
  const scopes = await makeScopes(db, key, [...new Set(documents.map(({ userId }) => userId))]);
  const staged = documents.map((document) => ({
    ...document,
    id: newId(),
    scopeId: scopes.get(document.userId) ?? '',
    bytes: Buffer.byteLength(document.text),
    size: sizeOf(document),
  }));
  const rows = await db.all<{ id: string }>(
    `insert into memory.documents (tenant_id, id, scope_id, path, title, metadata, source_kind, run_id, session_id, text,
       bytes, chunks, created_at, updated_at, extra)
     select $1, id, scope_id, path, title, metadata::jsonb, source_kind, run_id, session_id, text, bytes, chunks,
            coalesce(created_at, now()), coalesce(updated_at, now()), extra
     from unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::text[],
                 $10::text[], $11::integer[], $12::integer[], $13::timestamptz[], $14::timestamptz[], $15::integer[])
       as staged (id, scope_id, path, title, metadata, source_kind, run_id, session_id, text, bytes, chunks, created_at,
                  updated_at, extra)
     on conflict on constraint documents_path_key do nothing
     returning id`,
    [
      key.tenantId,
      staged.map(({ id }) => id),
      staged.map(({ scopeId }) => scopeId),
      staged.map(({ path }) => path),
      staged.map(({ title }) => title),
      staged.map(({ metadata }) => JSON.stringify(metadata)),
      staged.map(({ source }) => source.kind),
      staged.map(({ source }) => source.run_id),
      staged.map(({ source }) => source.session_id),
      staged.map(({ text }) => text),
      staged.map(({ bytes }) => bytes),
      staged.map(({ passages }) => passages.length),
      staged.map(({ createdAt }) => createdAt ?? null),
      staged.map(({ updatedAt }) => updatedAt ?? null),
      staged.map(({ size, bytes }) => size - bytes),
    ],
  );
  const stored = new Set(rows.map(({ id }) => id));
  const repeated = staged.find(({ id }) => !stored.has(id));
  if (repeated !== undefined) throw repeatedDocument(repeated.line);
  for (const [scopeId, scopeDocuments] of Map.groupBy(staged, (document) => document.scopeId)) {
    const bytes = scopeDocuments.reduce((sum, document) => sum + document.size, 0);
    await growScope(db, key.tenantId, scopeId, {
      documents: scopeDocuments.length,
      chunks: 0,
      bytes,
      tokens: 0,
    });
  }
  return staged;
}

async function makeScopes(
  db: Queryable,
  { tenantId, agentId, generation }: ImportKey,
  users: readonly string[],
): Promise<Map<string, string>> {
  const values = [tenantId, agentId, generation, users];
  await db.query(
    `insert into memory.scopes (tenant_id, agent_id, generation, user_id) select $1, $2, $3, unnest($4::text[])
     on conflict do nothing`,
    values,
  );
  const rows = await db.all<{ id: string; userId: string }>(
    `select id, user_id as "userId" from memory.scopes
     where tenant_id = $1 and agent_id = $2 and generation = $3 and user_id = any ($4::text[])
     order by id for update`,
    values,
  );
  return new Map(rows.map(({ id, userId }) => [userId, id]));
}

/** A passage of a stored document. */
export type OpenPassage = Passage & { documentId: string; scopeId: string };

/** Stores passages of staged documents, except documents forgotten meanwhile. */
export async function stagePassages(
  db: Queryable,
  key: ImportKey,
  open: readonly OpenPassage[],
): Promise<void> {
  const analysed = await analysePassages(db, open, key.analyser);
  await keepAlive(db, key);
  const present = await lockPresent(db, key, open);
  const stored = analysed.filter(({ documentId }) => present.has(documentId));
  for (const [scopeId, passages] of Map.groupBy(stored, (passage) => passage.scopeId)) {
    const { chunks, tokens } = await insertPassages(db, { tenantId: key.tenantId, scopeId }, passages);
    await growScope(db, key.tenantId, scopeId, { documents: 0, chunks, bytes: 0, tokens });
  }
}

/** Locks the scopes of passages, and returns the ids of their remaining documents. */
async function lockPresent(
  db: Queryable,
  { tenantId }: ImportKey,
  passages: readonly OpenPassage[],
): Promise<Set<string>> {
  const scopeIds = [...new Set(passages.map(({ scopeId }) => scopeId))];
  await db.query(
    'select 1 from memory.scopes where tenant_id = $1 and id = any ($2::bigint[]) order by id for update',
    [tenantId, scopeIds],
  );
  const rows = await db.all<{ id: string }>(
    'select id from memory.documents where tenant_id = $1 and id = any ($2::uuid[])',
    [tenantId, [...new Set(passages.map(({ documentId }) => documentId))]],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Marks the documents to be replaced by staged ones. Documents put later mark themselves, so each document is marked
 * however the two interleave.
 */
export async function markReplaced(
  db: Queryable,
  { tenantId, agentId, generation }: ImportKey,
  documents: readonly Pick<NewDocument, 'userId' | 'path'>[],
): Promise<void> {
  await closeAgent(db, { agentId });
  const rows = await db.all<{ id: string }>(
    `select d.id from memory.agents as a
     cross join unnest($3::text[], $4::text[]) as staged (user_id, path)
     cross join lateral (
       select s.id from memory.scopes as s
       where s.tenant_id = $1 and s.agent_id = $2 and s.user_id = staged.user_id and ${visibleScope}
       order by s.generation
     ) as s
     cross join lateral (
       -- The order is that of one index. Without statistics PostgreSQL would choose one with all documents of the scope.
       select d.id from memory.documents as d
       where d.tenant_id = $1 and d.scope_id = s.id and d.path = staged.path and ${liveDocument}
       order by d.replaced_by
     ) as d
     where a.tenant_id = $1 and a.agent_id = $2`,
    [tenantId, agentId, documents.map(({ userId }) => userId), documents.map(({ path }) => path)],
  );
  await db.query(
    'update memory.documents set replaced_by = $3 where tenant_id = $1 and id = any ($2::uuid[])',
    [tenantId, rows.map(({ id }) => id), generation],
  );
}

/** Growth of a memory by an import, and the documents it replaces. */
export interface Published {
  documents: number;
  chunks: number;
  bytes: number;
  replaced: { documents: number; bytes: number };
}

/**
 * Makes the documents of an import visible, and the replaced ones invisible. Throws `not_found` if the agent was
 * deleted, and an error if the import was discarded, has lasted too long, or the analyser was changed since it began.
 */
export async function publishImport(db: Queryable, key: ImportKey): Promise<Published> {
  const values = [key.tenantId, key.agentId, key.generation];
  await closeAgent(db, key);
  const isPublished = await db.exists(
    `update memory.imports set state = 'published'
     where tenant_id = $1 and agent_id = $2 and generation = $3 and state = 'staging'
       and started_at > clock_timestamp() - interval '${maxImportMinutes} min'`,
    values,
  );
  if (!isPublished) throw lost();
  const agent = await db.first<{ analyser: Analyser }>(
    `update memory.agents set hidden = array_remove(hidden, $3), replacing = replacing || $3::integer
     where tenant_id = $1 and agent_id = $2 and deleted_at is null
     returning analyser`,
    values,
  );
  if (agent === null) throw new AppError('not_found', 'There is no such agent.');
  if (agent.analyser !== key.analyser) throw lost();
  if (await anyUserDeleted(db, key)) throw userDeleted();
  const added = await db.one<Omit<Published, 'replaced'>>(
    `select coalesce(sum(documents), 0)::float8 as documents, coalesce(sum(chunks), 0)::float8 as chunks,
              coalesce(sum(bytes), 0)::float8 as bytes
       from memory.scopes where tenant_id = $1 and agent_id = $2 and generation = $3`,
    values,
  );
  const replaced = await db.one<Published['replaced']>(
    `select count(*)::float8 as documents, coalesce(sum(${countedBytes}), 0)::float8 as bytes
       from memory.documents as d ${scopeOfDocument}
       where d.tenant_id = $1 and d.replaced_by = $3 and s.agent_id = $2`,
    values,
  );
  return { ...added, replaced };
}
