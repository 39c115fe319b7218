import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { noParts } from '../src/catalogue/price.ts';
import type { EndedRun, StartedRun } from '../src/runs/run-record.ts';
import type { Attempt } from '../src/runs/run.ts';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import { Instance } from '../src/recording/instance-job.ts';
import { interruptedEnd } from '../src/recording/interrupted.ts';
import { RunRecorder } from '../src/recording/run-recorder.ts';
import {
  beatOf,
  insertInstance,
  markSilentInstancesDead,
  type BeatRow,
} from '../src/recording/instance-system-store.ts';
import { findOrphans } from '../src/recording/orphan-system-store.ts';
import { insertInterruptedEnds } from '../src/recording/run-end-system-store.ts';
import { appendRow, takeOverLog } from '../src/recording/run-log-system-store.ts';
import { InstanceDeadError, type StartRow } from '../src/recording/run-rows.ts';
import { endRun, leaveOrphans, noPublisher, startRuns } from './logged-runs.ts';
import { callAgain, ended, failed, pricing, someRun, start } from './run-rows.ts';
import { createSystemDatabase, endsOf, type SystemDatabase } from './system-database.ts';

const log = createLogger('chat', 'silent');

let database: SystemDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createSystemDatabase();
  pool = database.pool;
});
afterAll(async () => database.drop());

/** The end of a call that failed. */
function answered({ attempt }: StartRow): Attempt {
  return {
    ...attempt,
    ...{ status: 'error', offsetMs: 0, durationMs: 1, timeToFirstTokenMs: null, httpStatus: 500 },
    ...{ errorCode: null, responseModel: null, usage: noUsage, cost: null },
  };
}

/** The end event of a run, of which there is one; null without one. */
async function endOf(run: StartedRun): Promise<EndedRun | null> {
  const ends = await endsOf(pool, run);
  expect(ends.length).toBeLessThan(2);
  return ends[0] ?? null;
}

/** Costs to be charged for the runs of an instance. */
async function costsOf(holderId: string): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `select tenant_id, charges::json as charges, cost_pico::text as cost from chat.run_costs
     where holder_id = $1 order by tenant_id`,
    [holderId],
  );
  return rows;
}

/** How many calls it has made while it is under way; 0 when it is not. */
async function attemptsOf(run: StartedRun): Promise<number> {
  const { rows } = await pool.query<{ calls: number }>(
    `select 1 + json_array_length(attempts::json -> 'ended') as calls from chat.logged_runs where id = $1 and not ended`,
    [run.run_id],
  );
  return rows[0]?.calls ?? 0;
}

async function makeInstance(silentSeconds = 0): Promise<string> {
  const id = newId();
  await insertInstance(pool, id);
  await pool.query(
    `update chat.instances set heartbeat_at = now() - $2 * interval '1 second' where id = $1`,
    [id, silentSeconds],
  );
  return id;
}

async function kill(id: string): Promise<void> {
  await pool.query('update chat.instances set dead_at = now() where id = $1', [id]);
}

describe('an instance that has been silent', () => {
  const limits = { silentMs: 15_000, validMs: 7_500 };

  it('is declared dead by one whose own heartbeat has just gone through', async () => {
    const silent = await makeInstance(20);
    const living = await makeInstance(10);
    const dead = await markSilentInstancesDead(pool, { ...limits, judgeBeat: Date.now() });
    expect(dead).toContain(silent);
    expect(dead).not.toContain(living);
  });

  it('is not declared dead by a statement that comes late, as after a database that hung', async () => {
    const silent = await makeInstance(20);
    expect(await markSilentInstancesDead(pool, { ...limits, judgeBeat: Date.now() - 8_000 })).toEqual([]);
    await kill(silent);
  });
});

describe('the start of a run', () => {
  it('is not written by an instance that is dead', async () => {
    const dead = await makeInstance();
    await kill(dead);
    const row = start();
    await expect(startRuns(pool, dead, [row])).rejects.toThrow(InstanceDeadError);
    expect(await attemptsOf(row.run)).toBe(0);
  });

  it('keeps its instance from being declared dead until it is committed, so that no reaper misses it', async () => {
    const id = await makeInstance();
    const row = start();
    const { run_id: runId, tenant_id: tenantId } = row.run;
    const logged = { id: runId, tenantId, startedAt: null, charges: null, run: JSON.stringify(row.run) };
    let killed: Promise<void> = Promise.resolve();
    let over = false;
    await withTransaction(pool, async (client) => {
      // One connection, as a pool that hands it out, which is all that is used of it: what is appended stays uncommitted.
      const one = { connect: async () => ({ query: client.query.bind(client), release: () => undefined }) };
      await appendRow(one as unknown as Pool, {
        ...{ instanceId: id, sequence: 1, published: 0, ends: [], late: [], parts: [] },
        starts: [{ ...logged, attempts: '{}' }],
      });
      killed = kill(id).then(() => {
        over = true;
      });
      await eventually(async () => {
        const { rows } = await pool.query(`select from ${lockWaits}`);
        expect(rows).not.toEqual([]);
      });
      expect(over).toBe(false);
    });
    await killed;
    await takeOverLog(pool, id);
    expect((await findOrphans(pool, newId(), [], 1_000)).orphans.map(({ run }) => run.run_id)).toContain(
      runId,
    );
  });
});

describe('a heartbeat', () => {
  it('returns its time while the instance lives, and nothing once it was declared dead', async () => {
    const id = await makeInstance();
    const first = await insertInstance(pool, newId());
    const { text, values } = beatOf(id);
    const beat = async () => (await pool.query<BeatRow>(text, [...values])).rows;
    const [row] = await beat();
    expect(row?.beat_at).toBeGreaterThanOrEqual(first);
    await kill(id);
    expect(await beat()).toEqual([]);
  });
});

describe('a further attempt', () => {
  it('is refused when the run has ended, and harms no other', async () => {
    const id = await makeInstance();
    const [lost, other, fresh] = [start(), start(), start()];
    const log = await startRuns(pool, id, [lost, other]);
    await endRun(failed(lost.run, lost.handle));
    const next = { ...callAgain(other), ended: [answered(other)] };
    const written = await Promise.allSettled([callAgain(lost), next, fresh].map((row) => log.start(row)));
    expect(written.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(await Promise.all([lost, other, fresh].map(({ run }) => attemptsOf(run)))).toEqual([0, 2, 1]);
  });

  it('is refused when the instance was declared dead', async () => {
    const id = await makeInstance();
    const row = start();
    const log = await startRuns(pool, id, [row]);
    await kill(id);
    await expect(log.start(callAgain(row))).rejects.toThrow(InstanceDeadError);
    expect(await attemptsOf(row.run)).toBe(1);
  });
});

describe('the start of a run with a reservation', () => {
  it('is written under the id that holds it alone, since the cost is settled there', async () => {
    const instance = new Instance({ pool, url: database.url, log });
    const recorder = new RunRecorder({
      pool,
      instance,
      alerts: { alertOfRun: () => [] },
      publisher: noPublisher,
      log,
      registry: createRegistry('test'),
    });
    await instance.start();
    recorder.start();
    const charges = [{ subjectId: newId(), windowStart: 1_700_000_000_000 }];
    const { id: dead } = instance;
    const heldBy = (holderId: string | null): StartRow => ({ ...start(), charges, holderId });
    const rows = [heldBy(dead), heldBy(dead), heldBy(dead), heldBy(null)];
    const [first = start(), second = start(), third = start(), free = start()] = rows;
    await recorder.startAttempt(first);
    await kill(dead);
    const refused = { code: 'service_unavailable' };
    await expect(recorder.startAttempt(second)).rejects.toMatchObject(refused);
    expect(instance.id).not.toBe(dead);
    await expect(recorder.startAttempt(third)).rejects.toMatchObject(refused);
    await recorder.startAttempt(free);
    const last = heldBy(instance.id);
    await recorder.startAttempt(last);
    const started = await Promise.all([...rows, last].map(({ run }) => attemptsOf(run)));
    expect(started).toEqual([1, 0, 0, 1, 1]);
    await Promise.all([free, last].map((row) => recorder.endRun(ended(row, 7n))));
    await leaveOrphans(pool, dead);
    await recorder.stop();
    await instance.stop();
  });
});

describe('an orphan', () => {
  it('is ended with what its ended attempts came to and an estimate of the others, however old it is', async () => {
    const id = await makeInstance();
    const first = start();
    const log = await startRuns(pool, id, [first]);
    const usage = {
      inputTokens: 7,
      cachedInputTokens: 3,
      cacheWriteTokens: 1,
      outputTokens: 5,
      reasoningTokens: 2,
      estimated: false,
    };
    const parts = { ...noParts, input: 10n ** 17n, output: 1n };
    const cost = { costPico: 10n ** 17n + 1n, source: 'genai-prices' as const, version: 'v1', parts };
    const ended = { ...answered(first), usage, cost };
    const second = { ...callAgain(first), ended: [ended] };
    await log.start(second);
    await leaveOrphans(pool, id);
    await pool.query(`update chat.open_runs set started_at = now() - interval '60 days' where id = $1`, [
      first.run.run_id,
    ]);
    const { orphans } = await findOrphans(pool, newId(), [], 1_000);
    await insertInterruptedEnds(
      pool,
      orphans.map((orphan) => interruptedEnd(orphan, pricing)),
    );
    expect(orphans.find(({ run }) => run.run_id === first.run.run_id)).toMatchObject({
      run: first.run,
      ended: [ended],
      open: second.attempt,
    });
    expect(await endOf(first.run)).toMatchObject({
      ...{ run_id: first.run.run_id, status: 'interrupted', usage_estimated: true },
      ...{ input_tokens: 17, cached_input_tokens: 3, cache_write_tokens: 1 },
      ...{ output_tokens: 5, reasoning_tokens: 2 },
      // The ended one's and ten tokens at 2 USD per million.
      ...{ cost_pico: '100000000020000001', price_source: 'catalogue', priced: true },
      spans: [
        {
          number: 1,
          status: 'error',
          input_tokens: 7,
          usage_estimated: false,
          cost_pico: '100000000000000001',
          cost_parts: { input: '100000000000000000', output: '1' },
        },
        {
          ...{ number: 2, status: 'interrupted', input_tokens: 10, usage_estimated: true },
          ...{ cost_pico: '20000000', cost_parts: { input: '20000000' } },
        },
      ],
    });
  });
});

describe('an end', () => {
  it('has one event and one charge, however often it is repeated', async () => {
    const id = await makeInstance();
    const charges = [{ subjectId: newId(), windowStart: 1_700_000_000_000 }];
    const row = { ...start(), charges };
    await startRuns(pool, id, [row]);
    const end = ended(row, 7n);
    await endRun(end);
    await Promise.all([end, failed(row.run, row.handle)].map(endRun));
    expect(await endOf(row.run)).toMatchObject({ status: 'ok', cost_pico: '7' });
    expect(await costsOf(id)).toEqual([{ tenant_id: row.run.tenant_id, charges, cost: '7' }]);
  });

  it('of an orphan is charged to the budgets that its run was reserved in', async () => {
    const id = await makeInstance();
    const charges = [{ subjectId: newId(), windowStart: 1_700_000_000_000 }];
    const rows = [{ ...start(), charges }, { ...start(), charges }, start()];
    await startRuns(pool, id, rows);
    await leaveOrphans(pool, id);
    const { orphans } = await findOrphans(pool, newId(), [], 1_000);
    await insertInterruptedEnds(
      pool,
      orphans.map((orphan) => interruptedEnd(orphan, pricing)),
    );
    // Ten tokens each at 2 USD per million; not the same tenant's, so not in sum.
    const tenants = rows.slice(0, 2).map(({ run }) => run.tenant_id);
    expect(await costsOf(id)).toEqual(
      tenants.sort().map((tenant_id) => ({ tenant_id, charges, cost: '20000000' })),
    );
  });
});

describe('what is kept of a run under way', () => {
  it('is read as the first release wrote it', async () => {
    const id = await makeInstance();
    await kill(id);
    const runId = newId();
    const run = {
      ...{ run_id: runId, tenant_id: newId(), operation: 'embeddings', channel: 'api', request_id: 'r' },
      ...{
        trace_id: 'a',
        span_id: 'b',
        api_key_id: newId(),
        user_id: 'ann',
        session_id: 's',
        agent_id: null,
      },
      ...{ request_model: 'small', streamed: false, input_preview: 'hello' },
    };
    const call = { id: newId(), number: 1, provider: 'openai', model: 'small', upstreamModel: 'small' };
    const usage = {
      ...{ inputTokens: 3, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 },
      estimated: false,
    };
    const end = {
      ...{ status: 'error', offsetMs: 1, durationMs: 2, timeToFirstTokenMs: null, httpStatus: 500 },
      ...{ errorCode: 'provider_error', responseModel: null, usage },
      cost: { costPico: '6000000', source: 'catalogue' },
    };
    const attempts = {
      ended: [{ ...call, inputTokensGuess: 4, ...end }],
      open: { ...call, id: newId(), number: 2, inputTokensGuess: 5 },
    };
    await pool.query(
      `insert into chat.open_runs (id, tenant_id, instance_id, run, attempts) values ($1, $2, $3, $4, $5)`,
      [runId, run.tenant_id, id, JSON.stringify(run), JSON.stringify(attempts)],
    );
    const { orphans } = await findOrphans(pool, newId(), [], 1_000);
    await insertInterruptedEnds(
      pool,
      orphans.map((orphan) => interruptedEnd(orphan, pricing)),
    );
    const event = await endOf({ ...someRun(), run_id: runId });
    expect(event).toMatchObject({ ...run, input_tokens: 8, cost_pico: '16000000' });
    expect(event?.spans).toMatchObject([
      { kind: 'embedding', number: 1, http_status: 500, error_code: 'provider_error', cost_pico: '6000000' },
      { kind: 'embedding', number: 2, status: 'interrupted', input_tokens: 5, cost_pico: '10000000' },
    ]);
  });
});

describe('a start that the database writes after the client was refused', () => {
  it('has an end of the process that gave it up, or is not written at all, and no reaper takes it for a real one', async () => {
    const instance = new Instance({ pool, url: database.url, log });
    const recorder = new RunRecorder({
      pool,
      instance,
      alerts: { alertOfRun: () => [] },
      publisher: noPublisher,
      log,
      registry: createRegistry('test'),
    });
    await instance.start();
    recorder.start();
    const row = start();
    try {
      await withTransaction(pool, async (client) => {
        // A server that hangs does this: the statement is there, and is carried out much later.
        await client.query('select id from chat.instances where id = $1 for update', [instance.id]);
        // A statement, because a transaction may not idle for longer than a second.
        const held = client.query('select pg_sleep(4)');
        await expect(recorder.startAttempt(row)).rejects.toMatchObject({ code: 'database_unavailable' });
        await recorder.endRun(failed(row.run, row.handle));
        expect(await endOf(row.run)).toBeNull();
        await held;
      });
      await eventually(() => expect(recorder.openRuns).toEqual([]));
      await leaveOrphans(pool, instance.id);
      const { orphans } = await findOrphans(pool, newId(), [], 1_000);
      expect(orphans.map(({ run }) => run.run_id)).not.toContain(row.run.run_id);
      expect((await endOf(row.run))?.status ?? 'error').toBe('error');
    } finally {
      await recorder.stop();
      await instance.stop();
    }
  });
});
