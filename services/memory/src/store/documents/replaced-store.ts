import type { Queryable } from '@gatehouse/pg/pool';
import type { NewDocument } from '../../documents/document.ts';
import { countedBytes, scopeOfDocument, visibleScope, type AgentKey } from '../scopes/scope-store.ts';

/** Counts rows replaced by an import and still counted by the scopes. */
export function countReplaced(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  users: readonly string[],
): Promise<{ documents: number; chunks: number; bytes: number }> {
  return db.one<{ documents: number; chunks: number; bytes: number }>(
    `select count(*)::float8 as documents, coalesce(sum(d.chunks), 0)::float8 as chunks,
            coalesce(sum(${countedBytes}), 0)::float8 as bytes
     from memory.agents as a
     join memory.documents as d on d.tenant_id = $1 and d.replaced_by = any (a.replacing) ${scopeOfDocument}
     where a.tenant_id = $1 and a.agent_id = $2 and s.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}`,
    [tenantId, agentId, users],
  );
}

/** The generation of the current import if it has stored a document with this path and user; null otherwise. */
export async function stagedIn(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  { userId, path }: NewDocument,
): Promise<number | null> {
  const row = await db.first<{ generation: number }>(
    `select i.generation from memory.imports as i
     join memory.scopes as s
       on s.tenant_id = $1 and s.agent_id = $2 and s.user_id = $3 and s.generation = i.generation
     cross join lateral (
       select from memory.documents where tenant_id = $1 and scope_id = s.id and path = $4 limit 1) as d
     where i.tenant_id = $1 and i.agent_id = $2 and i.state = 'staging' limit 1`,
    [tenantId, agentId, userId, path],
  );
  return row?.generation ?? null;
}
