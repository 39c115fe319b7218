import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { listen } from '@gatehouse/pg/notify';
import type { TimedQuery } from '@gatehouse/pg/patient-client';
import type { PoolClient, Queryable } from '@gatehouse/pg/pool';
import type { Stop } from './run-stops.ts';
import type { Selection } from './selection.ts';
import { changedStopsMs, readStopsMs, stopChannel, stopsAtOnce } from '../bounds.ts';

interface StopRow {
  id: string;
  tenant_id: string;
  run_id: string | null;
  selection: Selection | null;
  digest: Buffer | null;
  hold_until: Date;
  age_ms: number;
  left_ms: number;
}

const columns = `id, tenant_id, run_id, selection, digest, hold_until,
  (extract(epoch from clock_timestamp() - stopped_at) * 1000)::float8 as age_ms,
  (extract(epoch from hold_until - clock_timestamp()) * 1000)::float8 as left_ms`;

/** Listens to new stops of all replicas. */
export function listenToStops(client: PoolClient, heard: () => void): Promise<void> {
  return listen(client, stopChannel, heard);
}

/** All stops of all tenants, in parts. Requests wait for them. */
export async function* readStops(db: Queryable): AsyncGenerator<readonly Stop[]> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows = await read(db, {
      text: `select ${columns} from chat.run_stops where id > $1 order by id limit $2`,
      values: [after, stopsAtOnce],
    });
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < stopsAtOnce) return;
    after = last.id;
  }
}

/** The newest stops: a transaction that adds one takes less time than this looks back. */
export function readChangedStops(db: Queryable): Promise<readonly Stop[]> {
  return read(db, {
    text: `select ${columns} from chat.run_stops
           where stopped_at > now() - $1::float8 * interval '1 millisecond' order by stopped_at desc limit $2`,
    values: [changedStopsMs, stopsAtOnce],
    giveUpAfterMs: readStopsMs,
  });
}

/** Stops read by all replicas, and refusing nothing any more. */
export const endedStops: OldRows = { table: 'chat.run_stops', where: 'expires_at <= now()' };

async function read(db: Queryable, query: TimedQuery): Promise<readonly Stop[]> {
  const { rows } = await db.query<StopRow>(query);
  return rows.map(({ id, tenant_id: tenantId, run_id: runId, selection, digest, ...row }) => ({
    ...{ id, tenantId, runId },
    selected: selection === null || digest === null ? null : { selection, digest },
    ...{ ageMs: row.age_ms, leftMs: row.left_ms, holdUntil: row.hold_until },
  }));
}
