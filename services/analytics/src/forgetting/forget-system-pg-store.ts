import { randomBase62 } from '@gatehouse/kit/ids';
import { userDigest } from '@gatehouse/kit/user-digest';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { withTransaction, type Pool, type PoolClient, type Queryable } from '@gatehouse/pg/pool';
import { usersIn } from '@gatehouse/pg/user-scan';
import { refusedBatch } from '../bounds.ts';
import { turnOfRefusals } from '../shared/refused-turn-pg-store.ts';
import {
  countsNothing,
  groupedKey,
  isUnfolded,
  measures,
  unpricedKey,
  usageKey,
} from '../usage/measure-pg-store.ts';
import type {
  CompletedDeletion,
  ForgetBatch,
  ForgetStore,
  ForgottenUser,
  UserRun,
} from './forget-system-store.ts';

/** `pool` acts as `analytics_system`. */
export function forgetPgStore(pool: Pool): ForgetStore {
  return {
    noteDeletion: (user, deletion) => noteDeletion(pool, user, deletion),
    forgetTraces: (user, settleMs) => forgetTraces(pool, user, settleMs),
    forgetUsage: (user) => forgetUsage(pool, user),
    forgetDeadLetters: (user) => forgetDeadLetters(pool, user),
    findForgotten: (runs) => findForgotten(pool, runs),
    completedDeletions: () => completedDeletions(pool),
    usersWithRefusals: (tenantId) => usersWithRefusals(pool, tenantId),
    forgetLateRefusals: (user, until) => forgetLateRefusals(pool, user, until),
  };
}

interface ErasureProgress {
  until: Date;
  pseudonym: string | null;
  last_trace: string;
  usage_until: Date | null;
}

const keepDays = 30;
/** Traces read by one transaction. */
const traceBatch = 2_000;
/** Dead letters one statement deletes. */
const deadLetterBatch = 1_000;
const firstTrace = '00000000-0000-0000-0000-000000000000';

async function noteDeletion(
  pool: Pool,
  { tenantId, userId }: ForgottenUser,
  { requestedAtMs, pseudonym }: { requestedAtMs: number; pseudonym: string },
): Promise<void> {
  await pool.query(
    `insert into analytics.forgotten_users as known (tenant_id, user_digest, requested_at, pseudonym)
     values ($1, $2, to_timestamp($3::float8 / 1000), $4)
     on conflict (tenant_id, user_digest) do update set
       requested_at = excluded.requested_at, created_at = now(), pseudonym = excluded.pseudonym,
       pass_began_at = null, last_trace = '${firstTrace}', usage_until = null
     where excluded.requested_at > known.requested_at`,
    [tenantId, userDigest(tenantId, userId), requestedAtMs, pseudonym],
  );
}

/**
 * Leaves out runs no roll-up has yet: the fold adds them for the user, as the roll-ups have the others, and not for
 * both. A pass through all traces counts only if it left out no run, and began `settleMs` after the deletion was noted.
 */
async function forgetTraces(pool: Pool, user: ForgottenUser, settleMs: number): Promise<ForgetBatch> {
  const { tenantId, userId } = user;
  return inProgress(pool, user, async (client, { until, pseudonym, last_trace: after, usage_until }) => {
    if (pseudonym === null || usage_until !== null) return { changed: 0, more: false };
    const rows = await client.all<{ id: string; own: boolean }>(
      `select id, user_id is not distinct from $2 and started_at <= $3 as own
       from analytics.traces where tenant_id = $1 and id > $4 order by id limit ${traceBatch}`,
      [tenantId, userId, until, after],
    );
    const personalIds = rows.flatMap((row) => (row.own ? [row.id] : []));
    // Separate from the search: PostgreSQL plans for these ids and reads only their partitions. A run may have ended
    // since.
    const changed = await client.count(
      `update analytics.traces set user_id = $2, session_id = null, input_preview = null, output_preview = null,
         error_message = null
       where id = any($1::uuid[]) and not coalesce(fold > (select folded_to from analytics.folds), false)`,
      [personalIds, pseudonym],
    );
    const more = rows.length === traceBatch;
    const began = `case when $6 then '-infinity' else coalesce(pass_began_at, now()) end`;
    await client.query(
      `update analytics.forgotten_users set
         last_trace = case when $4 then $3::uuid else '${firstTrace}' end,
         pass_began_at = case when $4 then ${began} end,
         usage_until = case when not $4 and ${began} >= created_at + make_interval(secs => $5)
                       then 'epoch'::timestamptz end
       where tenant_id = $1 and user_digest = $2`,
      [
        ...[tenantId, userDigest(tenantId, userId), rows.at(-1)?.id ?? firstTrace, more, settleMs / 1_000],
        changed < personalIds.length,
      ],
    );
    if (changed > 0) await shareNumber(client, user, pseudonym);
    return { changed, more };
  });
}

/** Gives the pseudonym the number of the user, since runs with the pseudonym may end before the deletion does. */
async function shareNumber(
  client: PoolClient,
  { tenantId, userId }: ForgottenUser,
  pseudonym: string,
): Promise<void> {
  await client.query(
    `insert into analytics.users (tenant_id, user_id, number)
     select tenant_id, $3, number from analytics.users where tenant_id = $1 and user_id = $2
     on conflict do nothing`,
    [tenantId, userId, pseudonym],
  );
}

const userRows = 'tenant_id = $1 and bucket >= $2 and bucket < $3 and bucket <= $4 and user_id = $5';
const withoutUser = (key: string): string => key.replace('user_id, ', '');
const unpricedColumns = withoutUser(unpricedKey);
const listed = measures.join(', ');
/** The roll-ups with a user's amounts: their keys, and the columns of these besides the user and the session. */
const movedTables = [
  { table: 'usage', others: unpricedColumns, key: usageKey },
  { table: 'grouped_usage', others: `${unpricedColumns}, groups_sha256`, key: groupedKey },
] as const;

/**
 * Gives a user's rows in the roll-ups to the pseudonym, without their sessions: the client may go on with one, which would
 * join both. The pseudonym has rows already if a run was under way when its trace got it: then their amounts are added up. A run may also have been counted for one of the two and corrected for the other.
 */
async function moveUsage(
  client: PoolClient,
  { days, userId, pseudonym }: { days: readonly unknown[]; userId: string; pseudonym: string },
): Promise<void> {
  for (const { table, others, key } of movedTables) {
    await client.query(`select from analytics.${table} where ${userRows} for update`, [...days, userId]);
    await client.query(
      `insert into analytics.${table} (${others}, user_id, ${listed})
       select ${others}, $6, ${measures.map((column) => `sum(${column})`).join(', ')}
       from analytics.${table} where ${userRows} group by ${others}
       on conflict (${key}) do update set
         ${measures.map((column) => `${column} = ${table}.${column} + excluded.${column}`).join(', ')}`,
      [...days, userId, pseudonym],
    );
    await client.query(
      `update analytics.${table} set ${measures.map((column) => `${column} = 0`).join(', ')} where ${userRows}`,
      [...days, userId],
    );
    for (const name of [userId, pseudonym])
      await client.query(`delete from analytics.${table} where ${userRows} and ${countsNothing}`, [
        ...days,
        name,
      ]);
  }
  await client.query(
    `with moved as (
       delete from analytics.unpriced_models where ${userRows} returning ${unpricedColumns}, unpriced_model
     )
     insert into analytics.unpriced_models (${unpricedColumns}, user_id, unpriced_model)
     select ${unpricedColumns}, $6, unpriced_model from moved
     on conflict do nothing`,
    [...days, userId, pseudonym],
  );
  // The day is changed if the user had rows in it, and then no summary reads its sums.
  await client.query(
    `delete from analytics.settled_usage
     where tenant_id = $1 and kind in ('user', 'session', 'group') and bucket < $3 and user_id = $4 and bucket >= (
       select day from analytics.settled_days
       where tenant_id = $1 and day = date_bin('1 day', $2::timestamptz, 'epoch') and state = 'changed')`,
    [...days.slice(0, 3), userId],
  );
}

async function forgetUsage(pool: Pool, user: ForgottenUser): Promise<{ more: boolean; done: boolean }> {
  const { tenantId, userId } = user;
  return inProgress(pool, user, async (client, { until, pseudonym, usage_until: from }) => {
    if (pseudonym === null || from === null) return { more: false, done: pseudonym === null };
    const next = await client.one<{ first: Date | null; day: Date | null }>(
      `select first, date_bin('1 day', first, 'epoch') + interval '1 day' as day
       from (select min(bucket) as first from analytics.usage
             where tenant_id = $1 and bucket >= $2::timestamptz and bucket <= $3) as next`,
      [tenantId, from, until],
    );
    const { first, day } = next;
    if (first === null || day === null) {
      if (await forgetRefusals(client, user, until)) return { more: true, done: false };
      await finish(client, user, { until, pseudonym });
      return { more: false, done: true };
    }
    await moveUsage(client, { days: [tenantId, first, day, until], userId, pseudonym });
    await client.query(
      'update analytics.forgotten_users set usage_until = $3 where tenant_id = $1 and user_digest = $2',
      [tenantId, userDigest(tenantId, userId), day],
    );
    return { more: true, done: false };
  });
}

/**
 * Leaves the user's number in the sets of users to the pseudonym, and breaks the link between the two. A user who came
 * back on the day after gets a number of their own; later ones get it with their next run.
 */
async function finish(
  client: PoolClient,
  { tenantId, userId }: ForgottenUser,
  { until, pseudonym }: { until: Date; pseudonym: string },
): Promise<void> {
  await shareNumber(client, { tenantId, userId }, pseudonym);
  await client.query(`select set_config('gatehouse.groups', 'on', true)`);
  // The role deletes no row of a user, so this one gets a name no run has.
  await client.query('update analytics.users set user_id = $3 where tenant_id = $1 and user_id = $2', [
    tenantId,
    userId,
    `forgotten-${randomBase62(22)}`,
  ]);
  await client.query(
    `with back as (
       (select 1 from analytics.usage
        where tenant_id = $1 and user_id = $2
          and bucket > $3::timestamptz - interval '15 minutes' and bucket < $3::timestamptz + interval '1 day'
        limit 1)
       union all
       (select 1 from analytics.traces where tenant_id = $1 and user_id = $2 and ${isUnfolded} limit 1)
     ), counted as (
       update analytics.user_counters set taken = taken + 1 where tenant_id = $1 and exists (select from back)
       returning taken
     )
     insert into analytics.users (tenant_id, user_id, number) select $1, $2, taken - 1 from counted
     on conflict do nothing`,
    [tenantId, userId, until],
  );
  await client.query(
    'update analytics.forgotten_users set pseudonym = null where tenant_id = $1 and user_digest = $2',
    [tenantId, userDigest(tenantId, userId)],
  );
}

/**
 * Deletes some of the user's refused requests, and removes the user from some of the counts of them. Returns whether there
 * were any: then more may follow.
 */
async function forgetRefusals(
  client: Queryable,
  { tenantId, userId }: ForgottenUser,
  until: Date,
): Promise<boolean> {
  const values = [tenantId, userId, until];
  await client.query(turnOfRefusals);
  const deleted = await client.count(
    `delete from analytics.refused_requests where ctid = any(array(
       select ctid from analytics.refused_requests where tenant_id = $1 and user_id = $2 and refused_at <= $3
       limit ${refusedBatch}))`,
    values,
  );
  if (deleted > 0) return true;
  const groups = 'tenant_id, bucket, code, model, agent_id, channel, dialect, client, api_key_id, is_day';
  const added = await client.count(
    `with moved as (
       delete from analytics.refused_usage where ctid = any(array(
         select ctid from analytics.refused_usage where tenant_id = $1 and user_id = $2 and bucket <= $3
         limit ${refusedBatch}))
       returning ${groups}, refused
     )
     insert into analytics.refused_usage (${groups}, user_id, refused)
     select ${groups}, null, sum(refused) from moved group by ${groups}
     on conflict (${groups}, user_id) do update set refused = refused_usage.refused + excluded.refused`,
    values,
  );
  return added > 0;
}

function completedDeletions(pool: Pool): Promise<CompletedDeletion[]> {
  return pool.all<CompletedDeletion>(
    `select tenant_id as "tenantId", user_digest as digest, least(requested_at, created_at) as until
     from analytics.forgotten_users
     where pseudonym is null and created_at > now() - interval '${keepDays} days'`,
  );
}

async function* usersWithRefusals(pool: Pool, tenantId: string): AsyncGenerator<string[], void> {
  for (const table of ['analytics.refused_requests', 'analytics.refused_usage'])
    yield* usersIn(pool, table, tenantId);
}

/** In short transactions. */
async function forgetLateRefusals(pool: Pool, user: ForgottenUser, until: Date): Promise<void> {
  const forgetSome = (): Promise<boolean> =>
    withTransaction(pool, async (client) => {
      await client.query('set local statement_timeout = 450');
      return forgetRefusals(client, user, until);
    });
  while (await forgetSome());
}

async function forgetDeadLetters(pool: Pool, { tenantId, userId }: ForgottenUser): Promise<void> {
  // Quotes in texts are escaped, so only a member can look like this.
  const member = JSON.stringify({ user_id: userId }).slice(1, -1);
  for (let deleted = deadLetterBatch; deleted === deadLetterBatch;) {
    const rows = await pool.all<{ deleted: string }>(
      'select analytics.delete_dead_letters_with($1::text[], $2) as deleted',
      [[tenantId, member], deadLetterBatch],
    );
    deleted = Number(rows[0]?.deleted ?? 0);
  }
}

async function findForgotten(pool: Pool, runs: readonly UserRun[]): Promise<ReadonlySet<string>> {
  const userRuns = runs.flatMap(({ user_id: userId, ...run }) =>
    userId === null ? [] : [{ ...run, userId }],
  );
  if (userRuns.length === 0) return new Set();
  const rows = await pool.all<{ run_id: string }>({
    name: 'find_forgotten',
    text: `
      select run_id from unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::timestamptz[])
        as run (run_id, tenant_id, user_digest, started_at)
      where started_at <= (
        select least(requested_at, created_at) from analytics.forgotten_users known
        where known.tenant_id = run.tenant_id and known.user_digest = run.user_digest)`,
    values: [
      userRuns.map((run) => run.run_id),
      userRuns.map((run) => run.tenant_id),
      userRuns.map((run) => userDigest(run.tenant_id, run.userId)),
      userRuns.map((run) => run.started_at),
    ],
  });
  return new Set(rows.map((row) => row.run_id));
}

/** Late events of a user are still cleared for so long. */
export const oldDeletions: OldRows = {
  table: 'analytics.forgotten_users',
  where: `created_at < now() - interval '${keepDays} days'`,
};

/** Works on a deletion in one short transaction, one caller at a time. */
async function inProgress<Result>(
  pool: Pool,
  { tenantId, userId }: ForgottenUser,
  work: (client: PoolClient, progress: ErasureProgress) => Promise<Result>,
): Promise<Result> {
  return withTransaction(pool, async (client) => {
    await client.query('set local statement_timeout = 450');
    const progress = await client.first<ErasureProgress>(
      `select least(requested_at, created_at) as until, pseudonym, last_trace, usage_until
       from analytics.forgotten_users where tenant_id = $1 and user_digest = $2 for update`,
      [tenantId, userDigest(tenantId, userId)],
    );
    if (progress === null) throw new Error('the deletion is not noted');
    return work(client, progress);
  });
}
