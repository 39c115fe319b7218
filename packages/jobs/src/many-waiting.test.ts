import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { query } from '@gatehouse/test/query';
import { JobsUnderTest } from '../test/harness.ts';
import { inSteps, mostTurns, takeNextText } from './store/job-system-store.ts';

let service: JobsUnderTest;
const crowd = [newId(), newId(), newId()];

beforeAll(async () => {
  service = await JobsUnderTest.start();
});
afterAll(() => service.stop());

/** Lets 10,000 jobs of each tenant wait, as long ago as possible, in each task. */
async function fill(): Promise<void> {
  await query(
    service.database.adminUrl,
    `insert into memory_jobs.job_common (name, policy, data, group_id, singleton_key, retry_limit, dead_letter, start_after,
       upsert_by_key)
     select q.name, q.policy, jsonb_build_object('documentId', 'crowd'), tenant, tenant || '/' || n, 1, 'dead',
       now() - interval '1 hour', q.name = 'reply'
     from memory_jobs.queue as q, unnest(array['${crowd.join("','")}']) as tenant, generate_series(1, 10000) as n
     where q.name in ('embed', 'reply')`,
  );
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

/** The rows that a plan has read of tables, those that it has removed included. */
function rowsRead(plan: Plan): number {
  const own =
    plan['Relation Name'] === undefined || plan['Node Type'] === 'ModifyTable'
      ? 0
      : (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  return own + (plan.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0);
}

async function explain(task: string, full: readonly string[], after = ''): Promise<number> {
  let read = -1;
  const rolledBack = inSteps(service.system, async (db) => {
    const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, format json) ${takeNextText('memory_jobs', task === 'reply')}`,
      [task, after, full],
    );
    const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
    if (plan !== undefined) read = rowsRead(plan.Plan);
    throw new Error('rolled back');
  });
  await expect(rolledBack).rejects.toThrow('rolled back');
  expect(read).toBeGreaterThan(0);
  return read;
}

describe.each(['embed', 'reply'] as const)('beside 3 × 10,000 jobs that wait, a job of %s', (task) => {
  const key = task === 'embed' ? 'documentId' : 'messageId';

  it('of another tenant runs before most of them, and is found in a few rows', async () => {
    await query(service.database.adminUrl, 'delete from memory_jobs.job');
    await query(service.database.adminUrl, 'vacuum analyze memory_jobs.job_common');
    await fill();
    // The bound holds whatever statistics say: that there is nothing, or what there is.
    for (const step of [1, 2]) {
      if (step === 2) await query(service.database.adminUrl, 'analyze memory_jobs.job_common');
      expect(await explain(task, [])).toBeLessThan(20);
      expect(await explain(task, crowd)).toBeLessThan(20);
    }
    service.calls.splice(0);
    const own = `${task} of another`;
    await service.add({ task, ids: { [key]: own } as never, key: 'own', tenantId: newId() });
    await service.work();
    await eventually(() => expect(service.handled()).toContain(own));
    expect(service.handled().indexOf(own)).toBeLessThan(100);
    await service.stopWorkers();
  });
});

it('looks at a bounded number of tenants at once, and at all of them in the end', async () => {
  await query(service.database.adminUrl, 'delete from memory_jobs.job');
  await query(service.database.adminUrl, 'vacuum analyze memory_jobs.job_common');
  await query(
    service.database.adminUrl,
    `insert into memory_jobs.job_common (name, policy, data, group_id, singleton_key, retry_limit, dead_letter, start_after)
     select q.name, q.policy, '{}', gen_random_uuid(), n, 1, 'dead', now() + interval '1 hour'
     from memory_jobs.queue as q, generate_series(1, 3000) as n where q.name = 'embed'`,
  );
  expect(await explain('embed', [])).toBeLessThan(2 * mostTurns);
  service.calls.splice(0);
  await service.work();
  for (const tenantId of [`00000000${newId().slice(8)}`, `ffffffff${newId().slice(8)}`])
    await service.add({ task: 'embed', ids: { documentId: tenantId }, tenantId });
  await eventually(() => expect(service.handled()).toHaveLength(2));
});

it('takes tenants in turn', async () => {
  await query(service.database.adminUrl, 'delete from memory_jobs.job');
  service.calls.splice(0);
  await fill();
  await service.work();
  await eventually(() => expect(service.calls.length).toBeGreaterThan(60));
  const counts = crowd.map(
    (tenant) =>
      service.calls
        .slice(0, 60)
        .filter(({ context, task }) => task === 'embed' && context.tenantId === tenant).length,
  );
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(4);
});
