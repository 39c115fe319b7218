import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import { Catalogue } from '../src/catalogue/catalogue.ts';
import { Pricing } from '../src/catalogue/pricing.ts';
import { startedRun, type StartedRun } from '../src/runs/run-record.ts';
import { Reaper } from '../src/recording/reaper-job.ts';
import { insertInstance } from '../src/recording/instance-system-store.ts';
import type { StartRow } from '../src/recording/run-rows.ts';
import { largestRun } from './largest-run.ts';
import { leaveOrphans, startRuns } from './logged-runs.ts';
import { createSystemDatabase, endsOf, type SystemDatabase } from './system-database.ts';

const log = createLogger('chat', 'silent');
const provider = { name: 'openai', kind: 'openai', base_url: 'https://provider.example' };
const models = [{ id: 'small', provider: 'openai' }];
const pricing = new Pricing(Catalogue.parse({ providers: [provider], models }), null);

let database: SystemDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createSystemDatabase();
  pool = database.pool;
});
afterAll(async () => database.drop());

function start(): StartRow {
  const run = startedRun(largestRun('x').identity);
  const attempt = { id: newId(), number: 1, provider: 'openai', inputTokensGuess: 10 };
  return {
    handle: {},
    run,
    charges: null,
    holderId: null,
    attempt: { ...attempt, model: 'small', upstreamModel: 'small' },
    ended: [],
  };
}

describe("a run under way whose row can't be read", () => {
  it('stops no other: without its calls it is ended as one unknown call, and without itself a dead letter', async () => {
    const id = newId();
    await insertInstance(pool, id);
    const rows = Array.from({ length: 4 }, start);
    await startRuns(pool, id, rows);
    await leaveOrphans(pool, id);
    const [callless, garbled, shapeless, sound] = rows.map(({ run }) => run);
    const spoil = (run: StartedRun | undefined, column: string, text: string) =>
      pool.query(`update chat.open_runs set ${column} = $2 where id = $1`, [run?.run_id, text]);
    await spoil(callless, 'attempts', '{"ended":[{"id":"half');
    await spoil(garbled, 'run', 'garbage');
    await spoil(shapeless, 'run', '{"run_id":7}');
    const registry = createRegistry('chat-test');
    const instance = { id: newId(), steadyBeat: Date.now() };
    const reaper = new Reaper({
      pool,
      instance,
      recorder: { openRuns: [] },
      pricing,
      alerts: { alertOfRun: () => [] },
      log,
      registry,
    });
    await reaper.sweep();
    for (const run of [callless, sound]) {
      if (run === undefined) throw new Error('there are four runs');
      const [event] = await endsOf(pool, run);
      expect(event).toMatchObject({ status: 'interrupted', usage_estimated: true });
      expect(event?.spans).toMatchObject([
        { status: 'interrupted', provider: run === sound ? 'openai' : 'unknown' },
      ]);
    }
    const { rows: letters } = await pool.query<{ tenant_id: string }>(
      'select tenant_id from chat.outbox_dead_letters order by id',
    );
    expect(new Set(letters.map(({ tenant_id: tenant }) => tenant))).toEqual(
      new Set([garbled?.tenant_id, shapeless?.tenant_id]),
    );
    const { rows: left } = await pool.query('select id from chat.open_runs where instance_id = $1', [id]);
    expect(left).toEqual([]);
  });
});
