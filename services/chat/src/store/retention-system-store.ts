import { withTransaction, type Pool } from '@gatehouse/pg/pool';

export interface DeletedRuns {
  runs: number;
  /** The last run looked at; null when that was all, or another replica is at it. */
  last: string | null;
}

interface ExaminedRow {
  id: string;
  told: boolean;
}

/**
 * Deletes the runs that ended `olderThanDays` ago and were told of, with their attempts, among the `limit` that follow
 * `after`. Another index on the busiest table, for their end or for the run of an outbox row, would cost every request;
 * the primary key is in the order of time already, and the outbox in that of its ids: nothing that ended an hour before
 * its oldest row was written is still in there. One transaction; half a second for each of its statements is what
 * it may take (architecture decision 7).
 */
export async function deleteToldRuns(
  pool: Pool,
  { olderThanDays, limit, after }: { olderThanDays: number; limit: number; after: string },
): Promise<DeletedRuns> {
  return withTransaction(pool, async (client) => {
    await client.query('set local statement_timeout = 450');
    // Unnamed, like the deletions, so that no plan is kept that was made while the table was small.
    const { rows } = await client.query<ExaminedRow>(
      `select id, coalesce(ended_at < now() - $1 * interval '1 day'
                and ended_at < coalesce((select occurred_at from chat.outbox order by id limit 1), now())
                               - interval '1 hour', false) as told
       from chat.runs
       where (select pg_try_advisory_xact_lock(hashtext('chat.retention')))
         and id > $3 and id < chat.first_id_at(now() - $1 * interval '1 day')
       order by id limit $2`,
      [olderThanDays, limit, after],
    );
    const told = rows.flatMap((row) => (row.told ? [row.id] : []));
    await client.query('delete from chat.attempts where run_id = any($1::uuid[])', [told]);
    const { rowCount } = await client.query('delete from chat.runs where id = any($1::uuid[])', [told]);
    return { runs: rowCount ?? 0, last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
  });
}
