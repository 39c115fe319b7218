import type { Queryable } from '@gatehouse/pg/pool';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import type { Window } from './leases.ts';

/** Older than any window. */
export const oldSpend: OldRows = {
  ...{ table: 'tenant.budget_spend', where: `bucket < now() - interval '35 days'` },
};

/** Settled spending of budgets, in buckets of 15 minutes: in every time zone, days begin on a bucket (ADR 13). */

export interface Spend {
  used: bigint;
  /** The highest threshold in percent recorded for the window in the audit log. */
  publishedPercent: number;
}

/** Each subject's spend in its window. Makes no query when `windows` is empty. */
export async function findSpend(
  db: Queryable,
  windows: readonly { subjectId: string; window: Window }[],
): Promise<ReadonlyMap<string, Spend>> {
  if (windows.length === 0) return new Map();
  const rows = await db.all<{ subject_id: string; used: string; published_percent: number }>(
    `select w.subject_id, greatest(coalesce(s.cost, 0), 0)::text as used, coalesce(s.published_percent, 0) as published_percent
     from unnest($1::uuid[], $2::float8[], $3::float8[]) as w (subject_id, start, "end")
     cross join lateral (
       select sum(cost) as cost, max(published_percent) filter (where bucket = to_timestamp(w.start / 1000)) as published_percent
       from tenant.budget_spend
       where subject_id = w.subject_id and bucket >= to_timestamp(w.start / 1000)
         and bucket < to_timestamp(w."end" / 1000)
     ) as s`,
    [
      windows.map(({ subjectId }) => subjectId),
      windows.map(({ window }) => window.start),
      windows.map(({ window }) => window.end),
    ],
  );
  return new Map(
    rows.map((row) => [row.subject_id, { used: BigInt(row.used), publishedPercent: row.published_percent }]),
  );
}

export interface Charge {
  holderId: string;
  subjectId: string;
  /** The name of the run's reservation window. */
  windowStart: number;
  /** Negative: a refund, because an exact cost replaces a higher estimate. */
  costPico: bigint;
}

/**
 * Charges budgets of a tenant. The cost goes to the current bucket. If the window of the run's reservation has ended,
 * the cost goes to the last bucket of that window; if that window is older than the previous one, to its first bucket.
 * Costs in buckets of the counted window also add to its `used`, which is 0 while early refunds exceed the costs,
 * before their estimates arrive: then the buckets are added up. The caller has locked the budgets' rows.
 */
export async function chargeBudgets(
  db: Queryable,
  tenantId: string,
  charges: readonly Charge[],
): Promise<void> {
  if (charges.length === 0) return;
  await db.query(
    `with charges as (
       select subject_id, to_timestamp(window_start / 1000) as window_start, sum(cost) as cost
       from unnest($2::uuid[], $3::float8[], $4::numeric[]) as c (subject_id, window_start, cost)
       group by subject_id, window_start
     ), placed as (
       select q.subject_id, c.cost,
              date_bin('15 minutes', coalesce(
                case c.window_start
                  when q.window_start then greatest(q.starts_at, least(clock_timestamp(), q.ends_at - interval '15 minutes'))
                  when q.previous_window then least(clock_timestamp(), q.previous_ends_at - interval '15 minutes')
                end, c.window_start), to_timestamp(0)) as bucket,
              c.window_start = q.window_start as is_counted, q.starts_at, q.ends_at
       from charges c join tenant.limit_uses q
         on q.subject_id = c.subject_id and q.resource = 'budget' and q.tenant_id = $1
     ), kept as (
       insert into tenant.budget_spend as s (tenant_id, subject_id, bucket, cost)
       select $1, subject_id, bucket, sum(cost) from placed group by subject_id, bucket order by subject_id, bucket
       on conflict (subject_id, bucket) do update set cost = s.cost + excluded.cost
     ), counted as (
       select subject_id, sum(cost) as cost from placed
       where is_counted or (bucket >= starts_at and bucket < ends_at) group by subject_id
     )
     update tenant.limit_uses q set used = greatest(0, c.cost + case when q.used > 0 then q.used else (
       select coalesce(sum(cost), 0) from tenant.budget_spend
       where subject_id = q.subject_id and bucket >= q.starts_at and bucket < q.ends_at
     ) end)
     from counted c where q.subject_id = c.subject_id and q.resource = 'budget' and q.subject_id = any ($2::uuid[])`,
    [
      tenantId,
      charges.map((charge) => charge.subjectId),
      charges.map((charge) => charge.windowStart),
      charges.map((charge) => charge.costPico.toString()),
    ],
  );
}

/** Lowers the holds of replicas, in the window of the reservation, by the amounts charged. A refund raises no hold. */
export async function chargeHolds(db: Queryable, charges: readonly Charge[]): Promise<void> {
  await db.query({
    name: 'charge_holds',
    text: `with charges as (
       select holder_id, subject_id, to_timestamp(window_start / 1000) as window_start, sum(cost) as cost
       from unnest($1::uuid[], $2::uuid[], $3::float8[], $4::numeric[])
         as c (holder_id, subject_id, window_start, cost)
       where cost > 0
       group by holder_id, subject_id, window_start
     )
     update tenant.limit_holds h set amount = greatest(0, h.amount - c.cost) from charges c
     where h.subject_id = c.subject_id and h.resource = 'budget' and h.holder_id = c.holder_id
       and h.window_start = c.window_start and h.subject_id = any ($2::uuid[])`,
    values: [
      charges.map((charge) => charge.holderId),
      charges.map((charge) => charge.subjectId),
      charges.map((charge) => charge.windowStart),
      charges.map((charge) => charge.costPico.toString()),
    ],
  });
}

/** Stores the highest recorded threshold of the counted window, also for when this window is counted in again. */
export async function updatePublished(
  db: Queryable,
  tenantId: string,
  { subjectId, window, percent }: { subjectId: string; window: Window; percent: number },
): Promise<void> {
  await db.query(
    `with marked as (
       insert into tenant.budget_spend (tenant_id, subject_id, bucket, cost, published_percent)
       values ($1, $2, to_timestamp($3::float8 / 1000), 0, $4)
       on conflict (subject_id, bucket) do update set published_percent = excluded.published_percent
     )
     update tenant.limit_uses set published_percent = $4 where subject_id = $2 and resource = 'budget'`,
    [tenantId, subjectId, window.start, percent],
  );
}
