import { entryPartition } from '@gatehouse/events/store/entry-outbox';
import { plainArray, textArray } from '@gatehouse/pg/arrays';
import type { NewSignature } from '../providers/signature-origins.ts';
import { pgJson } from '../shared/pg-json.ts';
import type { EndRow } from './run-rows.ts';

/** Further parts of the transaction ending runs. Each reads the ended runs from `ended (id)`. */

/** A part of the statement needed by few groups; its parameters begin at `first`. */
export interface ExtraPart {
  name: string;
  text: (first: number) => string;
  values: unknown[];
}

/** A statement with further parts before its last words. */
export function withParts(
  { text, values }: { text: string; values: readonly unknown[] },
  parts: readonly ExtraPart[],
  last: string,
): { text: string; values: unknown[] } {
  const all = [...values];
  const texts = parts.map((part) => {
    const first = all.length + 1;
    all.push(...part.values);
    return part.text(first);
  });
  return { text: `${text}${texts.join('')} ${last}`, values: all };
}

/** A claim taken over, or forgotten, stores nothing. */
export function storingAnswers(ends: readonly EndRow[]): ExtraPart[] {
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

/** Responses written before: see `insertResponse`. */
export function showingKept(ends: readonly EndRow[]): ExtraPart[] {
  if (!ends.some(({ keeps }) => keeps === true)) return [];
  const text = (first: number) => `, kept as (
    update chat.responses r set ready = true, expires_at = created_at + make_interval(days => days)
    from ended where r.id = ended.id and r.id = any($${first}::uuid[])
  )`;
  const values = [plainArray(ends.filter(({ keeps }) => keeps === true).map(({ run }) => run.run_id))];
  return [{ name: 'kept', text, values }];
}

/** Origins of signatures, each once: providers make no two equal ones. `startedAt` of runs: ISO 8601. */
export function keepingOrigins(ends: readonly (EndRow & { startedAt: string })[]): ExtraPart[] {
  const made = new Map<string, NewSignature & Pick<(typeof ends)[number], 'run' | 'startedAt'>>();
  for (const { run, startedAt, signatures = [] } of ends)
    for (const signature of signatures)
      made.set(`${run.tenant_id} ${signature.digest.toString('hex')}`, { ...signature, run, startedAt });
  if (made.size === 0) return [];
  // In one order, so two groups with the same signatures can't deadlock.
  const rows = [...made].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, signature]) => signature);
  const text = (first: number) => `, signatures as (
    insert into chat.seals (tenant_id, digest, maker, user_id, created_at)
    select s.tenant_id, s.digest, s.origin, s.user_id, coalesce(s.started_at, now())
    from unnest($${first}::uuid[], $${first + 1}::uuid[], $${first + 2}::bytea[], $${first + 3}::text[],
                $${first + 4}::text[], $${first + 5}::timestamptz[])
      as s (run_id, tenant_id, digest, origin, user_id, started_at)
      join ended on ended.id = s.run_id
    on conflict do nothing
  )`;
  const values = [
    plainArray(rows.map(({ run }) => run.run_id)),
    plainArray(rows.map(({ run }) => run.tenant_id)),
    rows.map(({ digest }) => digest),
    textArray(rows.map(({ origin }) => origin)),
    rows.map(({ run }) => run.user_id),
    rows.map(({ startedAt }) => (startedAt === '' ? null : startedAt)),
  ];
  return [{ name: 'signatures', text, values }];
}

export function raisingAlerts(ends: readonly EndRow[]): ExtraPart[] {
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

/** A cost for the budgets its run was reserved in. */
export interface ChargedCost {
  runId: string;
  tenantId: string;
  charges: string;
  costPico: bigint;
}

/** Costs reserved by the instance `$1`, summed by tenant and budgets. */
export function chargingCosts(costs: readonly ChargedCost[]): ExtraPart[] {
  if (costs.length === 0) return [];
  const text = (first: number) => `, costs as (
    insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
    select c.tenant_id, $1, c.charges, sum(c.cost_pico)
    from unnest($${first}::uuid[], $${first + 1}::uuid[], $${first + 2}::text[], $${first + 3}::bigint[])
      as c (run_id, tenant_id, charges, cost_pico)
      join ended on ended.id = c.run_id
    group by c.tenant_id, c.charges
  )`;
  const values = [
    plainArray(costs.map(({ runId }) => runId)),
    plainArray(costs.map(({ tenantId }) => tenantId)),
    textArray(costs.map(({ charges }) => charges)),
    costs.map(({ costPico }) => costPico),
  ];
  return [{ name: 'costs', text, values }];
}

/** An event about a run for the outbox. */
export interface WaitingEvent {
  runId: string;
  tenantId: string;
  /** ISO 8601, like `endedAt`. */
  startedAt: string;
  /** `now`: the run ends in this transaction; null for a start event. */
  endedAt: string | null;
  /** JSON: the event's data without the times. */
  data: string;
}

/** Events of the row written by `appended`. */
export function writingEvents(events: readonly WaitingEvent[]): ExtraPart[] {
  if (events.length === 0) return [];
  const text = (first: number) => `, events as (
    insert into chat.outbox (tenant_id, run_id, started_at, ended_at, data)
    select e.tenant_id, e.run_id, e.started_at, case when e.ends_now then appended.written_at else e.ended_at end, e.data
    from appended, unnest($${first}::uuid[], $${first + 1}::uuid[], $${first + 2}::timestamptz[],
                          $${first + 3}::timestamptz[], $${first + 4}::boolean[], $${first + 5}::text[])
      as e (tenant_id, run_id, started_at, ended_at, ends_now, data)
  )`;
  const values = [
    plainArray(events.map(({ tenantId }) => tenantId)),
    plainArray(events.map(({ runId }) => runId)),
    events.map(({ startedAt }) => startedAt),
    events.map(({ endedAt }) => (endedAt === 'now' ? null : endedAt)),
    events.map(({ endedAt }) => endedAt === 'now'),
    textArray(events.map(({ data }) => data)),
  ];
  return [{ name: 'events', text, values }];
}

/** Characters of a dead letter: see `OutboxTable`. */
export const longestEntry = 2_000_000;

/** The reason of a dead letter. */
export function refusalOf(error: unknown): string {
  return `refused by the database: ${error instanceof Error ? error.message : String(error)}`;
}

/** Dead letters in place of events the outbox refuses. */
export function deadLettering(events: readonly WaitingEvent[], reason: string): ExtraPart[] {
  if (events.length === 0) return [];
  const text = (first: number) => `, dead_letters as (
    insert into chat.outbox_dead_letters (tenant_id, reason, entry)
    select e.tenant_id, $${first}::text, e.entry
    from appended, unnest($${first + 1}::uuid[], $${first + 2}::text[]) as e (tenant_id, entry)
  )`;
  const tenantIds = plainArray(events.map(({ tenantId }) => tenantId));
  return [{ name: 'dead_letters', text, values: [reason, tenantIds, textArray(events.map(entryOf))] }];
}

/** The refused row, as JSON. */
function entryOf({ tenantId, runId, startedAt, endedAt, data }: WaitingEvent): string {
  const row = { tenant_id: tenantId, run_id: runId, started_at: startedAt, ended_at: endedAt, data };
  return JSON.stringify(row).slice(0, longestEntry);
}
