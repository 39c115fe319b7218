import type { ChaosSystem } from './chaos-system.ts';

interface RunRow {
  id: string;
  session_id: string;
  instance_id: string;
  status: string;
  usage_estimated: boolean | null;
  input_tokens: number | null;
  calls: number;
  open_attempts: number;
  started_events: number;
  ended_events: number;
}

export interface Audit {
  /** Requests that the provider saw. */
  requests: number;
  runs: number;
  byStatus: Record<string, number>;
  /** What contradicts the rules; empty when all is well. */
  complaints: string[];
}

// Nothing consumes the outbox yet; once something does, events must be counted where they arrive.
const runsQuery = `
  select r.id, r.session_id, r.instance_id, r.status, r.usage_estimated, r.input_tokens::float8 as input_tokens,
    (select count(*)::int from chat.attempts a where a.run_id = r.id and a.status <> 'not_sent') as calls,
    (select count(*)::int from chat.attempts a where a.run_id = r.id and a.status = 'started') as open_attempts,
    (select count(*)::int from chat.outbox o where o.run_id = r.id and o.type = 'gatehouse.run.started')
      as started_events,
    (select count(*)::int from chat.outbox o where o.run_id = r.id and o.type = 'gatehouse.run.ended') as ended_events
  from chat.runs r where r.session_id is not null`;

/**
 * Holds the records against what the provider saw: every request belongs to exactly one ended run, runs beyond those
 * were never billed for more than an estimate, and each run has one start and one end among the events.
 */
export async function auditRuns(chaos: ChaosSystem): Promise<Audit> {
  const rows = await chaos.rows<RunRow>(runsQuery);
  const seen = new Map<string, number>();
  for (const { id } of chaos.simulator.requests) if (id !== null) seen.set(id, (seen.get(id) ?? 0) + 1);
  const bySession = Map.groupBy(rows, (row) => row.session_id);
  const complaints = rows.flatMap((row) => complaintsAbout(row, seen.get(row.session_id) ?? 0));
  for (const id of seen.keys()) {
    const runs = bySession.get(id)?.length ?? 0;
    if (runs !== 1) complaints.push(`request ${id} belongs to ${runs} runs`);
  }
  const byStatus: Record<string, number> = {};
  for (const { status } of rows) byStatus[status] = (byStatus[status] ?? 0) + 1;
  return { requests: chaos.simulator.requests.length, runs: rows.length, byStatus, complaints };
}

function complaintsAbout(row: RunRow, requests: number): string[] {
  const found: string[] = [];
  if (row.status === 'started') found.push('has no end');
  if (row.open_attempts > 0) found.push(`has ${row.open_attempts} attempts without an end`);
  if (row.started_events !== 1) found.push(`has ${row.started_events} started events`);
  if (row.status !== 'started' && row.ended_events !== 1) found.push(`has ${row.ended_events} ended events`);
  if (row.calls < requests) found.push(`has ${row.calls} attempts for ${requests} requests`);
  if (row.status === 'interrupted' && row.usage_estimated !== true)
    found.push('is interrupted and not estimated');
  // Its client or its database went before the call was made.
  const unbilled = ['error', 'cancelled'].includes(row.status) && row.input_tokens === 0;
  if (requests === 0 && row.status !== 'interrupted' && !unbilled)
    found.push('never reached the provider, and is neither interrupted nor free');
  return found.map((what) => `run ${row.id} (${row.status}) ${what}`);
}

/** How many runs are under way. */
export async function openRuns(chaos: ChaosSystem): Promise<number> {
  const [row] = await chaos.rows<{ count: number }>(
    `select count(*)::int as count from chat.runs where status = 'started'`,
  );
  return row?.count ?? 0;
}
