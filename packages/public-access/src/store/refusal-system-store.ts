import type { Pool } from '@gatehouse/pg/pool';
import type { OldRows } from '@gatehouse/pg/clean-up-store';

/** How many requests of a sender and a kind were refused in this minute, and when it ends. */
export interface CountedRefusal {
  requests: number;
  endsInMs: number;
}

/**
 * Counts requests without proof of being genuine, each by its kind and sender, which may come several times. Returns
 * the count at each of them. `pool` acts as `<service>_system`.
 */
export async function countRefusals(
  pool: Pool,
  service: string,
  senders: readonly string[],
): Promise<CountedRefusal[]> {
  // Replicas lock rows in one order.
  const rows = await pool.all<CountedRefusal & { address: string }>(
    `insert into ${service}.refused_addresses as known (address, minute, requests)
     select address, date_trunc('minute', now()), count(*) from unnest($1::text[]) as address
     group by address order by address
     on conflict (address) do update set minute = greatest(known.minute, excluded.minute),
       requests = excluded.requests + case when known.minute >= excluded.minute then known.requests else 0 end
     returning address, requests,
       extract(epoch from minute + interval '1 minute' - now())::float8 * 1000 as "endsInMs"`,
    [senders],
  );
  const counted = new Map(rows.map((row) => [row.address, row]));
  // Backwards, because the count includes the last one.
  return senders
    .toReversed()
    .map((sender) => {
      const row = counted.get(sender);
      if (row === undefined) throw new Error('a refused sender was not counted');
      const { requests, endsInMs } = row;
      row.requests -= 1;
      return { requests, endsInMs };
    })
    .toReversed();
}

/** Senders after the end of their minute. */
export function oldRefusals(service: string): OldRows {
  return {
    ...{ table: `${service}.refused_addresses`, key: 'address' },
    where: `minute < now() - interval '2 minutes'`,
  };
}
