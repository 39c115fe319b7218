import type { Pool } from '@gatehouse/pg/pool';

/** Tables of rows stored for clients until they expire. */
export type ExpiringTable = 'chat.responses' | 'chat.thoughts' | 'chat.seals' | 'chat.run_contents';

/** The next id of a tenant with rows; null after the last. */
export async function nextTenant(pool: Pool, table: ExpiringTable, after: string): Promise<string | null> {
  const row = await pool.first<{ tenant_id: string }>(
    `select tenant_id from ${table} where tenant_id > $1 order by tenant_id limit 1`,
    [after],
  );
  return row?.tenant_id ?? null;
}

/** A number of rows, and the size of all. */
export interface RowAmount {
  count: number;
  bytes: number;
}

/**
 * The time up to which rows of a tenant are deleted: those beyond an amount, and those created more than `days` ago
 * (null: of any age). Null without such rows. Reads an index entry of each row of the tenant.
 */
export async function cutOff(
  pool: Pool,
  table: ExpiringTable,
  { tenantId, most: { count, bytes }, days }: { tenantId: string; most: RowAmount; days: number | null },
): Promise<string | null> {
  const row = await pool.first<{ at: string | null }>(
    `select greatest(max(created_at) filter (where place > $2 or bytes > $3),
                     now() - make_interval(days => $4))::text as at
     from (select created_at, sum(bytes) over newest as bytes, row_number() over newest as place
           from ${table} where tenant_id = $1
           window newest as (order by created_at desc rows unbounded preceding)) kept`,
    [tenantId, count, bytes, days],
  );
  return row?.at ?? null;
}

/** Deletes up to `limit` of the oldest rows of a tenant created up to a time, and returns their number. */
export function deleteOldest(
  pool: Pool,
  table: ExpiringTable,
  { tenantId, upTo, limit }: { tenantId: string; upTo: string; limit: number },
): Promise<number> {
  return pool.count(
    `delete from ${table} where tenant_id = $1 and ctid = any (array(
       select ctid from ${table} where tenant_id = $1 and created_at <= $2::timestamptz
       order by created_at limit $3))`,
    [tenantId, upTo, limit],
  );
}
