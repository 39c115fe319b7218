import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { Retention } from '../src/metering/retention.ts';
import { ChatHarness, chat } from './chat-harness.ts';

const log = createLogger('test', 'silent');

describe('runs that analytics was told of', () => {
  let harness: ChatHarness;
  let pool: Pool;
  beforeAll(async () => {
    harness = await ChatHarness.start();
    // As the service's own pool is.
    pool = createPool({
      url: harness.database.url,
      role: 'chat_system',
      max: 4,
      log,
      settings: { enable_seqscan: 'off' },
    });
  });
  afterAll(async () => {
    await pool.end();
    await harness.stop();
  });
  beforeEach(async () => {
    harness.takesEvents = true;
    await untilTold();
    await harness.rows('delete from chat.runs');
  });

  async function untilTold(): Promise<void> {
    await eventually(async () => {
      expect(await harness.rows('select id from chat.outbox')).toEqual([]);
    });
  }

  const sweep = (batchSize?: number): Promise<number> =>
    new Retention({ pool, log, registry: createRegistry('test'), batchSize }).sweep();
  const runIds = async (): Promise<unknown[]> =>
    (await harness.rows('select id from chat.runs order by id')).map((row) => row['id']);

  /** Makes runs of today that many days old, in order: ids, times, and what waits in the outbox. Returns their new ids. */
  async function age(...days: number[]): Promise<unknown[]> {
    const runs = await runIds();
    await harness.rows('alter table chat.attempts disable trigger all');
    for (const [index, id] of runs.entries()) {
      if (days[index] === 0) continue;
      const by = `interval '${days[index] ?? 0} days'`;
      const [row] = await harness.rows(
        `select (left(replace(chat.first_id_at(now() - ${by})::text, '-', ''), 12)
                 || right(replace($1::text, '-', ''), 20))::uuid as id`,
        [id],
      );
      const ids = [id, row?.['id']];
      await harness.rows('update chat.attempts set run_id = $2 where run_id = $1', ids);
      await harness.rows(
        `update chat.outbox set run_id = $2, occurred_at = occurred_at - ${by} where run_id = $1`,
        ids,
      );
      await harness.rows(
        `update chat.runs set id = $2, started_at = started_at - ${by}, ended_at = ended_at - ${by} where id = $1`,
        ids,
      );
    }
    await harness.rows('alter table chat.attempts enable trigger all');
    return runIds();
  }

  /** Runs that were told of, and that are that many days old now. */
  async function makeRuns(...days: number[]): Promise<unknown[]> {
    for (const _ of days) await (await harness.post('/v1/chat/completions', chat('Hello'))).text();
    await untilTold();
    return age(...days);
  }

  it('are deleted three days after they ended, with their attempts', async () => {
    const ids = await makeRuns(30, 4, 2, 0);
    expect(await sweep()).toBe(2);
    expect(await runIds()).toEqual(ids.slice(2));
    expect(await harness.rows('select run_id from chat.attempts order by run_id')).toEqual(
      ids.slice(2).map((id) => ({ run_id: id })),
    );
  });

  it('stay while they are under way, however old they are', async () => {
    const [id] = await makeRuns(30);
    await harness.rows(`update chat.runs set status = 'started', ended_at = null`);
    expect(await sweep()).toBe(0);
    expect(await runIds()).toEqual([id]);
  });

  it('stay as long as an event about them waits for publication', async () => {
    const [told] = await makeRuns(9);
    harness.takesEvents = false;
    await (await harness.post('/v1/chat/completions', chat('Hello'))).text();
    const [first, second] = await age(0, 5);
    expect(first).toBe(told);
    expect(await sweep()).toBe(1);
    expect(await runIds()).toEqual([second]);
    harness.takesEvents = true;
    await untilTold();
    expect(
      harness.events.some((event) => event.includes(String(second)) && event.includes('run.ended')),
    ).toBe(true);
    expect(await sweep()).toBe(1);
  });

  it('are deleted batch after batch, by any number of replicas at once', async () => {
    const ids = await makeRuns(9, 8, 7, 6, 5, 0);
    const deleted = await Promise.all([sweep(2), sweep(2), sweep(2)]);
    const rest = await sweep(2);
    expect(deleted.reduce((sum, each) => sum + each, rest)).toBe(5);
    expect(await runIds()).toEqual(ids.slice(5));
  });

  it('are deleted by the service itself, soon after its start', async () => {
    await makeRuns(9);
    await harness.startReplica({ retentionTimes: { firstMs: 1 } });
    await eventually(async () => {
      expect(await runIds()).toEqual([]);
    });
  });

  it('are under row-level security, with a policy for each granted command', async () => {
    expect(await tablesWithoutPolicies(harness.database.adminUrl, 'chat')).toEqual([]);
  });
});
