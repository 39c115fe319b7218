import type { OldRows } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';

/** Reports of replicas gone for an hour. */
export const oldReports: OldRows = {
  table: 'chat.provider_reports',
  where: "reported_at < now() - interval '1 hour'",
  order: 'reported_at',
};

/** Writes the report of a replica in place of its last one. */
export async function writeReport(
  pool: Pool,
  { instanceId, report }: { instanceId: string; report: string },
): Promise<void> {
  await pool.query(
    `insert into chat.provider_reports as r (instance_id, report) values ($1, $2)
     on conflict (instance_id) do update set reported_at = now(), report = excluded.report`,
    [instanceId, report],
  );
}

/** The report of each replica, unless older than `olderThanMs`. `reportedAt`: in milliseconds since the epoch. */
export function findReports(
  pool: Pool,
  olderThanMs: number,
): Promise<{ report: string; reportedAt: number }[]> {
  return pool.all(
    `select report, (extract(epoch from reported_at) * 1000)::float8 as "reportedAt" from chat.provider_reports
     where reported_at > now() - $1 * interval '1 millisecond' order by reported_at desc limit 1000`,
    [olderThanMs],
  );
}
