import type { Pool } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';

/** Counts a request that did not prove to be genuine. `pool` acts as `<service>_system`. */
export async function countRefusal(
  pool: Pool,
  service: string,
  address: string,
): Promise<{ requests: number; endsInMs: number }> {
  return only(
    await pool.query<{ requests: number; endsInMs: number }>(
      `insert into ${service}.refused_addresses as known (address, minute, requests)
       values ($1, date_trunc('minute', now()), 1)
       on conflict (address) do update set minute = greatest(known.minute, excluded.minute),
         requests = case when known.minute >= excluded.minute then known.requests + 1 else 1 end
       returning requests,
         extract(epoch from minute + interval '1 minute' - now())::float8 * 1000 as "endsInMs"`,
      [address],
    ),
  );
}

/** Deletes up to `limit` addresses whose minute is over; returns how many. */
export async function deleteOldRefusals(pool: Pool, service: string, limit: number): Promise<number> {
  const table = `${service}.refused_addresses`;
  const { rowCount } = await pool.query(
    `delete from ${table} where minute < now() - interval '2 minutes' and address = any (array(
       select address from ${table} where minute < now() - interval '2 minutes' limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}
