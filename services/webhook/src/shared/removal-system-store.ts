import { inBatches, PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { cleanUpMs } from '@gatehouse/kit/bounds';
import { batchRows } from '../bounds.ts';

/** Rows hidden by their deletion, and their parts to remove, in their order. */
export interface Removable {
  owners: string;
  /** The column of parts with the id of their owner. */
  by: string;
  parts: readonly string[];
}

/**
 * Removes up to `limit` parts of each kind of deleted owners, and up to `limit` of these owners once they have no
 * parts. Returns the highest number removed of a kind.
 */
export async function removeDeleted(
  pool: Pool,
  { owners, parts, by }: Removable,
  limit: number,
): Promise<number> {
  let most = 0;
  for (const part of parts) {
    const { rowCount } = await pool.query(
      `delete from ${part} where ctid = any (array(
         select p.ctid from ${owners} as o
         cross join lateral (select ctid from ${part} where ${by} = o.id limit $1) as p
         where o.deleted_at is not null limit $1))`,
      [limit],
    );
    most = Math.max(most, rowCount ?? 0);
  }
  const empty = parts.map((part) => `not exists (select from ${part} as p where p.${by} = o.id)`);
  await pool.query(
    `delete from ${owners} where id = any (array(
       select id from ${owners} as o where o.deleted_at is not null and ${empty.join(' and ')} limit $1))`,
    [limit],
  );
  return most;
}

/** Removes what was deleted in batches until there is no more. `system` acts as `webhook_system`. */
export function removal(log: Logger, system: Pool, removable: Removable): PeriodicWork {
  const round = inBatches(batchRows, (limit) => removeDeleted(system, removable, limit));
  return new PeriodicWork({
    task: `remove deleted rows of ${removable.owners}`,
    log,
    everyMs: cleanUpMs,
    round,
  });
}
