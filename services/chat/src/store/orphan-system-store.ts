import type { Pool } from '@gatehouse/pg/pool';
import { readKeptEnd, type KeptAttempts, type StartedRun } from '../domain/run-record.ts';
import type { Attempt, AttemptStart } from '../domain/run.ts';

/** A run that nobody works on any more. */
export interface Orphan {
  run: StartedRun;
  /** By the database clock, like its age. */
  startedAt: Date;
  ageMs: number;
  /** What the calls that did end came to, in their order. */
  ended: Attempt[];
  /** The call without an end, the last one. */
  open: AttemptStart;
}

interface OrphanRow {
  started_at: Date;
  age_ms: number;
  run: string;
  attempts: string;
}

/** A run may have lain for a month when nothing was there to find it, and its duration is an integer. */
const maxInteger = 2_147_483_647;

/**
 * Runs under way whose instance is dead or gone, or that `instanceId` itself lost track of: started over a minute ago
 * and not in `known`.
 */
export async function findOrphans(
  pool: Pool,
  instanceId: string,
  known: readonly string[],
  limit: number,
): Promise<Orphan[]> {
  const result = await pool.query<OrphanRow>(
    `select started_at, least(extract(epoch from now() - started_at) * 1000, ${maxInteger})::integer as age_ms,
            run, attempts
     from chat.open_runs r
     where not exists (select from chat.instances i where i.id = r.instance_id and i.dead_at is null)
        or (r.instance_id = $1 and r.started_at < now() - interval '1 minute' and r.id not in (select unnest($2::uuid[])))
     order by id
     limit $3`,
    [instanceId, known, limit],
  );
  return result.rows.map(toOrphan);
}

/** The texts are what `insertStarts` wrote. */
function toOrphan(row: OrphanRow): Orphan {
  const { ended, open } = JSON.parse(row.attempts) as KeptAttempts;
  return {
    run: JSON.parse(row.run) as StartedRun,
    startedAt: row.started_at,
    ageMs: row.age_ms,
    ended: ended.map(readKeptEnd),
    open,
  };
}
