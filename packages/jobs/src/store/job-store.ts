import type { Queryable } from '@gatehouse/pg/pool';
import { jobTable } from './schema-store.ts';

/** Deletes jobs with this key that do not run; as `<service>_app` only those of its tenant. */
export async function deleteWaiting(
  db: Queryable,
  schema: string,
  { task, key }: { task: string; key: string },
): Promise<number> {
  const { rowCount } = await db.query(
    `delete from ${schema}.${jobTable} where name = $1 and singleton_key = $2 and state < 'active'`,
    [task, key],
  );
  return rowCount ?? 0;
}

/** Whether a job of the tenant runs whose `member` is one of these ids. */
export async function anyActive(
  db: Queryable,
  schema: string,
  {
    tenantId,
    tasks,
    member,
    ids,
  }: { tenantId: string; tasks: readonly string[]; member: string; ids: readonly string[] },
): Promise<boolean> {
  const { rows } = await db.query(
    `select from ${schema}.${jobTable}
     where name = any ($1) and group_id = $2 and state = 'active' and data->>$3 = any ($4) limit 1`,
    [tasks, tenantId, member, ids],
  );
  return rows.length > 0;
}
