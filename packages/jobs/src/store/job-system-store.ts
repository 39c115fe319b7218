import { withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
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

/** A job with a begun attempt. */
export interface TakenJob extends Claim {
  ids: Readonly<Record<string, string>>;
}

/** Turns examined by one statement: a tenant has one for each priority of its jobs. */
export const mostTurns = 200;

/**
 * Statistics lag behind a table with rows coming and going: while they show it empty, reading and sorting everything
 * waiting looks as cheap as a step in the index.
 */
const indexOnly = ['sort', 'incremental_sort', 'bitmapscan', 'seqscan']
  .map((plan) => `set local enable_${plan} = off`)
  .join('; ');

const inOrderOfIndex = 'order by group_id, (-priority), start_after';

/**
 * The turns after the tenant `$2`, each with the time of its first job: one row is read for each, however many jobs
 * wait. A plain scan in the order of jobs would pass over all waiting jobs of tenants without a free slot.
 */
function turnsOf(schema: string): string {
  const from = `from ${schema}.${jobTable} where name = $1 and state < 'active' and not blocked`;
  const first = `${inOrderOfIndex} limit 1`;
  return `with recursive turns (tenant, rank, start_after, place) as (
    (select group_id, -priority, start_after, 1 ${from} and group_id > $2 ${first})
    union all
    select next.group_id, next.rank, next.start_after, place + 1 from turns cross join lateral (
      select group_id, -priority as rank, start_after ${from} and (group_id, -priority) > (turns.tenant, turns.rank)
      ${first}) as next
    where place < ${mostTurns})`;
}

/** The statement of {@link takeNext}. */
export function takeNextText(schema: string, inOrder: boolean): string {
  const table = `${schema}.${jobTable}`;
  // A subquery, which the planner does not turn into a join with all running jobs.
  const isFree = inOrder
    ? `and (select true from ${table} as other
           where other.name = job.name and other.singleton_key = job.singleton_key and other.id <> job.id
             and other.state in ('active', 'retry', 'failed') and other.policy = 'key_strict_fifo' limit 1) is null`
    : '';
  return `${turnsOf(schema)},
    next as materialized (
      select job.id from turns cross join lateral (
        select id from ${table} as job
        where name = $1 and state < 'active' and not blocked and group_id = turns.tenant and -priority = turns.rank
          and start_after <= now() ${isFree}
        ${inOrderOfIndex} limit 1 for update skip locked) as job
      where turns.start_after <= now() and turns.tenant <> all ($3)
      limit 1)
    update ${table} set state = 'active', started_on = now(), heartbeat_on = now(),
      retry_count = case when started_on is null then retry_count else retry_count + 1 end
    where name = $1 and id = (select id from next)
    returning name as task, id, group_id as "tenantId", retry_count as "retryCount", retry_limit as "retryLimit",
      data as ids`;
}

/**
 * Begins an attempt of a job: of the next tenant after `after` with a runnable one and not among `full`. Null if the
 * next {@link mostTurns} turns have no runnable job. As the library's `fetch`, it counts an attempt unless the one
 * before was released.
 */
export async function takeNext(
  pool: Pool,
  schema: string,
  { task, inOrder, after, full }: { task: string; inOrder: boolean; after: string; full: readonly string[] },
): Promise<TakenJob | null> {
  return inSteps(pool, async (db) => {
    return db.first<TakenJob>({
      name: `take_next ${schema} ${inOrder}`,
      text: takeNextText(schema, inOrder),
      values: [task, after, full],
    });
  });
}

/** Runs `work` in a transaction with statements stepping through indexes. */
export function inSteps<Result>(pool: Pool, work: (db: Queryable) => Promise<Result>): Promise<Result> {
  return withTransaction(pool, async (db) => {
    await db.query(indexOnly);
    return work(db);
  });
}

/** The tenant of the last turn examined by {@link takeNext}; null if no further ones follow. */
export async function lastOfTurns(
  pool: Pool,
  schema: string,
  { task, after }: { task: string; after: string },
): Promise<string | null> {
  return inSteps(pool, async (db) => {
    const row = await db.first<{ tenant: string }>(
      `${turnsOf(schema)} select tenant from turns where place = ${mostTurns}`,
      [task, after],
    );
    return row?.tenant ?? null;
  });
}

/**
 * Deletes the job waiting behind a retried one, if its task is in order: the next attempt does its work. So each key
 * has one waiting job.
 */
export async function mergeWaiting(
  db: Queryable,
  schema: string,
  { task, id }: Pick<Claim, 'task' | 'id'>,
): Promise<void> {
  const table = `${schema}.${jobTable}`;
  await db.query(
    `delete from ${table} where name = $1 and state = 'created' and policy = 'key_strict_fifo'
       and singleton_key = (select singleton_key from ${table} where name = $1 and id = $2)`,
    [task, id],
  );
}

/** Attempts of these tasks without a heartbeat of their process for `lostAfterMs`. */
export function readLost(
  db: Queryable,
  schema: string,
  { tasks, lostAfterMs, limit }: { tasks: readonly string[]; lostAfterMs: number; limit: number },
): Promise<Claim[]> {
  return db.all<Claim>(
    `select name as task, id, group_id as "tenantId", retry_count as "retryCount", retry_limit as "retryLimit"
     from ${schema}.${jobTable}
     where name = any($1) and state = 'active' and heartbeat_on < now() - $2 * interval '1 ms'
     limit $3`,
    [tasks, lostAfterMs, limit],
  );
}

/** The ones of these tasks with a job able to run now. */
export async function readDue(db: Queryable, schema: string, tasks: readonly string[]): Promise<string[]> {
  const rows = await db.all<{ task: string }>({
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
  /** Jobs able to run now; counts up to `most`. */
  waiting: number;
  /** How long the oldest of them could have run already; 0 without one. */
  oldestSeconds: number;
}

/** The waiting jobs of every queue, dead jobs included. */
export async function countWaiting(db: Queryable, schema: string, most: number): Promise<WaitingJobs[]> {
  const jobs = `from ${schema}.${jobTable} where name = queue.name and not blocked and start_after <= now()`;
  return db.all<WaitingJobs>(
    `select queue.name as task,
            (select count(*)::integer from (select 1 ${jobs} and state in ('created', 'retry') limit $1) as due) as waiting,
            coalesce(extract(epoch from now() - least(
              (select min(start_after) ${jobs} and state = 'created'),
              (select min(start_after) ${jobs} and state = 'retry')
            )), 0)::float8 as "oldestSeconds"
     from ${schema}.queue`,
    [most],
  );
}

/** Deletes jobs of a queue added more than `days` days ago, or not among its newest `most`. */
export function deleteOldest(
  db: Queryable,
  schema: string,
  { queue, days, most }: { queue: string; days: number; most: number },
): Promise<number> {
  return db.count(
    `delete from ${schema}.${jobTable}
     where name = $1 and id in (
       (select id from ${schema}.${jobTable} where name = $1 and created_on < now() - $2 * interval '1 day' limit 1000)
       union
       (select id from ${schema}.${jobTable} where name = $1 order by created_on desc offset $3 limit 1000)
     )`,
    [queue, days, most],
  );
}

/** Deletes up to 1,000 jobs waiting longer than jobs are kept; returns their numbers by task. */
export function deleteExpired(db: Queryable, schema: string): Promise<{ task: string; jobs: number }[]> {
  return db.all<{ task: string; jobs: number }>(`with expired as (
       delete from ${schema}.${jobTable} where ctid = any (array(
         select ctid from ${schema}.${jobTable}
         where state in ('created', 'retry') and keep_until < now() limit 1000 for update skip locked
       )) returning name
     )
     select name as task, count(*)::integer as jobs from expired group by name`);
}
