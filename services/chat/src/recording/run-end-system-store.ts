import { entryPartition } from '@gatehouse/events/store/entry-outbox';
import { userDigest } from '@gatehouse/kit/user-digest';
import { idArray, textArray } from '@gatehouse/pg/arrays';
import type { Pool } from '@gatehouse/pg/pool';
import { runEnding } from '../runs/run-record.ts';
import type { MadeSeal } from '../providers/run-seals.ts';
import type { EndRow } from './run-rows.ts';
import { pgJson } from './pg-json-statements.ts';

/** The ends of runs. Rows are selected by `id = any(ids)`, as in `run-system-store.ts`. */

/** The members that the end of a run adds to its record; without texts if its user was forgotten meanwhile. */
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

/** Responses that were written before: see `insertResponse`. */
function showingKept(ends: readonly EndRow[]): ExtraPart[] {
  if (!ends.some(({ keeps }) => keeps === true)) return [];
  const text = (first: number) => `, kept as (
    update chat.responses r set ready = true, expires_at = created_at + make_interval(days => days)
    from ended where r.id = ended.id and r.id = any($${first}::uuid[])
  )`;
  const values = [idArray(ends.filter(({ keeps }) => keeps === true).map(({ run }) => run.run_id))];
  return [{ name: 'kept', text, values }];
}

/** The makers of seals, each once: providers make no two that are the same. */
function keepingSeals(ends: readonly EndRow[]): ExtraPart[] {
  const made = new Map<string, MadeSeal & { run: EndRow['run'] }>();
  for (const { run, seals = [] } of ends)
    for (const seal of seals) made.set(`${run.tenant_id} ${seal.digest.toString('hex')}`, { ...seal, run });
  if (made.size === 0) return [];
  // In one order, so that two groups with the same seals can't deadlock.
  const rows = [...made].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, seal]) => seal);
  const text = (first: number) => `, seals as (
    insert into chat.seals (tenant_id, digest, maker, user_id)
    select ended.tenant_id, s.digest, s.maker, s.user_id
    from unnest($${first}::uuid[], $${first + 1}::bytea[], $${first + 2}::text[], $${first + 3}::text[])
      as s (run_id, digest, maker, user_id)
      join ended on ended.id = s.run_id
    where not ended.forgotten
    on conflict do nothing
  )`;
  const values = [
    idArray(rows.map(({ run }) => run.run_id)),
    rows.map(({ digest }) => digest),
    textArray(rows.map(({ maker }) => maker)),
    rows.map(({ run }) => run.user_id),
  ];
  return [{ name: 'seals', text, values }];
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
 * were reserved in, their alerts, the answers that are kept for repeats, and the makers of seals. Safe to repeat.
 *
 * `ended_at` is taken once the transaction has its id: the relay's watermarks require that no transaction writes an
 * earlier time.
 */
export async function insertEnds(pool: Pool, rows: readonly EndRow[]): Promise<string[]> {
  return writeEnds(pool, rows, []);
}

/** The same for runs whose process is taken for dead: notes that these ends are estimates, for `correctEnds`. */
export async function insertInterruptedEnds(pool: Pool, rows: readonly EndRow[]): Promise<string[]> {
  const text = () => `, interrupted as (
    insert into chat.interrupted_runs (id, tenant_id, instance_id, started_at, charges, cost_pico)
    select id, tenant_id, instance_id, started_at, charges, cost_pico from ended join input using (id)
  )`;
  return writeEnds(pool, rows, [{ name: 'interrupted', text, values: [] }]);
}

async function writeEnds(
  pool: Pool,
  rows: readonly EndRow[],
  further: readonly ExtraPart[],
): Promise<string[]> {
  const ends = oneOfEach(rows);
  const values: unknown[] = [
    idArray(ends.map(({ run }) => run.run_id)),
    ends.map(({ end }) => end.cost.costPico),
    textArray(ends.map(({ run, end, attempts }) => `,${pgJson(runEnding(run, end, attempts)).slice(1)}`)),
  ];
  const extra = [
    ...storingAnswers(ends),
    ...showingKept(ends),
    ...keepingSeals(ends),
    ...raisingAlerts(ends),
  ];
  extra.push(...further);
  return endWith(pool, { name: 'insert_ends', text: endingRuns, values, extra });
}

const withoutUser = '{"user_id": null, "input_preview": null, "output_preview": null, "error_message": null}';

const correctingRuns = `
  with input as (
    select id, cost_pico, data, user_digest
    from unnest($1::uuid[], $2::bigint[], $3::text[], $4::bytea[]) as i (id, cost_pico, data, user_digest)
  ), ended as (
    delete from chat.interrupted_runs where id = any($1::uuid[])
    returning id, tenant_id, instance_id, started_at, charges, cost_pico as charged_pico
  ), events as (
    insert into chat.outbox (tenant_id, run_id, started_at, ended_at, corrects, data)
    select tenant_id, id, started_at, case when pg_current_xact_id() is not null then clock_timestamp() end, true,
           case when exists (
             select from chat.forgotten_users f
             where f.tenant_id = ended.tenant_id and f.user_digest = input.user_digest
               and ended.started_at <= least(f.requested_at, f.created_at)
           ) then (data::jsonb || '${withoutUser}')::text else data end
    from ended join input using (id)
  ), costs as (
    insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
    select tenant_id, instance_id, charges, coalesce(cost_pico, 0) - coalesce(charged_pico, 0)
    from ended join input using (id)
    where charges is not null and coalesce(cost_pico, 0) <> coalesce(charged_pico, 0)
  )`;

/**
 * Commits exact ends of runs that `insertInterruptedEnds` has ended with estimates, each once; returns the ids of those
 * that this call corrected. The same transaction writes an event that replaces the end, the difference of the costs,
 * which may be negative, and the answers that are kept for repeats. Raises no alert: the first end did. Safe to repeat.
 */
export async function correctEnds(pool: Pool, rows: readonly EndRow[]): Promise<string[]> {
  const ends = oneOfEach(rows);
  const values: unknown[] = [
    idArray(ends.map(({ run }) => run.run_id)),
    ends.map(({ end }) => end.cost.costPico),
    textArray(ends.map(({ run, end, attempts }) => pgJson({ ...run, ...runEnding(run, end, attempts) }))),
    ends.map(({ run }) => (run.user_id === null ? null : userDigest(run.tenant_id, run.user_id))),
  ];
  return endWith(pool, {
    name: 'correct_ends',
    text: correctingRuns,
    values,
    extra: [...storingAnswers(ends), ...showingKept(ends)],
  });
}

/** A second end of the same run would write a second event. */
function oneOfEach(rows: readonly EndRow[]): EndRow[] {
  return [...new Map(rows.map((row) => [row.run.run_id, row])).values()];
}

async function endWith(
  pool: Pool,
  { name, text, values, extra }: { name: string; text: string; values: unknown[]; extra: ExtraPart[] },
): Promise<string[]> {
  const parts = extra.map((part) => {
    const first = values.length + 1;
    values.push(...part.values);
    return part.text(first);
  });
  const result = await pool.query<{ id: string }>({
    name: [name, ...extra.map((part) => part.name)].join('_'),
    text: `${text}${parts.join('')} select id from ended`,
    values,
  });
  return result.rows.map((row) => row.id);
}

const keptHours = 24;
/** Beyond this number the oldest are deleted. */
const maxKept = 100_000;
const deletedAtOnce = 10_000;

/** Deletes old notes of `insertInterruptedEnds`, whose runs can't be corrected any more. True when there may be more. */
export async function deleteOldInterrupted(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from chat.interrupted_runs where id = any (array (
       select id from chat.interrupted_runs
       where interrupted_at < greatest(
         now() - interval '${keptHours} hours',
         (select interrupted_at from chat.interrupted_runs order by interrupted_at desc offset ${maxKept} limit 1))
       order by interrupted_at limit ${deletedAtOnce}))`,
  );
  return rowCount === deletedAtOnce;
}
