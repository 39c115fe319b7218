import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCorrected, runEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { userDigest } from '@gatehouse/kit/user-digest';
import type { Pool } from '@gatehouse/pg/pool';
import type { EndedRun } from '../src/runs/run-record.ts';
import { claimCompletion } from '../src/completions/completion-store.ts';
import { insertInstance } from '../src/recording/instance-system-store.ts';
import { RunOutbox } from '../src/recording/outbox-system-store.ts';
import { correctEnds, deleteOldInterrupted } from '../src/recording/run-end-system-store.ts';
import type { RunLog } from '../src/recording/run-log.ts';
import type { EndRow, StartRow } from '../src/recording/run-rows.ts';
import { endRun, startRuns } from './logged-runs.ts';
import { ended, failed, someRun, start } from './run-rows.ts';
import { reap } from './reap.ts';
import { createSystemDatabase, type SystemDatabase } from './system-database.ts';

const charges = [{ subjectId: newId(), windowStart: 1_700_000_000_000 }];
const allPartitions = Array.from({ length: 8 }, (_, partition) => partition);

let database: SystemDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createSystemDatabase();
  pool = database.pool;
});
afterAll(async () => database.drop());

/** Begins a run of an instance of its own, whose id it returns. */
async function begin(row: StartRow): Promise<string> {
  return (await beginIn(row)).instanceId;
}

/** The same; returns its log. */
async function beginIn(row: StartRow): Promise<RunLog> {
  const id = newId();
  await insertInstance(pool, id);
  return startRuns(pool, id, [row]);
}

/** The events about the end of a run, in the order in which they are published. */
async function eventsOf({ run }: StartRow): Promise<{ id: string; type: string; data: EndedRun }[]> {
  const { entries } = await new RunOutbox().read(pool, allPartitions, { rows: 1_000, bytes: 1e9 });
  return entries
    .flatMap(({ json }) => (json === null ? [] : [JSON.parse(json) as never]))
    .filter(({ subject }) => subject === run.run_id);
}

async function chargedTo(holderId: string): Promise<{ costs: string[]; charges: unknown[] }> {
  const { rows } = await pool.query<{ cost: string; charges: unknown }>(
    'select cost_pico::text as cost, charges::json as charges from chat.run_costs where holder_id = $1 order by id',
    [holderId],
  );
  return { costs: rows.map(({ cost }) => cost), charges: rows.map((row) => row.charges) };
}

describe('a run that was ended as interrupted although its process goes on', () => {
  it('is corrected by its own end, once: event, costs and note', async () => {
    const row = { ...start(), charges };
    const holder = await begin(row);
    await reap(pool, holder);
    const exact = ended(row, 7n);
    expect(await correctEnds(pool, [exact, exact])).toEqual([row.run.run_id]);
    expect(await correctEnds(pool, [exact])).toEqual([]);
    await reap(pool, holder);
    expect(await eventsOf(row)).toMatchObject([
      {
        type: runEnded,
        id: `${row.run.run_id}.ended`,
        data: { status: 'interrupted', cost_pico: '20000000' },
      },
      {
        ...{ type: runCorrected, id: `${row.run.run_id}.corrected` },
        data: { ...row.run, status: 'ok', cost_pico: '7', usage_estimated: false },
      },
    ]);
    expect(await chargedTo(holder)).toEqual({
      costs: ['20000000', '-19999993'],
      charges: [charges, charges],
    });
  });

  it('ends after the estimate by the clock of the database, so that no watermark has passed it', async () => {
    const row = start();
    await reap(pool, await begin(row));
    await correctEnds(pool, [ended(row, 7n)]);
    const [estimate, exact] = await eventsOf(row);
    const endOf = (event: unknown) =>
      (event as { data: { ended_at: string } } | undefined)?.data.ended_at ?? '';
    expect(endOf(exact) >= endOf(estimate)).toBe(true);
  });

  it('is not corrected when its own end came first', async () => {
    const row = { ...start(), charges };
    const log = await beginIn(row);
    const holder = log.instanceId;
    const exact = ended(row, 7n);
    await pool.query('update chat.instances set dead_at = now() where id = $1', [holder]);
    await endRun(exact);
    await reap(pool, holder);
    expect(await correctEnds(pool, [exact])).toEqual([]);
    expect(await eventsOf(row)).toMatchObject([{ type: runEnded, data: { status: 'ok' } }]);
    expect((await chargedTo(holder)).costs).toEqual(['7']);
  });

  it('costs nothing if the provider was not called after all', async () => {
    const row = { ...start(), charges };
    const holder = await begin(row);
    await reap(pool, holder);
    await correctEnds(pool, [failed(row.run)]);
    expect((await chargedTo(holder)).costs).toEqual(['20000000', '-20000000']);
  });

  it('names no user whose data were deleted meanwhile', async () => {
    const run = { ...someRun(), user_id: 'ada', input_preview: 'the question' };
    const row = start(run);
    const holder = await begin(row);
    await reap(pool, holder);
    await pool.query(
      'insert into chat.forgotten_users (tenant_id, user_digest, requested_at) values ($1, $2, now())',
      [run.tenant_id, userDigest(run.tenant_id, 'ada')],
    );
    await correctEnds(pool, [ended(row, 7n)]);
    expect((await eventsOf(row))[1]?.data).toMatchObject({
      status: 'ok',
      user_id: null,
      input_preview: null,
    });
  });

  it('still stores its answer for repeats of the call, unless another has taken the call over', async () => {
    const answers = await Promise.all(
      [false, true].map(async (takenOver) => {
        const row = start();
        const instanceId = await begin(row);
        const claim = {
          ...{ tenantId: row.run.tenant_id, callId: newId(), claimId: newId(), instanceId },
          ...{ fingerprint: Buffer.from('f'), userId: null },
        };
        await claimCompletion(pool, claim, 60);
        await reap(pool, instanceId);
        const other = { ...claim, claimId: newId(), instanceId: newId() };
        if (takenOver) expect(await claimCompletion(pool, other, 60)).toBeNull();
        const answer = { claimId: claim.claimId, sealed: Buffer.from('sealed') };
        const exact: EndRow = { ...ended(row, 7n), answer };
        await correctEnds(pool, [exact]);
        const { rows } = await pool.query<{ answer: Buffer | null }>(
          'select answer from chat.completions where call_id = $1',
          [claim.callId],
        );
        return rows[0]?.answer?.toString() ?? null;
      }),
    );
    expect(answers).toEqual(['sealed', null]);
  });

  it('can be corrected for a day', async () => {
    const [old, recent] = [start(), start()];
    await reap(pool, await begin(old));
    await reap(pool, await begin(recent));
    await pool.query(
      `with moved as (delete from chat.interrupted_runs where id = $1 returning id, tenant_id, instance_id, started_at)
       insert into chat.interrupted_runs (id, tenant_id, instance_id, started_at, interrupted_at)
       select id, tenant_id, instance_id, started_at, now() - interval '25 hours' from moved`,
      [old.run.run_id],
    );
    expect(await deleteOldInterrupted(pool)).toBe(false);
    expect(await correctEnds(pool, [ended(old, 7n), ended(recent, 7n)])).toEqual([recent.run.run_id]);
  });
});
