import { plainArray, textArray } from '@gatehouse/pg/arrays';
import { withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { isDatabaseOutage, isRolledBack, wrapUnlessRefused } from '@gatehouse/pg/errors';
import type { TimedQuery } from '@gatehouse/pg/patient-client';
import { AppError } from '@gatehouse/kit/errors';
import { longestEntry, refusalOf, withParts, type ExtraPart } from './end-parts-system-store.ts';
import type { LoggedEnd, LoggedStart, WrittenLate } from './logged-run.ts';
import { forgottenAmong, lateValues } from './logged-users-system-store.ts';
import { commitPatienceMs } from '../bounds.ts';

/** Log of runs: `chat.run_log`, one row for each group committed by an instance. */

/** Nothing was written: there was no connection. */
export class NothingWrittenError extends AppError {
  constructor(cause?: unknown) {
    super('database_unavailable', 'The request could not be recorded. Try again shortly.', {
      cause,
      headers: { 'retry-after': '1' },
    });
  }
}

export interface LogRow {
  instanceId: string;
  sequence: number;
  /** Rows up to this one have nothing left to publish. */
  published: number;
  starts: readonly LoggedStart[];
  ends: readonly LoggedEnd[];
  late: readonly WrittenLate[];
  /** Further statements of the same transaction. */
  parts: readonly ExtraPart[];
}

export type Appended =
  /** `at`: ISO 8601, of the present row; `again` if an earlier try had written it. */
  | { outcome: 'written'; at: string; again: boolean }
  /** The instance was declared dead: it may end runs, but not start any. */
  | { outcome: 'dead' }
  /** Another instance has taken over the log. */
  | { outcome: 'taken' }
  /** Users of these runs were forgotten: write them without texts. */
  | { outcome: 'forgotten'; ids: ReadonlySet<string> };

const iso = (time: string): string => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** `late`: whether there are runs written late; their values begin at `$14`. */
const appending = (late: boolean): string => `
  with instance as (
    select id, dead_at from chat.instances where id = $1 and log_taken_at is null for share
  ), ${late ? `forgotten as (${forgottenAmong(14)}), ` : ''}appended as (
    insert into chat.run_log (instance_id, sequence, published, written_at, start_ids, tenant_ids, started_at, charges,
                              runs, attempts, end_ids, endings, publishes)
    select id, $2, $3, case when pg_current_xact_id() is not null then clock_timestamp() end,
           $4::uuid[], $5::uuid[], $6::timestamptz[], $7::text[], $8::text[], $9::text[], $10::uuid[], $11::text[], $12
    from instance
    where (dead_at is null or $13) ${late ? 'and not exists (select from forgotten)' : ''}
      -- A server that hung may carry out a statement long after another row has its number, or a later one.
      and not exists (select from chat.run_log l where l.instance_id = $1 and l.sequence >= $2)
    on conflict do nothing
    returning instance_id, written_at
  ), ended as (
    select e.id from appended cross join unnest($10::uuid[]) as e (id)
  )`;

const answering = (late: boolean): string => `
  select (select ${iso('written_at')} from appended) as at, (select dead_at is not null from instance) as dead,
         ${late ? 'array (select id from forgotten)' : `'{}'::uuid[]`} as forgotten`;

/**
 * Commits a row, which is one transaction with its parts. The lock on the instance's row prevents a declaration of the
 * instance as dead, or the takeover of its log, before the commit. Safe to repeat under the same sequence: then the
 * first committed one counts. Throws `NothingWrittenError` without a connection; after another outage the row may be
 * there, or be written later by a hanging server.
 */
export async function appendRow(pool: Pool, row: LogRow): Promise<Appended> {
  const { instanceId, sequence, starts, ends, late } = row;
  const hasLate = late.length > 0;
  const values: unknown[] = [
    instanceId,
    sequence,
    row.published,
    ...startValues(starts),
    plainArray(ends.map(({ id }) => id)),
    textArray(ends.map(({ ending }) => ending)),
    ends.some(({ ending }) => ending !== null),
    starts.every(({ startedAt }) => startedAt !== null),
    ...(hasLate ? lateValues(late) : []),
  ];
  const answer = await queryOnce<AppendRow>(pool, {
    // PostgreSQL cuts names at 63 bytes.
    name: `append_row ${hasLate ? 'late ' : ''}${row.parts.map(({ name }) => name.slice(0, 2)).join('')}`,
    giveUpAfterMs: commitPatienceMs,
    ...withParts({ text: appending(hasLate), values }, row.parts, answering(hasLate)),
  });
  if (answer === undefined || answer.dead === null) return { outcome: 'taken' };
  if (answer.at !== null) return { outcome: 'written', at: answer.at, again: false };
  if (answer.forgotten.length > 0) return { outcome: 'forgotten', ids: new Set(answer.forgotten) };
  const at = await writtenAt(pool, instanceId, sequence);
  return at === null ? { outcome: 'dead' } : { outcome: 'written', at, again: true };
}

interface AppendRow {
  at: string | null;
  /** Null without a row of the instance. */
  dead: boolean | null;
  forgotten: string[];
}

/** When the row was committed; null if it was not. */
async function writtenAt(pool: Pool, instanceId: string, sequence: number): Promise<string | null> {
  const { rows } = await pool.query<{ at: string }>(
    `select ${iso('written_at')} as at from chat.run_log where instance_id = $1 and sequence = $2`,
    [instanceId, sequence],
  );
  return rows[0]?.at ?? null;
}

function startValues(starts: readonly LoggedStart[]): unknown[] {
  return [
    plainArray(starts.map(({ id }) => id)),
    plainArray(starts.map(({ tenantId }) => tenantId)),
    starts.map(({ startedAt }) => startedAt),
    textArray(starts.map(({ charges }) => charges)),
    textArray(starts.map(({ run }) => run)),
    textArray(starts.map(({ attempts }) => attempts)),
  ];
}

/** Deletes the rows of the instance up to `sequence`, in the transaction of the row with the rest of them. */
export function trimmingTo(sequence: number): ExtraPart {
  const text = (first: number) => `, trimmed as (
    delete from chat.run_log l using appended
    where l.instance_id = appended.instance_id and l.instance_id = $1 and l.sequence <= $${first}
  )`;
  return { name: 'trim', text, values: [sequence] };
}

/** Runs given up by the log: a reaper ends them, as those of a dead process. */
export function givingUp(starts: readonly LoggedStart[]): ExtraPart[] {
  if (starts.length === 0) return [];
  const text = (first: number) => `, given_up as (
    insert into chat.open_runs (id, tenant_id, instance_id, started_at, charges, run, attempts)
    select g.id, g.tenant_id, appended.instance_id, coalesce(g.started_at, now()), g.charges, g.run, g.attempts
    from appended, unnest($${first}::uuid[], $${first + 1}::uuid[], $${first + 2}::timestamptz[], $${first + 3}::text[],
                          $${first + 4}::text[], $${first + 5}::text[])
      as g (id, tenant_id, started_at, charges, run, attempts)
    on conflict do nothing
  )`;
  return [{ name: 'given_up', text, values: startValues(starts) }];
}

/** Ends the log of an instance stopping in order, with nothing left to publish: nothing can be added to it. */
export async function closeLog(pool: Pool, instanceId: string): Promise<void> {
  await pool.query(
    `with closed as (update chat.instances set log_taken_at = now() where id = $1 and log_taken_at is null)
     delete from chat.run_log where instance_id = $1`,
    [instanceId],
  );
}

/** Dead or vanished instances with a log left. */
export async function findLeftLogs(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ instance_id: string }>(
    // Walks from instance to instance: a log may have thousands of rows.
    `with recursive logs as (
       (select instance_id from chat.run_log order by instance_id limit 1)
       union all
       select next.instance_id from logs cross join lateral (
         select instance_id from chat.run_log l where l.instance_id > logs.instance_id order by instance_id limit 1
       ) next
     )
     select instance_id from logs
     where not exists (select from chat.instances i where i.id = logs.instance_id and i.dead_at is null)`,
  );
  return rows.map((row) => row.instance_id);
}

/**
 * Takes over the log of a dead instance: moves its runs under way to `open_runs`, for the reaper, and the unpublished
 * ends to the outbox, and deletes it. Returns the runs made dead letters because those tables refuse them, and null if
 * another call took it over.
 */
export async function takeOverLog(pool: Pool, instanceId: string): Promise<readonly string[] | null> {
  return withTransaction(pool, async (client) => {
    // A statement of its own: the next one must see what was committed until this lock was granted.
    await client.query(
      'update chat.instances set log_taken_at = now() where id = $1 and dead_at is not null and log_taken_at is null',
      [instanceId],
    );
    // So must it see what a deletion of a user has changed. If two take over at once, the second finds nothing.
    const { rowCount } = await client.query('select from chat.run_log where instance_id = $1 for update', [
      instanceId,
    ]);
    if (rowCount === 0) return null;
    const refused = await moveRuns(client, instanceId, null);
    await client.query('delete from chat.run_log where instance_id = $1', [instanceId]);
    return refused;
  });
}

const movedRuns = `
  select id, tenant_id, instance_id, started_at, charges, run, attempts, ended, ended_at, ending
  from chat.logged_runs where instance_id = $1 and ($2::uuid[] is null or id = any($2::uuid[]))`;

/** Moves these runs of a log, or all. Halves them if one is refused, until it is alone. Returns the refused ones. */
async function moveRuns(client: Queryable, instanceId: string, ids: string[] | null): Promise<string[]> {
  await client.query('savepoint moving');
  try {
    await client.query(
      `with runs as (${movedRuns}), open as (
         insert into chat.open_runs (id, tenant_id, instance_id, started_at, charges, run, attempts)
         select id, tenant_id, instance_id, started_at, charges, run, attempts from runs where not ended
         on conflict do nothing
       )
       insert into chat.outbox (tenant_id, run_id, started_at, ended_at, data)
       select tenant_id, id, started_at, ended_at, left(run, -1) || ending from runs where ending is not null`,
      [instanceId, ids],
    );
    return [];
  } catch (error) {
    if (isDatabaseOutage(error) || isRolledBack(error)) throw error;
    await client.query('rollback to savepoint moving');
    const some = ids ?? (await loggedIds(client, instanceId));
    if (some.length > 1) {
      const middle = some.length >> 1;
      const first = await moveRuns(client, instanceId, some.slice(0, middle));
      return [...first, ...(await moveRuns(client, instanceId, some.slice(middle)))];
    }
    await client.query(
      `insert into chat.outbox_dead_letters (tenant_id, reason, entry)
       select tenant_id, $3,
              left(json_build_object('tenant_id', tenant_id, 'run_id', id, 'started_at', started_at, 'ended_at', ended_at,
                                     'data', left(run, -1) || coalesce(ending, '}'))::text, ${longestEntry})
       from (${movedRuns}) as runs`,
      [instanceId, some, refusalOf(error)],
    );
    return some;
  }
}

async function loggedIds(client: Queryable, instanceId: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'select id from chat.logged_runs where instance_id = $1 and (not ended or ending is not null)',
    [instanceId],
  );
  return rows.map(({ id }) => id);
}

/** `pool.query`, but throws `NothingWrittenError` without a connection; after other errors the outcome is unknown. */
async function queryOnce<Row extends object>(pool: Pool, query: TimedQuery): Promise<Row | undefined> {
  const client = await pool.connect().catch((error: unknown) => {
    throw isDatabaseOutage(error) ? new NothingWrittenError(error) : error;
  });
  let failed = true;
  try {
    const { rows } = await client.query<Row>(query);
    failed = false;
    return rows[0];
  } catch (error) {
    return wrapUnlessRefused(error);
  } finally {
    client.release(failed);
  }
}
