import type { NewAlert } from '@gatehouse/events/alert-event';
import { entryPartition } from '@gatehouse/events/store/entry-outbox';
import { AppError } from '@gatehouse/kit/errors';
import { idArray, textArray } from '@gatehouse/pg/arrays';
import { isDatabaseOutage, wrapUnlessRefused } from '@gatehouse/pg/errors';
import type { TimedQuery } from '@gatehouse/pg/patient-client';
import type { Pool } from '@gatehouse/pg/pool';
import { toPgText } from '@gatehouse/pg/text';
import { keptAttempt, runEnding, type KeptAttempts, type StartedRun } from '../runs/run-record.ts';
import type { Attempt, AttemptStart, BudgetCharge, RunEnd, StoredAnswer } from '../runs/run.ts';

/*
 * Rows are selected by `id = any(ids)`, also where a join would do: plans are made while the tables are small and then
 * cached. With the condition they look the ids up; without it they hash the whole table.
 */

/** One provider call about to be made. The first one also starts the run. */
export interface StartRow {
  run: StartedRun;
  /** Null when no budget is set. */
  charges: readonly BudgetCharge[] | null;
  attempt: AttemptStart;
  /** The calls before this one. */
  ended: readonly Attempt[];
}

export interface EndRow {
  run: StartedRun;
  end: RunEnd;
  attempts: readonly Attempt[];
  answer?: StoredAnswer | undefined;
  alerts?: readonly NewAlert[] | undefined;
}

/** Nothing was written: the run or the instance of a start is gone, or there was no connection. */
export class NothingWrittenError extends AppError {
  constructor(cause?: unknown) {
    super('database_unavailable', 'The request could not be recorded. Try again shortly.', {
      cause,
      headers: { 'retry-after': '1' },
    });
  }
}

export interface WrittenStarts {
  /** False, and nothing was written, when the instance was declared dead meanwhile. */
  alive: boolean;
  /** Runs whose further call was not written because they have ended or are another instance's. */
  refused: ReadonlySet<string>;
}

/** A start takes a millisecond. Without a database, the client gets its error after this time. */
const patienceMs = 3_000;

/**
 * Commits the starts of many requests in one statement, which is one transaction. The lock on the instance's row prevents
 * that it is declared dead before the commit, so that the reaper finds all its runs. Throws `NothingWrittenError` without
 * a connection. After any other error the rows may exist, or be written later by a server that hung.
 */
export async function insertStarts(
  pool: Pool,
  instanceId: string,
  rows: readonly StartRow[],
): Promise<WrittenStarts> {
  const first = rows.filter(({ attempt }) => attempt.number === 1);
  const further = rows.filter(({ attempt }) => attempt.number > 1);
  const furtherIds = further.map(({ run }) => run.run_id);
  const row = await queryOnce<{ alive: boolean; continued: string[] }>(pool, {
    name: 'insert_starts',
    giveUpAfterMs: patienceMs,
    text: `
      with alive as (
        select id from chat.instances where id = $1 and dead_at is null for share
      ), begun as (
        insert into chat.open_runs (id, tenant_id, instance_id, charges, run, attempts)
        select i.id, i.tenant_id, alive.id, i.charges, i.run, i.attempts
        from alive, unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[])
          as i (id, tenant_id, charges, run, attempts)
      ), continued as (
        update chat.open_runs r set attempts = i.attempts
        from alive, unnest($7::uuid[], $8::text[]) as i (id, attempts)
        where r.id = i.id and r.instance_id = alive.id and r.id = any($7::uuid[])
        returning r.id
      )
      select exists (select from alive) as alive, array (select id from continued) as continued`,
    values: [
      instanceId,
      idArray(first.map(({ run }) => run.run_id)),
      idArray(first.map(({ run }) => run.tenant_id)),
      textArray(first.map(({ charges }) => (charges === null ? null : pgJson(charges)))),
      textArray(first.map(({ run }) => pgJson(run))),
      textArray(first.map(keptAttempts)),
      idArray(furtherIds),
      textArray(further.map(keptAttempts)),
    ],
  });
  const continued = new Set(row?.continued);
  return { alive: row?.alive === true, refused: new Set(furtherIds.filter((id) => !continued.has(id))) };
}

function keptAttempts({ attempt, ended }: StartRow): string {
  const kept: KeptAttempts = { ended: ended.map(keptAttempt), open: attempt };
  return pgJson(kept);
}

/** Writes start events for those of the runs that are under way. The end of such a run waits, so that its event is later. */
export async function insertOpen(pool: Pool, runIds: readonly string[]): Promise<void> {
  await pool.query({
    name: 'insert_open',
    text: `
      insert into chat.outbox (tenant_id, run_id, started_at, data)
      select tenant_id, id, started_at, run from chat.open_runs where id = any($1::uuid[]) for share`,
    values: [runIds],
  });
}

/** `pool.query` that throws `NothingWrittenError` without a connection; after other errors the outcome is unknown. */
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

/** What the end of a run adds to its record; without texts if its user was forgotten meanwhile. */
const endingOf = `case when forgotten
  then ',' || substr((('{' || substr(ending, 2))::jsonb || '{"output_preview": null, "error_message": null}')::text, 2)
  else ending end`;

const endingRuns = `
  with input as (
    select id, cost_pico, ending from unnest($1::uuid[], $2::bigint[], $3::text[]) as i (id, cost_pico, ending)
  ), ended as (
    delete from chat.open_runs where id = any($1::uuid[])
    returning id, tenant_id, instance_id, started_at, charges, run, forgotten
  ), events as (
    insert into chat.outbox (tenant_id, run_id, started_at, ended_at, data)
    select tenant_id, id, started_at, case when pg_current_xact_id() is not null then clock_timestamp() end,
           -- The members of both objects in one, as bytes: to cut a character off, a text's are all counted.
           convert_from(substring(convert_to(run, 'UTF8') for octet_length(convert_to(run, 'UTF8')) - 1), 'UTF8')
             || ${endingOf}
    from ended join input using (id)
  ), costs as (
    insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
    select tenant_id, instance_id, charges, coalesce(sum(cost_pico), 0)
    from ended join input using (id) where charges is not null group by tenant_id, instance_id, charges
  )`;

/** A part of the statement that few groups need; its parameters begin at `first`. */
interface ExtraPart {
  name: string;
  text: (first: number) => string;
  values: unknown[];
}

/** A claim that was taken over, or forgotten, stores nothing. */
function storingAnswers(ends: readonly EndRow[]): ExtraPart[] {
  const answers = ends.flatMap(({ run, answer }) => (answer === undefined ? [] : [{ run, ...answer }]));
  if (answers.length === 0) return [];
  const text = (first: number) => `, answered as (
    update chat.completions c set answer = kept.answer, expires_at = now() + interval '24 hours'
    from unnest($${first}::uuid[], $${first + 1}::uuid[], $${first + 2}::bytea[]) as kept (run_id, claim_id, answer)
      join ended on ended.id = kept.run_id
    where c.claim_id = kept.claim_id and c.claim_id = any($${first + 1}::uuid[]) and c.answer is null
  )`;
  const values = [
    answers.map(({ run }) => run.run_id),
    answers.map(({ claimId }) => claimId),
    answers.map(({ sealed }) => sealed),
  ];
  return [{ name: 'answers', text, values }];
}

function raisingAlerts(ends: readonly EndRow[]): ExtraPart[] {
  const raised = ends.flatMap(({ run, alerts = [] }) => alerts.map((alert) => ({ run, alert })));
  if (raised.length === 0) return [];
  const text = (first: number) => `, alerts as (
    insert into chat.alert_outbox (partition, tenant_id, entry)
    select a.partition, a.tenant_id, a.entry::json
    from unnest($${first}::uuid[], $${first + 1}::integer[], $${first + 2}::uuid[], $${first + 3}::text[])
      as a (run_id, partition, tenant_id, entry)
      join ended on ended.id = a.run_id
  )`;
  const values = [
    raised.map(({ run }) => run.run_id),
    raised.map(({ alert }) => entryPartition(alert.tenant_id)),
    raised.map(({ alert }) => alert.tenant_id),
    textArray(raised.map(({ alert }) => pgJson(alert))),
  ];
  return [{ name: 'alerts', text, values }];
}

/**
 * Commits the ends of many runs in one statement. The first end of a run wins, since it deletes the run; returns the ids
 * that this call ended. The same transaction writes their events to the outbox, their costs for the budgets that they
 * were reserved in, their alerts, and the answers that are kept for repeats. Safe to repeat.
 *
 * `ended_at` is taken once the transaction has its id: the relay's watermarks require that no transaction writes an
 * earlier time.
 */
export async function insertEnds(pool: Pool, rows: readonly EndRow[]): Promise<string[]> {
  // One of each: a second end of the same run would write a second event.
  const ends = [...new Map(rows.map((row) => [row.run.run_id, row])).values()];
  const values: unknown[] = [
    idArray(ends.map(({ run }) => run.run_id)),
    ends.map(({ end }) => end.cost.costPico),
    textArray(ends.map(({ run, end, attempts }) => `,${pgJson(runEnding(run, end, attempts)).slice(1)}`)),
  ];
  const extra = [...storingAnswers(ends), ...raisingAlerts(ends)];
  let text = endingRuns;
  for (const part of extra) {
    text += part.text(values.length + 1);
    values.push(...part.values);
  }
  const result = await pool.query<{ id: string }>({
    name: ['insert_ends', ...extra.map(({ name }) => name)].join('_'),
    text: `${text} select id from ended`,
    values,
  });
  return result.rows.map((row) => row.id);
}

/** JSON that PostgreSQL can hold, whatever the texts of a prompt are. */
function pgJson(value: unknown): string {
  const text = JSON.stringify(value);
  // JSON.stringify writes both NUL and lone surrogates as \u escapes, so their absence proves the text clean.
  if (!/\\u(0000|d[89a-f])/.test(text)) return text;
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'string' ? toPgText(member) : member,
  );
}
