import type { Pool } from '@gatehouse/pg/pool';

/** What is hidden when it is deleted, and the parts that it is removed with in batches. */
const removable = {
  endpoints: { owners: 'webhook.endpoints', parts: 'webhook.calls', by: 'endpoint_id' },
  channels: { owners: 'webhook.channel_instances', parts: 'webhook.channel_messages', by: 'instance_id' },
} as const;

/** Removes up to `limit` parts of what was deleted, and the owners that have none left; returns how many parts. */
export async function removeDeleted(
  pool: Pool,
  what: keyof typeof removable,
  limit: number,
): Promise<number> {
  const { owners, parts, by } = removable[what];
  const { rowCount } = await pool.query(
    `delete from ${parts} where id = any (array(
       select p.id from ${owners} as o join ${parts} as p on p.${by} = o.id
       where o.deleted_at is not null limit $1))`,
    [limit],
  );
  await pool.query(
    `delete from ${owners} as o where o.deleted_at is not null
       and not exists (select from ${parts} as p where p.${by} = o.id)`,
  );
  return rowCount ?? 0;
}
