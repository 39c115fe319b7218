import type { Queryable } from '@gatehouse/pg/pool';
import { jobTable } from './schema-store.ts';

/** One attempt of a job: it holds while no later attempt has begun. */
export interface Claim {
  task: string;
  id: string;
  tenantId: string;
  /** 0 for the first attempt. */
  retryCount: number;
  retryLimit: number;
}

/** Attempts of these tasks whose process has not shown for `lostAfterMs` that it still runs them. */
export async function readLost(
  db: Queryable,
  schema: string,
  { tasks, lostAfterMs, limit }: { tasks: readonly string[]; lostAfterMs: number; limit: number },
): Promise<Claim[]> {
  const { rows } = await db.query<Claim>(
    `select name as task, id, group_id as "tenantId", retry_count as "retryCount", retry_limit as "retryLimit"
     from ${schema}.${jobTable}
     where name = any($1) and state = 'active' and heartbeat_on < now() - $2 * interval '1 ms'
     limit $3`,
    [tasks, lostAfterMs, limit],
  );
  return rows;
}

/** Those of these tasks that have a job which could run now. */
export async function readDue(db: Queryable, schema: string, tasks: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ task: string }>({
    name: `read_due ${schema}`,
    text: `select task from unnest($1::text[]) as task where exists (
             select from ${schema}.${jobTable} where name = task and state in ('created', 'retry') and not blocked
               and start_after <= now())`,
    values: [tasks],
  });
  return rows.map(({ task }) => task);
}

/**
 * Returns a job to the queue if this attempt still holds it. As in the library's own `restore`, the next attempt gets the
 * same number, because `started_on` is unset.
 */
export async function releaseClaim(db: Queryable, schema: string, claim: Claim): Promise<void> {
  await db.query(
    `update ${schema}.${jobTable} set state = 'created', started_on = null, heartbeat_on = null
     where name = $1 and id = $2 and state = 'active' and retry_count = $3`,
    [claim.task, claim.id, claim.retryCount],
  );
}

export interface WaitingJobs {
  task: string;
  /** Jobs that could run now; counts up to `most`. */
  waiting: number;
  /** How long the oldest of them could have run already; 0 if there is none. */
  oldestSeconds: number;
}

/** The waiting jobs of every queue, dead jobs included. */
export async function countWaiting(db: Queryable, schema: string, most: number): Promise<WaitingJobs[]> {
  const jobs = `from ${schema}.${jobTable} where name = queue.name and not blocked and start_after <= now()`;
  const { rows } = await db.query<WaitingJobs>(
    `select queue.name as task,
            (select count(*)::integer from (select 1 ${jobs} and state in ('created', 'retry') limit $1) as due) as waiting,
            coalesce(extract(epoch from now() - least(
              (select min(start_after) ${jobs} and state = 'created'),
              (select min(start_after) ${jobs} and state = 'retry')
            )), 0)::float8 as "oldestSeconds"
     from ${schema}.queue`,
    [most],
  );
  return rows;
}

/** Deletes jobs of a queue that were added more than `days` days ago, or are not among its newest `most`. */
export async function deleteOldest(
  db: Queryable,
  schema: string,
  { queue, days, most }: { queue: string; days: number; most: number },
): Promise<number> {
  const { rowCount } = await db.query(
    `delete from ${schema}.${jobTable}
     where name = $1 and id in (
       (select id from ${schema}.${jobTable} where name = $1 and created_on < now() - $2 * interval '1 day' limit 1000)
       union
       (select id from ${schema}.${jobTable} where name = $1 order by created_on desc offset $3 limit 1000)
     )`,
    [queue, days, most],
  );
  return rowCount ?? 0;
}

/** Deletes up to 1,000 jobs that waited longer than they are kept; returns how many of which task. */
export async function deleteExpired(
  db: Queryable,
  schema: string,
): Promise<{ task: string; jobs: number }[]> {
  const { rows } = await db.query<{ task: string; jobs: number }>(
    `with expired as (
       delete from ${schema}.${jobTable} where (name, id) in (
         select name, id from ${schema}.${jobTable}
         where state in ('created', 'retry') and keep_until < now() limit 1000 for update skip locked
       ) returning name
     )
     select name as task, count(*)::integer as jobs from expired group by name`,
  );
  return rows;
}
