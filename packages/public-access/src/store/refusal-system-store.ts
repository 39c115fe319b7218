import type { Pool } from '@gatehouse/pg/pool';

/** How many requests of a network were refused in this minute, and when it ends. */
export interface CountedRefusal {
  requests: number;
  endsInMs: number;
}

/**
 * Counts requests that did not prove to be genuine, each by its network; a network may come several times. Returns the
 * count at each of them. `pool` acts as `<service>_system`.
 */
export async function countRefusals(
  pool: Pool,
  service: string,
  networks: readonly string[],
): Promise<CountedRefusal[]> {
  // Replicas lock rows in one order.
  const { rows } = await pool.query<CountedRefusal & { address: string }>(
    `insert into ${service}.refused_addresses as known (address, minute, requests)
     select address, date_trunc('minute', now()), count(*) from unnest($1::text[]) as address
     group by address order by address
     on conflict (address) do update set minute = greatest(known.minute, excluded.minute),
       requests = excluded.requests + case when known.minute >= excluded.minute then known.requests else 0 end
     returning address, requests,
       extract(epoch from minute + interval '1 minute' - now())::float8 * 1000 as "endsInMs"`,
    [networks],
  );
  const counted = new Map(rows.map((row) => [row.address, row]));
  // Backwards, because the count is that after the last one.
  return networks
    .toReversed()
    .map((network) => {
      const row = counted.get(network);
      if (row === undefined) throw new Error('a refused network was not counted');
      const { requests, endsInMs } = row;
      row.requests -= 1;
      return { requests, endsInMs };
    })
    .toReversed();
}

/** Takes one count of a network in this minute back. */
export async function uncountRefusal(pool: Pool, service: string, network: string): Promise<void> {
  await pool.query(
    `update ${service}.refused_addresses set requests = requests - 1
     where address = $1 and minute >= date_trunc('minute', now()) and requests > 0`,
    [network],
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
