import { AppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Analyser, MemoryKey } from '../../shared/memory-key.ts';

/** The memory of an agent, without its analyser. */
export type AgentKey = Omit<MemoryKey, 'analyser'>;

/** SQL condition for visible scopes of an agent: `a` is its row of memory.agents. */
export const visibleScope = 's.generation <> all (a.hidden) and a.deleted_at is null';

/**
 * SQL condition for documents of visible scopes no published import has replaced: `d` is a row of memory.documents, `a`
 * the agent's.
 */
export const liveDocument = '(d.replaced_by is null or d.replaced_by <> all (a.replacing))';

/**
 * Joins the scope `s` of each document `d`, by its id: a join of both tables may compare all documents of a tenant with
 * all of its scopes.
 */
export const scopeOfDocument = `cross join lateral (
  select id, agent_id, user_id, generation from memory.scopes where id = d.scope_id limit 1) as s`;

/** The SQL expression for what a document `d` counts towards the limit of its tenant. */
export const countedBytes = '(d.bytes + coalesce(d.extra, 0))';

/**
 * Every writer to the memory of an agent calls it first: until the transaction ends, no import is published and the
 * agent is not deleted. These wait before later writers do, unlike with a lock of the agent's row; the row stays free
 * for notes of the memory's needs. Throws `resource_locked` while a transfer keeps the memory as it is, except to the
 * transfer itself.
 */
export async function shareAgent(db: Queryable, { agentId }: Pick<MemoryKey, 'agentId'>): Promise<void> {
  await db.query('select pg_advisory_xact_lock_shared(hashtextextended($1, 0))', [lockName(agentId)]);
  const rows = await db.all(
    `select from memory.agents where agent_id = $1 and locked_by is not null
       and locked_by is distinct from nullif(current_setting('gatehouse.transfer_id', true), '')::uuid`,
    [agentId],
  );
  if (rows.length > 0)
    throw new AppError('resource_locked', 'A transfer to another tenant uses the agent. Try again later.', {
      headers: { 'retry-after': '5' },
    });
}

/** Keeps all writers to the memory of an agent out until the transaction ends, which must be short. */
export async function closeAgent(db: Queryable, { agentId }: Pick<MemoryKey, 'agentId'>): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [lockName(agentId)]);
}

function lockName(agentId: string): string {
  return `memory of ${agentId}`;
}

/**
 * Makes the memory of an agent if it is not there, and holds it against deletion until the transaction ends. Returns
 * the analyser of its index. Throws `not_found` if the agent was deleted.
 */
export async function holdMemory(
  db: Queryable,
  { tenantId, agentId, analyser }: MemoryKey,
): Promise<Analyser> {
  await shareAgent(db, { agentId });
  const find = async (): Promise<{ analyser: Analyser; deleted: boolean } | undefined> => {
    const rows = await db.all<{ analyser: Analyser; deleted: boolean }>(
      `select analyser, deleted_at is not null as deleted from memory.agents
       where tenant_id = $1 and agent_id = $2`,
      [tenantId, agentId],
    );
    return rows[0];
  };
  let memory = await find();
  if (memory === undefined) {
    await db.query(
      `insert into memory.agents (tenant_id, agent_id, analyser) values ($1, $2, $3) on conflict do nothing`,
      [tenantId, agentId, analyser],
    );
    memory = await find();
  }
  if (memory === undefined || memory.deleted) throw new AppError('not_found', 'There is no such agent.');
  return memory.analyser;
}

/**
 * Locks what belongs to these users of an agent until the transaction ends, and returns the visible scopes, or all.
 * Every writer calls it first, with all its users, so writers can't deadlock on what they change after it.
 */
export function lockScopes(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  userIds: readonly string[] | 'all',
  { visible = true }: { visible?: boolean } = {},
): Promise<{ id: string; userId: string; generation: number }[]> {
  return db.all<{ id: string; userId: string; generation: number }>(
    `select s.id, s.user_id as "userId", s.generation
     from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
     where s.tenant_id = $1 and s.agent_id = $2 and ($3::text[] is null or s.user_id = any ($3))
       and ${visible ? visibleScope : 'true'}
     order by s.id
     for update of s`,
    [tenantId, agentId, userIds === 'all' ? null : [...userIds]],
  );
}

/** Makes and locks the scope of a user, and returns the ids of all its visible scopes, its own first. */
export async function lockOwnScope(
  db: Queryable,
  key: MemoryKey,
  userId: string,
): Promise<[own: string, ...others: string[]]> {
  await db.query(
    `insert into memory.scopes (tenant_id, agent_id, user_id) values ($1, $2, $3) on conflict do nothing`,
    [key.tenantId, key.agentId, userId],
  );
  const scopes = await lockScopes(db, key, [userId]);
  const current = scopes.find(({ generation }) => generation === 0);
  if (current === undefined) throw new AppError('not_found', 'There is no such agent.');
  return [current.id, ...scopes.filter(({ id }) => id !== current.id).map(({ id }) => id)];
}

/** Amounts by which what is stored grows; negative for less. */
export interface Growth {
  documents: number;
  chunks: number;
  bytes: number;
  tokens: number;
}

/** Keeps bytes from going below 0: earlier releases move documents between scopes without their `extra` bytes. */
export async function growScope(
  db: Queryable,
  tenantId: string,
  scopeId: string,
  { documents, chunks, bytes, tokens }: Growth,
): Promise<void> {
  await db.query(
    `update memory.scopes set documents = documents + $3, chunks = chunks + $4, bytes = greatest(bytes + $5, 0), tokens = tokens + $6
     where tenant_id = $1 and id = $2`,
    [tenantId, scopeId, documents, chunks, bytes, tokens],
  );
}

/** Limits of a tenant; null without one. */
export interface MemoryLimits {
  documents: number | null;
  bytes: number | null;
  entities: number | null;
}

export const noLimits: MemoryLimits = { documents: null, bytes: null, entities: null };

/**
 * Adds to the use of a tenant. Throws `limit_reached` when the use grows past a limit. Call it last in a transaction:
 * all writers of the tenant wait for the row.
 */
export async function growTenant(
  db: Queryable,
  tenantId: string,
  { documents, bytes }: Pick<Growth, 'documents' | 'bytes'>,
  limits: Pick<MemoryLimits, 'documents' | 'bytes'>,
): Promise<void> {
  const used = await db.one<{ documents: string; bytes: string }>(
    `insert into memory.tenants as t (tenant_id, documents, bytes) values ($1, $2, $3)
       on conflict (tenant_id) do update set documents = t.documents + excluded.documents, bytes = t.bytes + excluded.bytes
       returning documents, bytes`,
    [tenantId, documents, bytes],
  );
  assertWithin('documents', documents, Number(used.documents), limits.documents);
  assertWithin('bytes', bytes, Number(used.bytes), limits.bytes);
}

/** Throws `limit_reached` when what has grown is past its limit. */
export function assertWithin(resource: string, growth: number, used: number, limit: number | null): void {
  if (growth <= 0 || limit === null || used <= limit) return;
  throw new AppError('limit_reached', `The tenant has reached its limit of memory ${resource}: ${limit}.`);
}

/** Stops writes to the memory of an agent, and shows nothing of it any more. */
export async function markAgentDeleted(db: Queryable, { tenantId, agentId }: AgentKey): Promise<void> {
  await closeAgent(db, { agentId });
  await db.query(
    `insert into memory.agents (tenant_id, agent_id, analyser, deleted_at) values ($1, $2, 'english', now())
     on conflict (tenant_id, agent_id) do update set deleted_at = coalesce(memory.agents.deleted_at, now())`,
    [tenantId, agentId],
  );
}

export function isAgentDeleted(db: Queryable, { tenantId, agentId }: AgentKey): Promise<boolean> {
  return db.exists(
    'select from memory.agents where tenant_id = $1 and agent_id = $2 and deleted_at is not null',
    [tenantId, agentId],
  );
}

/** The agents with something of a user in their memory. */
export async function memoriesOfUser(db: Queryable, tenantId: string, userId: string): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    'select distinct agent_id as id from memory.scopes where tenant_id = $1 and user_id = $2 order by 1',
    [tenantId, userId],
  );
  return rows.map(({ id }) => id);
}

/** Deletes empty scopes. */
export async function deleteScopes(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  userIds: readonly string[] | 'all',
): Promise<void> {
  await db.query(
    `delete from memory.scopes
     where tenant_id = $1 and agent_id = $2 and ($3::text[] is null or user_id = any ($3)) and documents = 0`,
    [tenantId, agentId, userIds === 'all' ? null : [...userIds]],
  );
}

/** Returns how much of its limits a tenant uses. */
export async function tenantUsage(
  db: Queryable,
  tenantId: string,
): Promise<{ documents: bigint; bytes: bigint; entities: bigint }> {
  const rows = await db.all<{ documents: string; bytes: string; entities: string }>(
    'select documents, bytes, entities from memory.tenants where tenant_id = $1',
    [tenantId],
  );
  const [{ documents, bytes, entities } = { documents: 0, bytes: 0, entities: 0 }] = rows;
  return { documents: BigInt(documents), bytes: BigInt(bytes), entities: BigInt(entities) };
}
