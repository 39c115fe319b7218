import { plainArray, textArray } from '@gatehouse/pg/arrays';
import type { Pool } from '@gatehouse/pg/pool';
import { chargeOf, chargesByBudgets } from '../runs/charge.ts';
import { runEnding, withoutUser } from '../runs/run-record.ts';
import { digestOf, forgottenAfter } from '../shared/forgotten-user-store.ts';
import {
  raisingAlerts,
  showingKept,
  storingAnswers,
  withParts,
  type ExtraPart,
} from './end-parts-system-store.ts';
import { endTexts } from './logged-run.ts';
import type { EndRow } from './run-rows.ts';
import { pgJson } from '../shared/pg-json.ts';
import { maxInterrupted } from '../bounds.ts';

/**
 * Ends of runs no longer in the log of their process. Rows are selected by `id = any(ids)`, also where a join would do:
 * plans are made while the tables are small and then cached. With the condition they look the ids up; without it they
 * hash the whole table.
 */

/** Members the end of a run adds to its record, without texts. */
export function endingWithoutTexts(ending: string): string {
  return `',' || substr((('{' || substr(${ending}, 2))::jsonb
    || '{"output_preview": null, "error_message": null}')::text, 2)`;
}

/** Costs by the budgets of calls, as `chargeValues` has them. */
const byCall = `by_call as (
    select id, charges, cost_pico from unnest($4::uuid[], $5::text[], $6::bigint[]) as c (id, charges, cost_pico)
  )`;

const endingRuns = `
  with input as (
    select id, cost_pico, ending from unnest($1::uuid[], $2::bigint[], $3::text[]) as i (id, cost_pico, ending)
  ), ${byCall}, ended as (
    delete from chat.open_runs where id = any($1::uuid[])
    returning id, tenant_id, instance_id, started_at, charges, run, forgotten
  ), events as (
    insert into chat.outbox (tenant_id, run_id, started_at, ended_at, data)
    select tenant_id, id, started_at, case when pg_current_xact_id() is not null then clock_timestamp() end,
           -- The members of both objects in one, as bytes: to cut a character off, a text's are all counted.
           convert_from(substring(convert_to(run, 'UTF8') for octet_length(convert_to(run, 'UTF8')) - 1), 'UTF8')
             -- Without texts if its user was forgotten meanwhile.
             || case when forgotten then ${endingWithoutTexts('ending')} else ending end
    from ended join input using (id)
  ), charged as (
    select id, tenant_id, instance_id, coalesce(c.charges, ended.charges) as charges, c.cost_pico
    from ended join by_call as c using (id)
  ), costs as (
    insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
    select tenant_id, instance_id, charges, sum(cost_pico)
    from charged where charges is not null group by tenant_id, instance_id, charges
  ), interrupted as (
    insert into chat.interrupted_runs (id, tenant_id, instance_id, started_at, charges, cost_pico, costs)
    select id, tenant_id, instance_id, started_at, charges, cost_pico, coalesce(by_budgets.costs, '[]')
    from ended join input using (id) left join (
      select id, json_agg(json_build_object('charges', charges, 'cost_pico', cost_pico)) as costs
      from charged group by id
    ) as by_budgets using (id)
  )`;

/**
 * Ends many runs of dead processes in one statement. The first end of a run wins, since it deletes the run; returns the
 * ids ended by this call. The same transaction writes their events to the outbox, their costs for the budgets they were
 * reserved in, their alerts, and a note of these ends as estimates, for `correctEnds`. Safe to repeat.
 *
 * `ended_at` is taken once the transaction has its id: the relay's watermarks require every transaction to write no
 * earlier time.
 */
export async function insertInterruptedEnds(pool: Pool, rows: readonly EndRow[]): Promise<string[]> {
  const ends = oneOfEach(rows);
  const values: unknown[] = [
    plainArray(ends.map(({ run }) => run.run_id)),
    ends.map(({ end }) => chargeOf(end)),
    textArray(ends.map((end) => endTexts(end).text)),
    ...chargeValues(ends),
  ];
  return endWith(pool, { name: 'insert_ends', text: endingRuns, values, extra: raisingAlerts(ends) });
}

const correctingRuns = `
  with input as (
    select id, data, user_digest from unnest($1::uuid[], $2::text[], $3::bytea[]) as i (id, data, user_digest)
  ), ${byCall}, ended as (
    delete from chat.interrupted_runs where id = any($1::uuid[])
    returning id, tenant_id, instance_id, started_at, charges, cost_pico, costs
  ), events as (
    insert into chat.outbox (tenant_id, run_id, started_at, ended_at, corrects, data)
    select tenant_id, id, started_at, case when pg_current_xact_id() is not null then clock_timestamp() end, true,
           case when ${forgottenAfter('ended.tenant_id', 'input.user_digest', 'ended.started_at')} then (data::jsonb || '${withoutUser}')::text else data end
    from ended join input using (id)
  ), charged as (
    select id, tenant_id, instance_id, coalesce(c.charges, ended.charges) as charges, c.cost_pico
    from ended join by_call as c using (id)
    union all
    select id, tenant_id, instance_id, c.charges, -c.cost_pico
    from ended cross join lateral json_to_recordset(ended.costs) as c (charges text, cost_pico bigint)
    union all
    -- Noted by the previous release.
    select id, tenant_id, instance_id, charges, -coalesce(cost_pico, 0) from ended where costs is null
  ), costs as (
    insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
    select tenant_id, instance_id, charges, sum(cost_pico) from charged
    where charges is not null group by id, tenant_id, instance_id, charges having sum(cost_pico) <> 0
  )`;

/**
 * Commits exact ends of runs ended by `insertInterruptedEnds` with estimates, each once; returns the ids corrected by
 * this call. The same transaction writes an event to replace the end, the difference of the costs, which may be
 * negative, and the answers kept for repeats. Raises no alert: the first end did. Safe to repeat.
 */
export async function correctEnds(pool: Pool, rows: readonly EndRow[]): Promise<string[]> {
  const ends = oneOfEach(rows);
  const values: unknown[] = [
    plainArray(ends.map(({ run }) => run.run_id)),
    textArray(ends.map(({ run, end, attempts }) => pgJson({ ...run, ...runEnding(run, end, attempts) }))),
    ends.map(({ run }) => digestOf(run.tenant_id, run.user_id)),
    ...chargeValues(ends),
  ];
  return endWith(pool, {
    name: 'correct_ends',
    text: correctingRuns,
    values,
    extra: [...storingAnswers(ends), ...showingKept(ends)],
  });
}

/** Ids, budgets and amounts: a run whose calls were charged to several budgets has several. */
function chargeValues(ends: readonly EndRow[]): unknown[] {
  const charges = ends.flatMap(({ run, end, attempts }) =>
    chargesByBudgets(end, attempts).map((charge) => ({ id: run.run_id, ...charge })),
  );
  return [
    plainArray(charges.map(({ id }) => id)),
    charges.map((charge) => charge.charges),
    charges.map(({ costPico }) => costPico),
  ];
}

/** A second end of the same run would write a second event. */
function oneOfEach(rows: readonly EndRow[]): EndRow[] {
  return [...new Map(rows.map((row) => [row.run.run_id, row])).values()];
}

async function endWith(
  pool: Pool,
  { name, text, values, extra }: { name: string; text: string; values: unknown[]; extra: ExtraPart[] },
): Promise<string[]> {
  const result = await pool.query<{ id: string }>({
    name: [name, ...extra.map((part) => part.name)].join('_'),
    ...withParts({ text, values }, extra, 'select id from ended'),
  });
  return result.rows.map((row) => row.id);
}

const keptHours = 24;
const deletedAtOnce = 10_000;

/**
 * Deletes old notes of `insertInterruptedEnds`, with runs which can't be corrected any more. True when there may be
 * more.
 */
export async function deleteOldInterrupted(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from chat.interrupted_runs where id = any (array (
       select id from chat.interrupted_runs
       where interrupted_at < greatest(
         now() - interval '${keptHours} hours',
         (select interrupted_at from chat.interrupted_runs order by interrupted_at desc offset ${maxInterrupted} limit 1))
       order by interrupted_at limit ${deletedAtOnce}))`,
  );
  return rowCount === deletedAtOnce;
}
