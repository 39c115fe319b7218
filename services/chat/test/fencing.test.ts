import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool, withTransaction, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { Catalogue } from '../src/domain/catalogue.ts';
import { sumCosts } from '../src/domain/price.ts';
import { Pricing } from '../src/domain/pricing.ts';
import type { EndedRun } from '../src/domain/run-record.ts';
import type { Attempt, AttemptStart, RunIdentity } from '../src/domain/run.ts';
import { noUsage } from '../src/domain/usage.ts';
import { Instance } from '../src/metering/instance.ts';
import { interruptedEnd } from '../src/metering/interrupted.ts';
import { Meter } from '../src/metering/meter.ts';
import { insertInstance, markSilentInstancesDead } from '../src/store/instance-system-store.ts';
import { findOrphans } from '../src/store/orphan-system-store.ts';
import { insertEnds, insertStarts, type EndRow, type StartRow } from '../src/store/run-system-store.ts';

const log = createLogger('chat', 'silent');

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase('chat');
  pool = createPool({ url: database.url, role: 'chat_system', max: 5, log });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

function start(run: RunIdentity = someRun(), number = 1): StartRow {
  const attempt: AttemptStart = {
    id: newId(),
    number,
    provider: 'openai',
    model: 'small',
    upstreamModel: 'small',
    inputTokensGuess: 10,
  };
  return { run, attempt, ended: [] };
}

/** The end of a call that failed. */
function answered({ attempt }: StartRow): Attempt {
  return {
    ...attempt,
    ...{ status: 'error', offsetMs: 0, durationMs: 1, timeToFirstTokenMs: null, httpStatus: 500 },
    ...{ errorCode: null, responseModel: null, usage: noUsage, cost: null },
  };
}

const pricing = new Pricing(
  Catalogue.parse({
    providers: [{ name: 'openai', kind: 'openai', base_url: 'https://provider.example' }],
    models: [{ id: 'small', provider: 'openai', price: { input_per_mtok: 2, output_per_mtok: 8 } }],
  }),
  null,
);

function someRun(): RunIdentity {
  return {
    id: newId(),
    tenantId: newId(),
    operation: 'chat',
    channel: 'api',
    requestId: newId(),
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    apiKeyId: newId(),
    userId: null,
    sessionId: null,
    agentId: null,
    requestModel: 'small',
    streamed: false,
    inputPreview: null,
    charges: null,
  };
}

function failed(run: RunIdentity): EndRow {
  return {
    run,
    attempts: [],
    end: {
      status: 'error',
      durationMs: 1,
      timeToFirstTokenMs: null,
      provider: null,
      model: null,
      responseModel: null,
      usage: noUsage,
      cost: sumCosts([]),
      errorType: 'database_unavailable',
      errorMessage: null,
      outputPreview: null,
    },
  };
}

/** What is told of its end; null when there is nothing. */
async function endOf(run: RunIdentity): Promise<EndedRun | null> {
  const { rows } = await pool.query<{ data: EndedRun }>(
    'select data::json as data from chat.outbox where run_id = $1 and ended_at is not null',
    [run.id],
  );
  return rows[0]?.data ?? null;
}

/** How many calls it has made while it is under way; 0 when it is not. */
async function attemptsOf(run: RunIdentity): Promise<number> {
  const { rows } = await pool.query<{ calls: number }>(
    'select json_array_length(attempts::json) as calls from chat.open_runs where id = $1',
    [run.id],
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
    expect((await insertStarts(pool, dead, [row])).alive).toBe(false);
    expect(await attemptsOf(row.run)).toBe(0);
  });

  it('keeps its instance from being declared dead until it is committed, so that no reaper misses it', async () => {
    const id = await makeInstance();
    const row = start();
    let killed: Promise<void> = Promise.resolve();
    let over = false;
    await withTransaction(pool, async (client) => {
      // One connection, as a pool that hands it out: what insertStarts writes stays uncommitted here.
      const one = { connect: async () => ({ query: client.query.bind(client), release: () => undefined }) };
      await insertStarts(one as unknown as Pool, id, [row]);
      killed = kill(id).then(() => {
        over = true;
      });
      await sleep(200);
      expect(over).toBe(false);
    });
    await killed;
    expect((await findOrphans(pool, newId(), [], 1_000)).map(({ run }) => run.id)).toContain(row.run.id);
  });
});

describe('a further attempt', () => {
  it('is refused when the run has been ended by another instance, and harms no other', async () => {
    const id = await makeInstance();
    const [lost, other] = [start(), start()];
    await insertStarts(pool, id, [lost, other]);
    await insertEnds(pool, [failed(lost.run)]);
    const next = { ...start(other.run, 2), ended: [answered(other)] };
    const fresh = start();
    const written = await insertStarts(pool, id, [start(lost.run, 2), next, fresh]);
    expect(written).toEqual({ alive: true, refused: new Set([lost.run.id]) });
    expect(await Promise.all([lost, other, fresh].map(({ run }) => attemptsOf(run)))).toEqual([0, 2, 1]);
  });
});

describe('an orphan', () => {
  it('is ended with what its ended attempts came to and an estimate of the others, however old it is', async () => {
    const id = await makeInstance();
    const first = start();
    await insertStarts(pool, id, [first]);
    const usage = {
      inputTokens: 7,
      cachedInputTokens: 3,
      cacheWriteTokens: 1,
      outputTokens: 5,
      reasoningTokens: 2,
      estimated: false,
    };
    const cost = { costPico: 10n ** 17n + 1n, source: 'genai-prices' as const };
    const ended = { ...answered(first), usage, cost };
    const second = { ...start(first.run, 2), ended: [ended] };
    await insertStarts(pool, id, [second]);
    await pool.query(`update chat.open_runs set started_at = now() - interval '60 days' where id = $1`, [
      first.run.id,
    ]);
    await kill(id);
    const orphans = await findOrphans(pool, newId(), [], 1_000);
    await insertEnds(
      pool,
      orphans.map((orphan) => interruptedEnd(orphan, pricing)),
    );
    expect(orphans.find(({ run }) => run.id === first.run.id)).toMatchObject({
      run: first.run,
      ended: [ended],
      open: second.attempt,
    });
    expect(await endOf(first.run)).toMatchObject({
      ...{ run_id: first.run.id, status: 'interrupted', usage_estimated: true },
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
        },
        { number: 2, status: 'interrupted', input_tokens: 10, usage_estimated: true, cost_pico: '20000000' },
      ],
    });
  });
});

describe('a start that the database writes after the client was refused', () => {
  it('gets its end from the process that gave it up, not from a reaper that takes it for a real one', async () => {
    const instance = new Instance(pool, log);
    const meter = new Meter({ pool, instance, log, registry: createRegistry('test') });
    await instance.start();
    meter.start();
    const row = start();
    try {
      await withTransaction(pool, async (client) => {
        // What a server does that hangs: the statement is there, and is carried out much later.
        await client.query('select id from chat.instances where id = $1 for update', [instance.id]);
        // A statement, because a transaction may not idle for longer than a second.
        const held = client.query('select pg_sleep(4)');
        await expect(meter.startAttempt(row)).rejects.toMatchObject({ code: 'database_unavailable' });
        await meter.endRun(failed(row.run));
        expect(await endOf(row.run)).toBeNull();
        await held;
      });
      const deadline = performance.now() + 15_000;
      while ((await endOf(row.run)) === null && performance.now() < deadline) await sleep(100);
      expect(await endOf(row.run)).toMatchObject({ status: 'error' });
      expect(meter.openRuns).toEqual([]);
    } finally {
      await meter.stop();
      await instance.stop();
    }
  });
});
