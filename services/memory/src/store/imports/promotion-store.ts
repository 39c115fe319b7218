import type { Queryable } from '@gatehouse/pg/pool';
import {
  countedBytes,
  growScope,
  liveDocument,
  lockOwnScope,
  shareAgent,
  visibleScope,
} from '../scopes/scope-store.ts';
import { deleteChunks, insertPassages, type IndexedPassage } from '../search/index-store.ts';
import type { ImportKey } from './import-row-store.ts';

const batchDocuments = 100;
const batchChunks = 300;

/**
 * Moves a batch of the documents of a visible generation to generation 0. They stay visible, with their ids. Call it
 * again until it returns true.
 */
export async function promoteImport(db: Queryable, key: ImportKey): Promise<boolean> {
  const { tenantId } = key;
  await shareAgent(db, key);
  const from = await findScope(db, key);
  if (from === null) return true;
  const [to] = await lockOwnScope(db, key, from.userId);
  const rows = await db.all<{ id: string; bytes: number }>(
    `select id, bytes from (
       select d.id, ${countedBytes} as bytes, sum(d.chunks) over (order by d.id rows between unbounded preceding and 1 preceding) as before
       from memory.documents as d join memory.agents as a on a.tenant_id = $1 and a.agent_id = $3
       where d.tenant_id = $1 and d.scope_id = $2 and ${liveDocument}
       order by d.id limit ${batchDocuments}
     ) as found
     where coalesce(before, 0) < ${batchChunks}`,
    [tenantId, from.id, key.agentId],
  );
  const ids = rows.map(({ id }) => id);
  const passages = await selectPassages(db, { tenantId, scopeId: from.id }, ids);
  const embeddings = await selectEmbeddings(db, { tenantId, scopeId: from.id }, passages);
  const { chunks, tokens } = await deleteChunks(db, { tenantId, scopeId: from.id }, ids);
  await db.query('update memory.documents set scope_id = $2 where tenant_id = $1 and id = any ($3::uuid[])', [
    tenantId,
    to,
    ids,
  ]);
  const { first } = await insertPassages(db, { tenantId, scopeId: to }, passages);
  const places = new Map(passages.map(({ number }, index) => [number, first + index]));
  await insertEmbeddings(db, { tenantId, scopeId: to }, embeddings, places);
  const bytes = rows.reduce((sum, document) => sum + document.bytes, 0);
  await growScope(db, tenantId, from.id, {
    documents: -ids.length,
    chunks: -chunks,
    bytes: -bytes,
    tokens: -tokens,
  });
  await growScope(db, tenantId, to, { documents: ids.length, chunks, bytes, tokens });
  return false;
}

/** A scope of the generation with documents to move. */
async function findScope(
  db: Queryable,
  { tenantId, agentId, generation }: ImportKey,
): Promise<{ id: string; userId: string } | null> {
  return db.first<{ id: string; userId: string }>(
    `select s.id, s.user_id as "userId" from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
     where s.tenant_id = $1 and s.agent_id = $2 and s.generation = $3 and s.documents > 0 and ${visibleScope}
       and exists (select 1 from memory.documents as d
                   where d.tenant_id = $1 and d.scope_id = s.id and ${liveDocument})
     limit 1`,
    [tenantId, agentId, generation],
  );
}

/** Stored passages with their terms, as the index has them. */
async function selectPassages(
  db: Queryable,
  { tenantId, scopeId }: { tenantId: string; scopeId: string },
  documentIds: readonly string[],
): Promise<NumberedPassage[]> {
  return db.all<NumberedPassage>(
    `select number, document_id as "documentId", start_line as "startLine", end_line as "endLine", context, text, analyser,
            length, terms, counts
     from memory.chunks where tenant_id = $1 and document_id = any ($3::uuid[]) and scope_id = $2 order by number`,
    [tenantId, scopeId, documentIds],
  );
}

type NumberedPassage = IndexedPassage & { number: number };

interface StoredEmbedding {
  number: number;
  model: string;
  vector: Buffer;
  sketch: string;
}

async function selectEmbeddings(
  db: Queryable,
  { tenantId, scopeId }: { tenantId: string; scopeId: string },
  passages: readonly NumberedPassage[],
): Promise<StoredEmbedding[]> {
  return db.all<StoredEmbedding>(
    `select number, model, vector, sketch::text as sketch from memory.embeddings
     where tenant_id = $1 and scope_id = $2 and number = any ($3::integer[])`,
    [tenantId, scopeId, passages.map(({ number }) => number)],
  );
}

/** Stores the embeddings of passages with new numbers: a new embedding would cost another call of the model. */
async function insertEmbeddings(
  db: Queryable,
  { tenantId, scopeId }: { tenantId: string; scopeId: string },
  embeddings: readonly StoredEmbedding[],
  places: ReadonlyMap<number, number>,
): Promise<void> {
  await db.query(
    `insert into memory.embeddings (tenant_id, scope_id, number, model, vector, sketch)
     select $1, $2, number, model, vector, sketch::bit varying
     from unnest($3::integer[], $4::text[], $5::bytea[], $6::text[]) as moved (number, model, vector, sketch)`,
    [
      ...[tenantId, scopeId],
      embeddings.map(({ number }) => places.get(number)),
      embeddings.map(({ model }) => model),
      embeddings.map(({ vector }) => vector),
      embeddings.map(({ sketch }) => sketch),
    ],
  );
}
