import { sleep } from '@gatehouse/kit/clock';
import { partitionCount } from '@gatehouse/events/partitions';
import { eventually } from '@gatehouse/test/eventually';
import type { ChaosSystem } from './chaos-system.ts';

/** Access to the records of both sides. */
export type Records = Pick<ChaosSystem, 'rows' | 'simulator'>;

interface RunRow {
  id: string;
  session_id: string;
  status: string;
  usage_estimated: boolean | null;
  input_tokens: number | null;
  calls: number;
}

export interface Audit {
  /** Requests that the provider saw. */
  requests: number;
  runs: number;
  byStatus: Record<string, number>;
  /** Facts that contradict the rules; empty when all is well. */
  complaints: string[];
}

const runsQuery = `
  select r.id, r.session_id, r.status, r.usage_estimated, r.input_tokens::float8 as input_tokens,
    (select count(*)::int from json_array_elements(r.spans) s where s ->> 'status' <> 'not_sent') as calls
  from analytics.traces r where r.session_id is not null and ($1::uuid is null or r.tenant_id = $1)`;

/** Runs that should have been added to the sums: that is done once a minute. */
const lateQuery = `
  select count(*)::int as late from analytics.traces
  where fold > (select folded_to from analytics.folds) and changed_at < now() - interval '3 minutes'`;

/** Tenants whose sums are not those of their runs that were added up. */
const sumsQuery = `
  select coalesce(runs.tenant_id, sums.tenant_id) as tenant_id, runs.requests as runs, sums.requests as counted
  from (select tenant_id, count(*)::int as requests, sum(input_tokens + output_tokens) as tokens
        from analytics.traces
        where exists (select from json_array_elements(spans) s where s ->> 'status' <> 'not_sent')
          and ended_at is not null and coalesce(fold <= (select folded_to from analytics.folds), true)
        group by tenant_id) as runs
  full join (select tenant_id, sum(requests)::int as requests, sum(input_tokens + output_tokens) as tokens
             from analytics.usage group by tenant_id) as sums using (tenant_id)
  where (runs.requests, runs.tokens) is distinct from (sums.requests, sums.tokens)`;

/**
 * Holds the records against what the provider saw: every request belongs to exactly one ended run, runs beyond those
 * were never billed for more than an estimate, and analytics has counted each run once, as it ended. With a tenant, of
 * the runs only its own count: then all requests that the provider remembers must be this tenant's.
 */
export async function auditRuns(chaos: Records, tenantId: string | null = null): Promise<Audit> {
  const rows = await chaos.rows<RunRow>(runsQuery, [tenantId]);
  const seen = new Map<string, number>();
  for (const { id } of chaos.simulator.requests) if (id !== null) seen.set(id, (seen.get(id) ?? 0) + 1);
  const bySession = Map.groupBy(rows, (row) => row.session_id);
  const complaints = rows.flatMap((row) => complaintsAbout(row, seen.get(row.session_id) ?? 0));
  for (const id of seen.keys()) {
    const runs = bySession.get(id)?.length ?? 0;
    if (runs !== 1) complaints.push(`request ${id} belongs to ${runs} runs`);
  }
  const sums = await chaos.rows<{ tenant_id: string; runs: number | null; counted: number | null }>(
    sumsQuery,
  );
  for (const { tenant_id: tenant, runs, counted } of sums)
    complaints.push(
      `tenant ${tenant} has ${runs ?? 0} runs of which ${counted ?? 0} are counted, or other tokens`,
    );
  const [unfolded] = await chaos.rows<{ late: number }>(lateQuery);
  if (unfolded?.late !== 0)
    complaints.push(`${unfolded?.late ?? NaN} runs are in no sums after three minutes`);
  const byStatus: Record<string, number> = {};
  for (const { status } of rows) byStatus[status] = (byStatus[status] ?? 0) + 1;
  return { requests: chaos.simulator.requests.length, runs: rows.length, byStatus, complaints };
}

/** Audits a system before the next fault, once every run has its end. */
export async function auditSoFar(chaos: ChaosSystem): Promise<Audit> {
  await chaos.within(30_000, 'every run so far has its end', () => allArrived(chaos));
  const audit = await auditRuns(chaos);
  throwComplaints(audit);
  return audit;
}

/** Fails outside of Jest too: `make test-cluster` is a program of its own. */
export function throwComplaints({ complaints }: Audit): void {
  if (complaints.length > 0)
    throw new Error(`the ledger and the provider disagree:\n${complaints.slice(0, 10).join('\n')}`);
}

/** The runs that an audit found beyond those of an earlier one, by status. */
export function newRuns(audit: Audit, before: Audit): Record<string, number> {
  const entries = Object.entries(audit.byStatus).map(([status, count]): [string, number] => [
    status,
    count - (before.byStatus[status] ?? 0),
  ]);
  return Object.fromEntries(entries.filter(([, count]) => count > 0));
}

function complaintsAbout(row: RunRow, requests: number): string[] {
  const found: string[] = [];
  if (row.status === 'running') found.push('has no end');
  if (row.calls < requests) found.push(`has ${row.calls} attempts for ${requests} requests`);
  if (row.status === 'interrupted' && row.usage_estimated !== true)
    found.push('is interrupted and not estimated');
  // Its client or its database went before the call was made; or the client went while it was on its way.
  const unbilled = ['error', 'cancelled'].includes(row.status) && row.input_tokens === 0;
  const onItsWay = row.status === 'cancelled' && row.usage_estimated === true;
  if (requests === 0 && row.status !== 'interrupted' && !unbilled && !onItsWay)
    found.push('never reached the provider, and is neither interrupted nor free');
  return found.map((what) => `run ${row.id} (${row.status}) ${what}`);
}

/** Whether every run has its end and has arrived at analytics, as far as can be said now. */
export async function allArrived(chaos: Records): Promise<boolean> {
  const [chat] = await chaos.rows<{ waiting: number; at: Date }>(
    `select ((select count(*) from chat.open_runs) + (select count(*) from chat.outbox)
             + (select count(*) from chat.logged_runs where not ended or ending is not null))::integer as waiting,
            clock_timestamp() as at`,
  );
  if (chat === undefined || chat.waiting > 0) {
    // The log of a dead replica takes PostgreSQL up to half a second to read as runs.
    await sleep(1_000);
    return false;
  }
  // Published events may not have arrived yet. Watermarks report arrival, once a second.
  return eventually(
    async () => {
      const [watermarks] = await chaos.rows<{ arrived: boolean }>(
        'select count(*) = $2 and min(watermark) >= $1 as arrived from analytics.watermarks',
        [chat.at, partitionCount],
      );
      if (watermarks?.arrived !== true) throw new Error('watermarks are behind');
      return true;
    },
    10_000,
    100,
  ).catch(() => false);
}
