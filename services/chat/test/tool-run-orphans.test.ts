import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { insertInstance } from '../src/recording/instance-system-store.ts';
import { interruptedEnd } from '../src/recording/interrupted.ts';
import { findOrphans } from '../src/recording/orphan-system-store.ts';
import { insertInterruptedEnds } from '../src/recording/run-end-system-store.ts';
import { leaveOrphans, startRuns } from './logged-runs.ts';
import { pricing, start } from './run-rows.ts';
import { createSystemDatabase, endsOf, type SystemDatabase } from './system-database.ts';

/** Runs of a tool alone, which the next release writes, after the death of their process. */

let database: SystemDatabase;
beforeAll(async () => {
  database = await createSystemDatabase();
});
afterAll(() => database.drop());

it('a run that calls a tool and no model is ended without an estimate', async () => {
  const { pool } = database;
  const instanceId = newId();
  await insertInstance(pool, instanceId);
  const begun = start();
  const { run } = begun;
  await startRuns(pool, instanceId, [begun]);
  await leaveOrphans(pool, instanceId);
  await pool.query(
    `update chat.open_runs set attempts = '{"ended":[],"open":null}',
       run = jsonb_set(run::jsonb, '{operation}', '"execute_tool"')::text where id = $1`,
    [run.run_id],
  );
  const { orphans, unreadable } = await findOrphans(pool, newId(), [], 1_000);
  expect(unreadable).toEqual([]);
  await insertInterruptedEnds(
    pool,
    orphans.map((orphan) => interruptedEnd(orphan, pricing)),
  );
  expect(await endsOf(pool, run)).toEqual([
    expect.objectContaining({
      ...{ operation: 'execute_tool', status: 'interrupted', provider: null, model: null, spans: [] },
      ...{ input_tokens: 0, cost_pico: '0', priced: true, usage_estimated: false },
    }),
  ]);
});
