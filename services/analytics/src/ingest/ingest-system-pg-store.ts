import type { DeadLetter } from '@gatehouse/events/dead-letters';
import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { isRefusal } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import { withoutTexts } from '../retention/trace-ages.ts';
import { correctEnds } from './correction-system-pg-store.ts';
import { change, columns, input, inputValues, isLate } from './ingest-pg-store.ts';
import type { IngestStore, Intake } from './ingest-system-store.ts';
import { insertRefusals } from './refusal-system-pg-store.ts';

/** `pool` acts as `analytics_system`. */
export function ingestPgStore(pool: Pool): IngestStore {
  return {
    insertIntake: async (intake) => {
      await numberUsers(pool, intake.runs);
      return insertIntake(pool, intake);
    },
    endLateRuns: (runs) => endLateRuns(pool, runs),
    correctEnds: async (runs) => {
      await numberUsers(pool, runs);
      return correctEnds(pool, runs);
    },
    insertRefusals: (refused) => insertRefusals(pool, refused),
    insertDeadLetter: (letter) => insertDeadLetter(pool, letter),
    isRefusal,
  };
}

/**
 * Assigns numbers to users without one, before runs of theirs are stored. When two replicas number the same user at
 * once, the first number stays.
 */
async function numberUsers(pool: Pool, runs: readonly (RunStarted | RunEnded)[]): Promise<void> {
  const userRuns = runs.filter((run) => run.user_id !== null);
  // One run per user is enough.
  const users = [...new Map(userRuns.map((run) => [cacheKey(run.tenant_id, run.user_id), run])).values()];
  if (users.length === 0) return;
  await pool.query({
    name: 'number_users',
    text: `
      with unknown as (
        select tenant_id, user_id from unnest($1::uuid[], $2::text[]) as wanted (tenant_id, user_id)
        where (select number from analytics.users
               where users.tenant_id = wanted.tenant_id and users.user_id = wanted.user_id) is null
      ), counted as (
        insert into analytics.user_counters as counter (tenant_id, taken)
        select tenant_id, count(*) from unknown group by tenant_id order by tenant_id
        on conflict (tenant_id) do update set taken = counter.taken + excluded.taken
        returning tenant_id, taken
      )
      insert into analytics.users (tenant_id, user_id, number)
      select tenant_id, user_id, taken - row_number() over (partition by tenant_id order by user_id)
      from unknown join counted using (tenant_id) order by tenant_id, user_id
      on conflict do nothing`,
    values: [users.map((run) => run.tenant_id), users.map((run) => run.user_id)],
  });
}

/**
 * One statement, which is one transaction; a fold adds the ends to the roll-ups. Rows are written in the order of their
 * keys, so replicas don't deadlock.
 */
async function insertIntake(pool: Pool, intake: Intake): Promise<string[]> {
  const rows = await pool.all<{ id: string }>({
    name: 'insert_intake',
    text: `
      with ${input(2)},
      -- From the ids alone: if two clauses read the runs, PostgreSQL copies them for both.
      late as (select id from unnest($2::uuid[]) as sent (id) where ${isLate('id')}),
      stored as (
        insert into analytics.traces (id, tenant_id, status, ${columns})
        select id, tenant_id, status, ${columns} from input where not ${isLate('id')} order by id
        on conflict (id) do update set ${change('excluded')}
        where traces.ended_at is null and excluded.ended_at is not null
      ), marked as (
        insert into analytics.watermarks (source, partition, partitions, watermark)
        select source, partition, partitions, watermark
        from json_to_recordset($1::json) as w (source text, partition integer, partitions integer, watermark timestamptz)
        where not exists (select from late)
        order by source, partition
        on conflict (source, partition) do update set
          partitions = excluded.partitions, watermark = greatest(watermarks.watermark, excluded.watermark)
      )
      select id from late`,
    values: [JSON.stringify(intake.watermarks), ...inputValues(intake.runs)],
  });
  return rows.map(({ id }) => id);
}

/** Creates no row, so a row deleted at the same time stays deleted. */
async function endLateRuns(pool: Pool, runs: Intake['runs']): Promise<string[]> {
  // Not a prepared statement: PostgreSQL plans for these ids and reads only their partitions.
  const rows = await pool.all<{ id: string }>(
    `with ${input(2)},
     stored as (
       update analytics.traces set ${change('input')}
       from input
       where traces.id = input.id and traces.id = any($1::uuid[]) and traces.ended_at is null
         and input.ended_at is not null
     )
     select id from input where not exists (
       select from analytics.traces where traces.id = input.id and traces.id = any($1::uuid[]))`,
    [runs.map((run) => run.run_id), ...inputValues(runs.map(withoutTexts))],
  );
  return rows.map(({ id }) => id);
}

async function insertDeadLetter(pool: Pool, letter: DeadLetter): Promise<void> {
  await pool.query({
    name: 'insert_dead_letter',
    text: `insert into analytics.dead_letters (id, origin, reason, payload) values ($1, $2, $3, $4)
           on conflict do nothing`,
    values: [letter.id, letter.origin, letter.reason, letter.payload],
  });
}
