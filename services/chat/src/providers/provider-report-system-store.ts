import type { Pool } from '@gatehouse/pg/pool';

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

/** Deletes reports of replicas that ended an hour ago. */
export async function deleteOldReports(pool: Pool): Promise<void> {
  await pool.query(
    `delete from chat.provider_reports where ctid = any (array(
       select ctid from chat.provider_reports where reported_at < now() - interval '1 hour'
       order by reported_at limit 1000))`,
  );
}

export interface ReportRow {
  report: string;
  /** Milliseconds since the epoch. */
  reported_at: number;
}

/** The newest report of each replica that is not older. */
export async function findReports(pool: Pool, olderThanMs: number): Promise<ReportRow[]> {
  const { rows } = await pool.query<ReportRow>(
    `select report, (extract(epoch from reported_at) * 1000)::float8 as reported_at from chat.provider_reports
     where reported_at > now() - $1 * interval '1 millisecond' order by reported_at desc limit 1000`,
    [olderThanMs],
  );
  return rows;
}
