import { createHash } from 'node:crypto';
import type { Queryable } from '@gatehouse/pg/pool';
import { agentScope } from '../../shared/memory-key.ts';

const retentionDays = 30;

/** A deletion of what a user did up to a time. */
export interface UserDeletion {
  tenantId: string;
  userId: string;
  requestedAt: Date;
}

/**
 * Notes the deletion of this user's data up to a time, and drops old notes. When it resolves, every writer for the user
 * has committed; later ones see the note.
 */
export async function noteDeletedUser(
  db: Queryable,
  { tenantId, userId, requestedAt }: UserDeletion,
): Promise<void> {
  await lockUser(db, tenantId, userId, 'alone');
  await db.query(
    `insert into memory.deleted_users as d (tenant_id, user_hash, requested_at) values ($1, $2, $3)
     on conflict (tenant_id, user_hash) do update set requested_at = greatest(d.requested_at, excluded.requested_at), noted_at = now()`,
    [tenantId, hashOf(tenantId, userId), requestedAt],
  );
  await db.query(
    `delete from memory.deleted_users where tenant_id = $1 and requested_at < now() - make_interval(days => ${retentionDays})`,
    [tenantId],
  );
}

/**
 * Whether data written by a user at a time were deleted since. Every writer for a user calls it before it locks
 * anything of the user: until the transaction ends, no deletion of the user's data begins. The rows written by the
 * transaction have this time.
 */
export async function wasDeleted(
  db: Queryable,
  { tenantId, userId, at }: { tenantId: string; userId: string; at: Date },
): Promise<boolean> {
  if (userId === agentScope) return false;
  await lockUser(db, tenantId, userId, 'shared');
  await db.query(`select set_config('gatehouse.acted_at', $1, true)`, [at.toISOString()]);
  return db.exists(
    'select 1 from memory.deleted_users where tenant_id = $1 and user_hash = $2 and requested_at >= $3',
    [tenantId, hashOf(tenantId, userId), at],
  );
}

/** SQL condition for rows of this alias written up to a time; for all if the parameter is null. */
export function actedUntil(alias: string, parameter: string): string {
  return `(${parameter}::timestamptz is null or ${alias}.acted_at is null or ${alias}.acted_at <= ${parameter})`;
}

/** The SQL expression for the hash of a user of a tenant. */
export function hashedUser(tenantId: string, userId: string): string {
  return `sha256(convert_to(concat(${tenantId}::text, E'\\n', ${userId}), 'UTF8'))`;
}

/** Whether the data of a user with a document of an import were deleted since it began. */
export function anyUserDeleted(
  db: Queryable,
  { tenantId, agentId, generation }: { tenantId: string; agentId: string; generation: number },
): Promise<boolean> {
  return db.exists(
    `select 1 from memory.imports as i
     join memory.scopes as s on s.tenant_id = $1 and s.agent_id = $2 and s.generation = $3
     cross join lateral (
       select from memory.deleted_users
       where tenant_id = $1 and user_hash = ${hashedUser('$1', 's.user_id')} and requested_at >= i.started_at
       limit 1) as d
     where i.tenant_id = $1 and i.agent_id = $2 and i.generation = $3 limit 1`,
    [tenantId, agentId, generation],
  );
}

async function lockUser(
  db: Queryable,
  tenantId: string,
  userId: string,
  mode: 'shared' | 'alone',
): Promise<void> {
  const lock = mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock';
  await db.query(`select ${lock}(hashtextextended($1, 0))`, [`memory of user ${tenantId} ${userId}`]);
}

function hashOf(tenantId: string, userId: string): Buffer {
  return createHash('sha256').update(`${tenantId}\n${userId}`).digest();
}
