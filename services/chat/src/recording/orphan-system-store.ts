import { maxInteger } from '@gatehouse/events/run-event';
import { moveToDeadLetters } from '@gatehouse/events/store/outbox-table';
import type { Pool } from '@gatehouse/pg/pool';
import { readStoredAttempts, readStartedRun } from '../runs/run-record.ts';
import type { Orphan } from './run-rows.ts';
import { only } from '@gatehouse/pg/rows';

export interface FoundOrphans {
  orphans: Orphan[];
  /** Ids of runs with unreadable rows, so without an event. */
  unreadable: string[];
}

interface OrphanRow {
  id: string;
  started_at: Date;
  age_ms: number;
  run: string;
  attempts: string;
}

/**
 * Runs under way of a dead or vanished instance, or lost by `instanceId` itself: started over a minute ago and not in
 * `known`. The age is capped, since after weeks without a replica its milliseconds exceed an integer.
 */
export async function findOrphans(
  pool: Pool,
  instanceId: string,
  known: readonly string[],
  limit: number,
): Promise<FoundOrphans> {
  const result = await pool.query<OrphanRow>(
    `select id, started_at, least(extract(epoch from now() - started_at) * 1000, ${maxInteger})::integer as age_ms,
            run, attempts
     from chat.open_runs r
     where not exists (select from chat.instances i where i.id = r.instance_id and i.dead_at is null)
        or (r.instance_id = $1 and r.started_at < now() - interval '1 minute' and r.id not in (select unnest($2::uuid[])))
     order by id
     limit $3`,
    [instanceId, known, limit],
  );
  const orphans: FoundOrphans = { orphans: [], unreadable: [] };
  for (const row of result.rows) {
    const orphan = toOrphan(row);
    if (orphan === null) orphans.unreadable.push(row.id);
    else orphans.orphans.push(orphan);
  }
  return orphans;
}

/** The texts are those of a `LoggedStart`. A run with unreadable calls counts as one call. */
function toOrphan(row: OrphanRow): Orphan | null {
  const run = readStartedRun(row.run);
  if (run === null) return null;
  const { request_model: model } = run;
  const unknown = { provider: 'unknown', model, upstreamModel: model, inputTokensGuess: 0 };
  const { ended, open } = readStoredAttempts(row.attempts) ?? {
    ended: [],
    open: { id: row.id, number: 1, ...unknown },
  };
  return { run, startedAt: row.started_at, ageMs: row.age_ms, ended, open };
}

/** Moves runs with unreadable rows to the dead letters. Returns how many this call has moved. */
export async function deadLetterUnreadable(pool: Pool, ids: readonly string[]): Promise<number> {
  const source = {
    table: 'chat.open_runs',
    deadLetters: 'chat.outbox_dead_letters',
    idType: 'uuid',
    columns: ['id', 'tenant_id', 'instance_id', 'started_at', 'charges', 'run', 'attempts'],
  } as const;
  return moveToDeadLetters(pool, source, { ids, reason: "the row of a run under way can't be read" });
}

/** The runs under way of these agents. */
export async function countOpenRuns(
  pool: Pool,
  tenantId: string,
  agentIds: readonly string[],
): Promise<number> {
  const counted = await pool.query<{ count: number }>(
    `select count(*)::integer as count from chat.runs_under_way
     where tenant_id = $1 and run::json->>'agent_id' = any ($2::text[])`,
    [tenantId, agentIds],
  );
  return only(counted).count;
}

/** The facts of a run under way; null if the tenant has none with this id. */
export async function findOpenRun(
  pool: Pool,
  tenantId: string,
  runId: string,
): Promise<{
  tenantId: string;
  sessionId: string | null;
  userId: string | null;
  agentId: string | null;
  apiKeyId: string | null;
} | null> {
  const row = await pool.first<{ run: string }>(
    'select run from chat.runs_under_way where tenant_id = $1 and id = $2',
    [tenantId, runId],
  );
  const run = row === null ? null : readStartedRun(row.run);
  if (run === null) return null;
  const { session_id: sessionId, user_id: userId, agent_id: agentId, api_key_id: apiKeyId } = run;
  return { tenantId, sessionId, userId, agentId, apiKeyId };
}
