import { AppError } from '@gatehouse/kit/errors';
import { idArray, textArray } from '@gatehouse/pg/arrays';
import { isDatabaseOutage, wrapUnlessRefused } from '@gatehouse/pg/errors';
import type { TimedQuery } from '@gatehouse/pg/patient-client';
import type { Pool } from '@gatehouse/pg/pool';
import { keptAttempt, type KeptAttempts } from '../runs/run-record.ts';
import type { StartRow } from './run-rows.ts';
import { pgJson } from './pg-json-statements.ts';

/*
 * Rows are selected by `id = any(ids)`, also where a join would do: plans are made while the tables are small and then
 * cached. With the condition they look the ids up; without it they hash the whole table.
 */

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
