import type { Queryable } from '@gatehouse/pg/pool';
import { jobTable } from './schema-store.ts';

/** A job to add. */
export interface JobRow {
  id: string;
  task: string;
  tenantId: string;
  ids: Readonly<Record<string, string>>;
  key: string;
  retryLimit: number;
  priority: number;
  /** When it may run; null for `afterS` seconds from now, by the database's clock. */
  runAt: Date | null;
  afterS: number;
}

/**
 * Adds a job unless one with its key waits for its first attempt. With `unlessTried`, one waiting for a later attempt
 * counts as well. With `inOrder`, the waiting job runs at the earlier of both times, and no sooner than the caller's
 * transaction ends, to see its changes. Returns whether it was added. `db` acts as `<service>_app` or
 * `<service>_system`.
 */
export async function addJob(
  db: Queryable,
  schema: string,
  { job, inOrder, unlessTried }: { job: JobRow; inOrder: boolean; unlessTried: boolean },
): Promise<boolean> {
  const table = `${schema}.${jobTable}`;
  const onConflict = inOrder
    ? `(name, singleton_key) where state = 'created' and upsert_by_key
       do update set start_after = least(job.start_after, excluded.start_after)`
    : `(name, coalesce(singleton_key, '')) where state = 'created' and policy = 'short' do nothing`;
  const rows = await db.all<{ added: boolean }>(
    `with tried as materialized (
       select id from ${table} where $10 and name = $2 and singleton_key = $5 and state = 'retry' for update)
     insert into ${table} as job (id, name, group_id, data, singleton_key, retry_limit, priority, start_after, keep_until,
       policy, dead_letter, upsert_by_key)
     select $1, queue.name, $3, $4, $5, $6, $7, at, at + make_interval(secs => queue.retention_seconds), queue.policy,
       queue.dead_letter, $11
     from ${schema}.queue, coalesce($8::timestamptz, now() + make_interval(secs => $9)) as at
     where queue.name = $2 and not exists (select from tried)
     on conflict ${onConflict}
     returning xmax = 0 as added`,
    [
      ...[
        job.id,
        job.task,
        job.tenantId,
        job.ids,
        job.key,
        job.retryLimit,
        job.priority,
        job.runAt,
        job.afterS,
      ],
      ...[unlessTried, inOrder],
    ],
  );
  return rows[0]?.added === true;
}

/** Deletes jobs with this key unless they run; as `<service>_app` only those of its tenant. */
export function deleteWaiting(
  db: Queryable,
  schema: string,
  { task, key }: { task: string; key: string },
): Promise<number> {
  return db.count(
    `delete from ${schema}.${jobTable} where name = $1 and singleton_key = $2 and state < 'active'`,
    [task, key],
  );
}

/** Whether a job of the tenant with one of these ids as `member` runs. */
export function anyActive(
  db: Queryable,
  schema: string,
  {
    tenantId,
    tasks,
    member,
    ids,
  }: { tenantId: string; tasks: readonly string[]; member: string; ids: readonly string[] },
): Promise<boolean> {
  return db.exists(
    `select from ${schema}.${jobTable}
     where name = any ($1) and group_id = $2 and state = 'active' and data->>$3 = any ($4) limit 1`,
    [tasks, tenantId, member, ids],
  );
}
