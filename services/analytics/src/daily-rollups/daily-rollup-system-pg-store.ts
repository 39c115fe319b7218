import { hourMs } from '@gatehouse/kit/bounds';
import { isUnknownTimezone } from '@gatehouse/pg/errors';
import { withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { midnightWithin } from '../usage/key-pg-store.ts';
import type { SettledKind } from '../usage/period-parts.ts';
import { addUp, allKinds, hasGroups } from './daily-rollup-pg-store.ts';
import type {
  DailyRollupStore,
  SettledSizes,
  TenantDay,
  TenantRollUps,
} from './daily-rollup-system-store.ts';

/** `pool` acts as `analytics_system`. */
export function dailyRollupPgStore(pool: Pool): DailyRollupStore {
  return {
    findOpenDay: () => findOpenDay(pool),
    nextTenants: (...page) => nextTenants(pool, ...page),
    noteDays: (days) => noteDays(pool, days),
    nextDueDay: (afterTenant) => nextDueDay(pool, afterTenant),
    changeCuts: (...tenant) => changeCuts(pool, ...tenant),
    settlePart: (...part) => settlePart(pool, ...part),
    leaveDay: (day) => leaveDay(pool, day),
  };
}

/** Longer than a transaction counting a run into a day before the end of the day. See `usage_change_day`. */
const overForHours = 2;
/** Days noted by one statement. */
const noteBatch = 500;
/** Rows deleted by one transaction. */
const deleteBatch = 5_000;

async function findOpenDay(pool: Pool): Promise<Date> {
  const { day } = await pool.one<{ day: Date }>(
    `select date_bin('1 day', now() - interval '${overForHours} hours', 'epoch') as day`,
  );
  return day;
}

async function nextTenants(pool: Pool, after: string, limit: number): Promise<TenantRollUps[]> {
  const firstAfter = (tenantId: string): string =>
    `(select tenant_id from analytics.usage_totals where tenant_id > ${tenantId} order by tenant_id limit 1)`;
  const rows = await pool.all<{ tenant_id: string; settled: boolean }>(
    `with recursive tenants as (
       ${firstAfter('$1')}
       union all
       select next.tenant_id from tenants cross join lateral ${firstAfter('tenants.tenant_id')} as next
     )
     select tenant_id, (
       select true from analytics.settled_days as days
       where days.tenant_id = tenants.tenant_id and state = 'settled' limit 1
     ) is true as settled
     from tenants limit $2`,
    [after, limit],
  );
  return rows.map(({ tenant_id: tenantId, settled }) => ({ tenantId, hasSettledDays: settled }));
}

async function noteDays(
  pool: Pool,
  { tenantId, from, until }: { tenantId: string; from: Date; until: Date },
): Promise<Date | null> {
  const dayFrom = (start: string): string => `(
    select date_bin('1 day', bucket, 'epoch') from analytics.usage_totals
    where tenant_id = $1 and bucket >= ${start} order by bucket limit 1)`;
  const { next } = await pool.one<{ next: Date | null }>(
    `with recursive days as (
       select ${dayFrom('$2')} as day, 1 as number
       union all
       select ${dayFrom(`days.day + interval '1 day'`)}, number + 1 from days where day < $3 and number < ${noteBatch}
     ), noted as (
       insert into analytics.settled_days (tenant_id, day)
       select $1, day from days where day < $3 order by day
       on conflict do nothing
     )
     select case when count(*) = ${noteBatch} and max(day) < $3 then max(day) + interval '1 day' end as next from days`,
    [tenantId, from, until],
  );
  return next;
}

async function nextDueDay(pool: Pool, afterTenant: string): Promise<TenantDay | null> {
  const row = await pool.first<{ tenant_id: string; day: Date }>(
    `select tenant_id, day from analytics.settled_days
     where state in ('changed', 'open') and tenant_id > $1 order by tenant_id, day desc limit 1`,
    [afterTenant],
  );
  return row === null ? null : { tenantId: row.tenant_id, day: row.day };
}

/** The midnight of a time zone within a day, at which its rows end; null without one, and in an unknown zone. */
async function findCut(pool: Pool, { day }: TenantDay, timezone: string): Promise<Date | null> {
  const text = `select ${midnightWithin('$1::timestamptz', '$2')} as cut`;
  const [row] = await pool.all<{ cut: Date | null }>(text, [day, timezone]).catch(passUnknownTimezone);
  return row?.cut ?? null;
}

async function changeCuts(pool: Pool, tenantId: string, timezone: string): Promise<void> {
  const text = `
    update analytics.settled_days set state = 'changed', hours = 0, cut_hours = 0
    where tenant_id = $1 and state = 'settled'
      and (cut_hours < 24 or cut is distinct from ${midnightWithin('day', '$2')})`;
  await pool.query(text, [tenantId, timezone]).catch(passUnknownTimezone);
}

/** The tenant service may know time zones this database does not. */
function passUnknownTimezone(error: unknown): [] {
  if (isUnknownTimezone(error)) return [];
  throw error;
}

/** The day has changed while it was added up. */
class DayChanged extends Error {}

async function settlePart(
  pool: Pool,
  tenantDay: TenantDay,
  { least, most, timezone }: SettledSizes & { timezone: string },
): Promise<string | null> {
  const cut = await findCut(pool, tenantDay, timezone);
  const work = withTransaction(pool, async (db) => {
    // The same for grouping as for summaries: with less memory it would sort all rows on disk.
    const turn = await db.one<{ ours: boolean }>(
      `select pg_try_advisory_xact_lock(hashtext('analytics.settling'), hashtext($1)) as ours
       from (select set_config('work_mem', '64MB', true)) as memory`,
      [tenantDay.tenantId],
    );
    if (!turn.ours) return null;
    const known = await db.first<{ state: string; hours: number }>(
      'select state, hours from analytics.settled_days where tenant_id = $1 and day = $2',
      [tenantDay.tenantId, tenantDay.day],
    );
    if (known?.state === 'changed') return clear(db, tenantDay, least);
    return known?.state === 'open' ? addPart(db, tenantDay, { hours: known.hours, most, cut }) : null;
  });
  return work.catch((error: unknown) => {
    if (error instanceof DayChanged) return null;
    throw error;
  });
}

async function leaveDay(pool: Pool, { tenantId, day }: TenantDay): Promise<void> {
  await pool.query(
    `update analytics.settled_days set state = 'small' where tenant_id = $1 and day = $2 and state = 'open'`,
    [tenantId, day],
  );
}

/** Deletes rows of a day, and returns how many; as many as `deleteBatch` when more may be left. */
async function deleteRows(
  db: Queryable,
  { tenantId, day }: TenantDay,
  kinds: readonly SettledKind[],
): Promise<number> {
  return db.count(
    `delete from analytics.settled_usage where ctid = any(array(
       select ctid from analytics.settled_usage
       where tenant_id = $1 and kind = any($3::text[]) and bucket >= $2 and bucket < $2::timestamptz + interval '1 day'
       limit ${deleteBatch}))`,
    [tenantId, day, kinds],
  );
}

async function clear(db: Queryable, tenantDay: TenantDay, least: number): Promise<string | null> {
  if ((await deleteRows(db, tenantDay, allKinds)) === deleteBatch) return 'changed';
  const { tenantId, day } = tenantDay;
  // Waits for transactions counting into the day, so their additions are seen when it is added up.
  const opened = await db.first<{ state: string }>(
    `update analytics.settled_days set hours = 0, cut_hours = 0, state = case when $3 <= (
       select count(*) from (
         select from analytics.usage
         where tenant_id = $1 and bucket >= $2 and bucket < $2::timestamptz + interval '1 day' limit $3) as few
     ) then 'open' else 'small' end
     where tenant_id = $1 and day = $2 and state = 'changed'
     returning state`,
    [tenantId, day, least],
  );
  return opened?.state ?? null;
}

async function addPart(
  db: Queryable,
  tenantDay: TenantDay,
  { hours, most, cut }: { hours: number; most: number; cut: Date | null },
): Promise<string> {
  const { tenantId, day } = tenantDay;
  // The release before leaves them when it clears a day.
  if (hours === 0 && (await deleteRows(db, tenantDay, ['session', 'group'])) === deleteBatch) return 'open';
  const { hours: until } = await db.one<{ hours: number }>(
    `select coalesce((
       select greatest(floor(extract(epoch from bucket - $2::timestamptz) / 3600), $3 + 1) from analytics.usage
       where tenant_id = $1 and bucket >= $2::timestamptz + make_interval(hours => $3)
         and bucket < $2::timestamptz + interval '1 day'
       order by bucket offset $4 limit 1
     ), 24)::integer as hours`,
    [tenantId, day, hours, most],
  );
  const at = (hour: number): Date => new Date(day.getTime() + hour * hourMs);
  await db.query(addUp, [tenantId, at(hours), at(until), cutWithin({ from: at(hours), to: at(until) }, cut)]);
  const moved = await db.first<{ state: string }>(
    `update analytics.settled_days set
       hours = $4::smallint, state = case when $4::smallint = 24 then 'settled' else 'open' end, cut = $5,
       cut_hours = case when cut_hours = hours and (hours = 0 or cut is not distinct from $5) then $4::smallint else 0 end,
       group_hours = case when group_hours = hours and ${hasGroups('$2')} then $4::smallint else 0 end
     where tenant_id = $1 and day = $2 and state = 'open' and hours = $3::smallint
     returning state`,
    [tenantId, day, hours, until, cut],
  );
  if (moved === null) throw new DayChanged('the day has changed');
  return moved.state;
}

/** The end of the first rows of a part of a day: its cut, or the end of the part. */
const cutWithin = ({ from, to }: { from: Date; to: Date }, cut: Date | null): Date =>
  cut !== null && cut > from && cut < to ? cut : to;
