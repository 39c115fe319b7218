import { notify } from '@gatehouse/pg/notify';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Selected } from './selection.ts';
import type { StopCounts } from './stop-counts.ts';
import { stopChannel, stopKeptS } from '../bounds.ts';

/** The runs to stop, and the sender of the request. */
export interface StopRequest {
  tenantId: string;
  runId: string | null;
  selected: Selected | null;
  /** The digest of the user; null for an administrator. */
  senderDigest: Buffer | null;
}

const isSame = `run_id is not distinct from $2::uuid and selection is not distinct from $3::text
  and digest is not distinct from $4::bytea`;

/**
 * Counts the stops of a tenant. Requests of its users wait for each other from now on, since two could take the last
 * place; administrators wait for no user. Runs as `chat_app`.
 */
export async function countStops(db: Queryable, stop: StopRequest): Promise<StopCounts> {
  const { tenantId, runId, selected, senderDigest } = stop;
  if (senderDigest !== null)
    await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`stops of users ${tenantId}`]);
  return db.one<StopCounts>(
    `select (count(id) filter (where not own))::integer as "tenantStops",
       (count(*) filter (where sender_digest is not null and not own))::integer as "usersStops",
       (count(*) filter (where sender_digest = $5 and not own))::integer as "userStops",
       (count(*) filter (where own))::integer as "allOfUserStops",
       coalesce(sum(requests) filter (where sender_digest is not null and stopped_at >= minute), 0)::integer
         as "requestsOfUsers",
       coalesce(sum(requests) filter (where sender_digest = $5 and stopped_at >= minute), 0)::integer
         as "requestsOfUser",
       extract(epoch from max(minute) + interval '1 minute' - max(at))::float8 * 1000 as "minuteLeftMs",
       coalesce(bool_or(known), false) as "isKnown",
       coalesce(bool_or(known and stopped_at >= minute), false) as "isRepeated"
     from (select at, date_trunc('minute', at) as minute from (select clock_timestamp() as at) as now) as clock
       left join chat.run_stops on tenant_id = $1 and expires_at > at
       cross join lateral (
         select sender_digest is not null and selection is not distinct from 'user' as own,
           id is not null and ${isSame} and sender_digest is not distinct from $5::bytea as known) as kind`,
    [tenantId, runId, selected?.selection, selected?.digest, senderDigest],
  );
}

/**
 * Stores a stop, and notifies all replicas once it is committed. Returns the end of its hold, which an earlier
 * stop of the same runs may have set later. Runs as `chat_app`.
 */
export async function insertStop(
  db: Queryable,
  stop: StopRequest & { id: string; holdSeconds: number },
): Promise<Date> {
  const { id, tenantId, runId, selected, senderDigest, holdSeconds } = stop;
  const { holdUntil } = await db.one<{ holdUntil: Date }>(
    `with others as (
       select max(hold_until) as hold_until from chat.run_stops where tenant_id = $1 and ${isSame})
     insert into chat.run_stops
       (tenant_id, run_id, selection, digest, sender_digest, id, stopped_at, hold_until, expires_at)
     select $1, $2, $3, $4, $5, $6, at, at + $7::float8 * interval '1 second',
            at + greatest($7::float8, $8::float8) * interval '1 second'
     from (select clock_timestamp() as at) as clock
     on conflict on constraint run_stops_selected_key do update
       set id = excluded.id, stopped_at = excluded.stopped_at,
           hold_until = greatest(run_stops.hold_until, excluded.hold_until),
           expires_at = greatest(run_stops.expires_at, excluded.expires_at),
           requests = case when run_stops.stopped_at >= date_trunc('minute', excluded.stopped_at)
             then run_stops.requests + 1 else 1 end
     returning greatest(hold_until, (select hold_until from others)) as "holdUntil"`,
    [
      ...[tenantId, runId, selected?.selection, selected?.digest, senderDigest],
      ...[id, holdSeconds, stopKeptS],
    ],
  );
  await notify(db, stopChannel);
  return holdUntil;
}
