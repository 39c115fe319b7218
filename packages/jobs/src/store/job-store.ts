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
