import { batchChunks, batchDocuments } from '../../bounds.ts';
import type { Queryable } from '@gatehouse/pg/pool';
import type { ErasedRows } from '../../documents/forget.ts';
import {
  countedBytes,
  growScope,
  growTenant,
  isAgentDeleted,
  liveDocument,
  noLimits,
  scopeOfDocument,
  shareAgent,
  type AgentKey,
} from '../scopes/scope-store.ts';
import { actedUntil } from '../scopes/deleted-user-store.ts';
import { deleteChunks } from '../search/index-store.ts';

/** Counts of rows a deletion removed. */
export interface Removed {
  documents: number;
  chunks: number;
}

/** All documents of these users, or those written up to a time. */
export function everything(users: ErasedRows['users'], until?: Date): ErasedRows {
  return { users, pathPrefix: null, runId: null, sessionId: null, ...(until !== undefined && { until }) };
}

/**
 * Removes a batch of the documents to forget, also documents replaced by an import and, if `staged`, unpublished ones
 * of an import; with `wasDeleted`, only as long as the agent is marked as deleted. Call it again until it is done.
 */
export async function forgetDocuments(
  db: Queryable,
  key: AgentKey,
  which: ErasedRows,
  { staged, wasDeleted = false }: { staged: boolean; wasDeleted?: boolean },
): Promise<Removed & { done: boolean }> {
  await shareAgent(db, key);
  if (wasDeleted && !(await isAgentDeleted(db, key))) return { documents: 0, chunks: 0, done: true };
  const scopeIds = await lockScopesOf(db, key, { ...which, staged });
  const rows = await db.all<Located & { chunks: number }>(
    `select id, scope_id as "scopeId", bytes, chunks, counted from (
       select d.id, d.scope_id, ${countedBytes} as bytes, d.chunks, ${liveDocument} and s.generation <> all (a.hidden) as counted,
              sum(d.chunks) over (order by d.id rows between unbounded preceding and 1 preceding) as before
       from memory.documents as d join memory.scopes as s on s.id = d.scope_id
       join memory.agents as a on a.tenant_id = $1 and a.agent_id = $7
       where d.tenant_id = $1 and d.scope_id = any ($2::bigint[]) and ${forgettable(3)}
       order by d.id limit ${batchDocuments}
     ) as found
     where coalesce(before, 0) < ${batchChunks}`,
    [key.tenantId, scopeIds, ...valuesOf(which), key.agentId],
  );
  for (const [scopeId, located] of Map.groupBy(rows, (row) => row.scopeId))
    await removeDocuments(db, key.tenantId, scopeId, located);
  const counted = rows.filter((row) => row.counted);
  const chunks = counted.reduce((sum, document) => sum + document.chunks, 0);
  return { documents: counted.length, chunks, done: rows.length === 0 };
}

/** The SQL condition for documents `d` to forget; its values (`valuesOf`) begin with this parameter. */
function forgettable(first: number): string {
  return `($${first}::text is null or starts_with(d.path, $${first}))
         and ($${first + 1}::uuid is null or d.run_id = $${first + 1})
         and ($${first + 2}::text is null or d.session_id = $${first + 2}) and ${actedUntil('d', `$${first + 3}`)}`;
}

function valuesOf({ pathPrefix, runId, sessionId, until }: Omit<ErasedRows, 'users'>): unknown[] {
  return [pathPrefix, runId, sessionId, until ?? null];
}

/** Locks the scopes of a batch of documents to forget. */
async function lockScopesOf(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  { users, staged, ...which }: ErasedRows & { staged: boolean },
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `select id from memory.scopes where tenant_id = $1 and id in (
       select d.scope_id from memory.documents as d ${scopeOfDocument}
       join memory.agents as a on a.tenant_id = $1 and a.agent_id = $2
       where d.tenant_id = $1 and s.agent_id = $2
         and ($3::text[] is null or s.user_id = any ($3)) and ${forgettable(4)}
         and ($8 or s.generation <> all (a.hidden))
       limit ${batchDocuments})
     order by id for update`,
    [tenantId, agentId, users === 'all' ? null : [...users], ...valuesOf(which), staged],
  );
  return rows.map(({ id }) => id);
}

export interface Located {
  id: string;
  scopeId: string;
  /** By `countedBytes`. */
  bytes: number;
  /** Whether it counts towards the use of the tenant: not if an import has replaced it, or will publish it. */
  counted: boolean;
}

/** Removes documents of a scope, which must be locked. */
export async function removeDocuments(
  db: Queryable,
  tenantId: string,
  scopeId: string,
  located: readonly Located[],
): Promise<void> {
  const ids = located.map(({ id }) => id);
  const { chunks, tokens } = await deleteChunks(db, { tenantId, scopeId }, ids);
  await db.query('delete from memory.documents where tenant_id = $1 and id = any ($2::uuid[])', [
    tenantId,
    ids,
  ]);
  await growScope(db, tenantId, scopeId, {
    documents: -ids.length,
    chunks: -chunks,
    bytes: -bytesOf(located),
    tokens: -tokens,
  });
  const counted = located.filter((each) => each.counted);
  if (counted.length > 0)
    await growTenant(db, tenantId, { documents: -counted.length, bytes: -bytesOf(counted) }, noLimits);
}

function bytesOf(documents: readonly { bytes: number }[]): number {
  return documents.reduce((sum, { bytes }) => sum + bytes, 0);
}
