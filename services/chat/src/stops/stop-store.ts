import { notify } from '@gatehouse/pg/notify';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Selected } from './selection.ts';
import { maxStops, stopChannel, stopKeptS } from '../bounds.ts';

export interface NewStop {
  id: string;
  tenantId: string;
  runId: string | null;
  selected: Selected | null;
  holdSeconds: number;
}

/**
 * Stores a stop, and notifies all replicas once it is committed. Returns the end of its hold, which an earlier
 * stop of the same runs may have set later; null where the tenant has too many stops in force. Runs as `chat_app`.
 */
export async function insertStop(db: Queryable, stop: NewStop): Promise<Date | null> {
  const { id, tenantId, runId, selected, holdSeconds } = stop;
  const row = await db.first<{ hold_until: Date }>(
    `insert into chat.run_stops (id, tenant_id, run_id, selection, digest, stopped_at, hold_until, expires_at)
     select $1, $2, $3, $4, $5, at, at + $6::float8 * interval '1 second',
            at + greatest($6::float8, $7::float8) * interval '1 second'
     from (select clock_timestamp() as at) as clock
     where (select count(*) from chat.run_stops where tenant_id = $2 and expires_at > at) < $8
       or exists (select from chat.run_stops
                  where tenant_id = $2 and run_id is not distinct from $3::uuid
                    and selection is not distinct from $4::text and digest is not distinct from $5::bytea)
     on conflict on constraint run_stops_selected_key do update
       set id = excluded.id, stopped_at = excluded.stopped_at,
           hold_until = greatest(run_stops.hold_until, excluded.hold_until),
           expires_at = greatest(run_stops.expires_at, excluded.expires_at)
     returning hold_until`,
    [id, tenantId, runId, selected?.selection, selected?.digest, holdSeconds, stopKeptS, maxStops],
  );
  if (row === null) return null;
  await notify(db, stopChannel);
  return row.hold_until;
}
