import { textArray } from '@gatehouse/pg/arrays';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { beganAt, digestOf, forgottenSince } from '../shared/forgotten-statements.ts';

/** Thoughts that are kept for clients. Each statement waits for the tenant's turn. */

/** The one whose conversation thoughts belong to. */
export interface ReasoningOwner {
  tenantId: string;
  /** Null for a key without a user. */
  userId: string | null;
}

/** The thoughts before a call. */
export interface ReasoningRow {
  call_id: string;
  /** Encrypted. */
  content: Buffer;
}

/**
 * Writes thoughts of a run that lasts; none whose user was forgotten meanwhile. Two answers whose calls have the same id
 * lose the thoughts of both: nothing else says which conversation they belong to.
 */
export async function insertReasoning(
  pool: Pool,
  { tenantId, userId, ageMs, rows }: ReasoningOwner & { ageMs: number; rows: readonly ReasoningRow[] },
): Promise<void> {
  await withTenant(pool, tenantId, (db) =>
    db.query(
      `insert into chat.thoughts as known (tenant_id, call_id, user_id, content, bytes, created_at)
     select $1, call_id, $2, content, octet_length(content), ${beganAt('$6')}
     from unnest($3::text[], $4::bytea[]) as added (call_id, content)
     where not ${forgottenSince('$1', '$5', '$6')}
     on conflict (tenant_id, call_id) do update set
       content = case when known.expires_at <= now() then excluded.content end,
       bytes = case when known.expires_at <= now() then excluded.bytes else 0 end,
       user_id = excluded.user_id, created_at = excluded.created_at, expires_at = excluded.expires_at`,
      [
        ...[tenantId, userId, textArray(rows.map((row) => row.call_id)), rows.map(({ content }) => content)],
        ...[digestOf(tenantId, userId), ageMs],
      ],
    ),
  );
}

/** The thoughts before calls, of those the newest with at most `maxBytes` in sum. `callIds`: the oldest first. */
export async function findReasoning(
  pool: Pool,
  { tenantId, userId }: ReasoningOwner,
  { callIds, maxBytes }: { callIds: readonly string[]; maxBytes: number },
): Promise<ReasoningRow[]> {
  const { rows } = await withTenant(pool, tenantId, (db) =>
    db.query<ReasoningRow>(
      `select call_id, content from (
       select found.call_id, found.content, sum(found.bytes) over (order by asked.place desc) as total
       from unnest($3::text[]) with ordinality as asked (call_id, place)
       cross join lateral (
         select call_id, content, bytes from chat.thoughts
         where tenant_id = $1 and call_id = asked.call_id and user_id is not distinct from $2
           and expires_at > now() and content is not null limit 1
       ) found
     ) newest where total <= $4`,
      [tenantId, userId, textArray(callIds), maxBytes],
    ),
  );
  return rows;
}
