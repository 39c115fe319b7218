import { plainArray } from '@gatehouse/pg/arrays';
import type { Pool } from '@gatehouse/pg/pool';
import { endingWithoutTexts } from './run-end-system-store.ts';
import { rowsAtOnce, outboxPageRows } from '../bounds.ts';

/** User of deleted data, for what comes late. */
export interface Tombstone {
  tenantId: string;
  /** SHA-256 of tenant and user. */
  digest: Buffer;
  /** Milliseconds since the epoch. */
  requestedAtMs: number;
}

/** In milliseconds since the epoch. */
const until = '(extract(epoch from least(requested_at, created_at)) * 1000)::float8';
const keepDays = 30;

/**
 * Notes a deletion; a later one of the same user begins anew. Returns until when runs are affected, which is not in the
 * future, and the milliseconds since the deletion was first noted.
 */
export async function insertTombstone(
  pool: Pool,
  tombstone: Tombstone,
): Promise<{ untilMs: number; ageMs: number }> {
  const inserted = await pool.one<{ until: number; age: number }>(
    `insert into chat.forgotten_users as known (tenant_id, user_digest, requested_at)
     values ($1, $2, to_timestamp($3::float8 / 1000))
     on conflict (tenant_id, user_digest) do update set
       requested_at = greatest(known.requested_at, excluded.requested_at),
       created_at = case when excluded.requested_at > known.requested_at then now() else known.created_at end
     returning ${until} as until, (extract(epoch from now() - created_at) * 1000)::float8 as age`,
    [tombstone.tenantId, tombstone.digest, tombstone.requestedAtMs],
  );
  const { until: untilMs, age: ageMs } = inserted;
  return { untilMs, ageMs };
}

/** Deletions noted in this time. */
export function recentTombstones(pool: Pool, within: '1 hour' | '30 days'): Promise<Tombstone[]> {
  return pool.all<Tombstone>(
    `select tenant_id as "tenantId", user_digest as digest, ${until} as "requestedAtMs"
     from chat.forgotten_users where created_at > now() - $1::interval`,
    [within],
  );
}

export async function deleteOldTombstones(pool: Pool): Promise<void> {
  await pool.query(`delete from chat.forgotten_users where created_at < now() - interval '${keepDays} days'`);
}

/** A run under way, maybe of a forgotten user. */
export interface OpenRun {
  id: string;
  tenantId: string;
  /** By the database clock, in milliseconds since the epoch. */
  startedAtMs: number;
  /** Its record: JSON. */
  run: string;
}

type FindRuns = (pool: Pool, tenantIds: readonly string[], untilMs: number) => Promise<OpenRun[]>;

/** Runs of these tenants begun until then, in a table or view. */
function findRunsIn(table: string, condition = 'true'): FindRuns {
  return (pool, tenantIds, untilMs) =>
    pool.all<OpenRun>(
      `select id, tenant_id as "tenantId", (extract(epoch from started_at) * 1000)::float8 as "startedAtMs", run
       from ${table}
       where tenant_id = any($1::uuid[]) and ${condition} and started_at <= to_timestamp($2::float8 / 1000)`,
      [plainArray(tenantIds), untilMs],
    );
}

/** Runs under way of users not forgotten yet. */
export const findOpenRuns = findRunsIn('chat.open_runs', 'not forgotten');

/** Runs in the logs, with what they have a user's texts in. */
export const findLoggedRuns = findRunsIn('chat.logged_runs');

/** Replaces the record of a run under way; its end then publishes no text. Returns false if the run has ended. */
export function forgetOpenRun(pool: Pool, id: string, run: string): Promise<boolean> {
  // One row in a transaction, so it can't deadlock with the statements ending many runs.
  return pool.exists('update chat.open_runs set run = $2, forgotten = true where id = $1', [id, run]);
}

/**
 * Replaces the record of a run in the logs, and takes the texts from its end. Its process asks for forgotten users before
 * it writes about a run again. Returns false if it is in no log any more.
 */
export function forgetLoggedRun(pool: Pool, id: string, run: string): Promise<boolean> {
  return pool.exists(
    `update chat.run_log set
       runs = array (select case when t.id = $1 and t.run is not null then $2 else t.run end
                     from unnest(start_ids, runs) with ordinality as t (id, run, place) order by place),
       endings = array (select case when t.id = $1 then ${endingWithoutTexts('t.ending')} else t.ending end
                        from unnest(end_ids, endings) with ordinality as t (id, ending, place) order by place)
     where $1 = any(start_ids) or $1 = any(end_ids)`,
    [id, run],
  );
}

export interface OutboxMatch {
  id: string;
  /** JSON of the event's data. */
  data: string;
}

/**
 * Events of a tenant waiting for publication, about runs begun until then, and containing `fragment`: one page after
 * the entry `after`. `last` is null after the last page.
 */
export async function findWaitingEvents(
  pool: Pool,
  {
    tenantId,
    untilMs,
    fragment,
    after,
  }: { tenantId: string; untilMs: number; fragment: string; after: string },
): Promise<{ matches: OutboxMatch[]; last: string | null }> {
  const { rows } = await pool.query<{ id: string; data: string | null }>(
    `select id::text, case when tenant_id = $1 and started_at <= to_timestamp($2::float8 / 1000)
                            and strpos(data, $3) > 0 then data end as data
     from chat.outbox where partition = chat.partition_of($1) and id > $4::bigint order by id limit ${outboxPageRows}`,
    [tenantId, untilMs, fragment, after],
  );
  const matches = rows.flatMap(({ id, data }) => (data === null ? [] : [{ id, data }]));
  return { matches, last: rows.length < outboxPageRows ? null : (rows.at(-1)?.id ?? null) };
}

/** Replaces the data of a waiting event. Returns false if it was published meanwhile. */
export function replaceWaitingEvent(pool: Pool, { id, data }: OutboxMatch): Promise<boolean> {
  return pool.exists('update chat.outbox set data = $2 where id = $1', [id, data]);
}

/** Deletes dead letters of a tenant containing `fragment`. */
export async function deleteDeadLettersWith(pool: Pool, tenantId: string, fragment: string): Promise<void> {
  await pool.query('delete from chat.outbox_dead_letters where tenant_id = $1 and strpos(entry, $2) > 0', [
    tenantId,
    fragment,
  ]);
}

/** A row is of the time at which its request began, by the database clock: see `beganAt`. */
const inDeletion = `tenant_id = $1 and user_id = $2 and created_at <= to_timestamp($3::float8 / 1000)`;

/** Completions, with the claims of those in progress, stored responses, contents, reasoning, and origins of signatures. */
export type UsersTable = 'completions' | 'responses' | 'run_contents' | 'thoughts' | 'seals';

/** Deletes the rows of a table left by a user before the deletion, some at a time. Returns their number. */
export async function deleteRowsOf(
  pool: Pool,
  table: UsersTable,
  { tenantId, userId, untilMs }: DeletedUser,
): Promise<number> {
  for (let deleted = 0; ;) {
    const { rowCount } = await pool.query(
      `delete from chat.${table} where ctid = any (array (
         select ctid from chat.${table} where ${inDeletion} limit ${rowsAtOnce}))`,
      [tenantId, userId, untilMs],
    );
    deleted += rowCount ?? 0;
    if ((rowCount ?? 0) < rowsAtOnce) return deleted;
  }
}

interface DeletedUser {
  tenantId: string;
  userId: string;
  /** Later requests stay. Milliseconds since the epoch. */
  untilMs: number;
}

/** The lists of files and batches have an index by this. */
const inHolder = inDeletion.replace('user_id', "coalesce(user_id, '')");

/**
 * Hides the files and the batches of a user: files are deleted at the provider next, and batches under way are cancelled
 * and end without the user. Returns the number of both.
 */
export async function hideBatchesOf(pool: Pool, { tenantId, userId, untilMs }: DeletedUser): Promise<number> {
  const values = [tenantId, userId, untilMs];
  const files = await pool.query(
    `update chat.files set user_id = null, content = '', deleted_at = coalesce(deleted_at, now()),
       due_at = coalesce(due_at, now())
     where ${inHolder}`,
    values,
  );
  const batches = await pool.query(
    `update chat.batches set user_id = null, content = null, forgotten = true, expires_at = now(),
       run = (run::jsonb || '{"user_id": null}')::text
     where ${inHolder}`,
    values,
  );
  return (files.rowCount ?? 0) + (batches.rowCount ?? 0);
}
