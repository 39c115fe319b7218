import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { userDigest } from '@gatehouse/kit/user-digest';
import type { TimedQuery } from '@gatehouse/pg/patient-client';
import type { Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import type { PublishedRow } from '../src/recording/log-group-store.ts';
import { RunOutbox } from '../src/recording/outbox-system-store.ts';
import type { RunLog } from '../src/recording/run-log.ts';
import { appendRow, findLeftLogs, takeOverLog } from '../src/recording/run-log-system-store.ts';
import { endRun, makeLog as makeLogIn, rest, rowCount } from './logged-runs.ts';
import { callAgain, ended, failed, someRun, start } from './run-rows.ts';
import { endsOf, createSystemDatabase, type SystemDatabase } from './system-database.ts';

let database: SystemDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createSystemDatabase();
  pool = database.pool;
});
afterAll(async () => database.drop());

/** Rows that wait for publication, and runs with a lost end. */
let pushed: PublishedRow[];
let lost: string[];
const publisher = { isOpen: true, takesObjects: true, push: (row: PublishedRow) => pushed.push(row) };
beforeEach(async () => {
  [pushed, lost] = [[], []];
  [publisher.isOpen, publisher.takesObjects] = [true, true];
  await pool.query('delete from chat.run_log');
  await pool.query('delete from chat.open_runs');
});

const makeLog = (own: Pool = pool) => makeLogIn(own, { publisher, onLost: (id) => lost.push(id) });

async function runsIn(log: RunLog): Promise<{ id: string; ended: boolean; waits: boolean }[]> {
  const { rows } = await pool.query<{ id: string; ended: boolean; waits: boolean }>(
    'select id, ended, ending is not null as waits from chat.logged_runs where instance_id = $1 order by id',
    [log.instanceId],
  );
  return rows;
}

async function leave(log: RunLog): Promise<boolean> {
  await pool.query('update chat.instances set dead_at = now() where id = $1', [log.instanceId]);
  return (await takeOverLog(pool, log.instanceId)) !== null;
}

async function orphans(): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('select id from chat.open_runs order by id');
  return rows.map(({ id }) => id);
}

describe('ends that this process publishes', () => {
  it('are handed over once they are committed, and are not in the outbox', async () => {
    const log = await makeLog();
    const row = start();
    await log.start(row);
    await endRun(ended(row, 7n));
    expect(pushed).toHaveLength(1);
    const [event] = pushed[0]?.events ?? [];
    expect(event).toMatchObject({ runId: row.run.run_id, tenantId: row.run.tenant_id });
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ ...row.run, status: 'ok', cost_pico: '7' });
    expect(Date.parse(event?.endedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(event?.startedAt ?? ''));
    expect(await endsOf(pool, row.run)).toEqual([]);
    expect(await runsIn(log)).toEqual([{ id: row.run.run_id, ended: true, waits: true }]);
  });

  it('hold the time back up to which everything is published, until they are', async () => {
    const outbox = new RunOutbox();
    const log = await makeLog();
    const rows = [start(), start()];
    for (const row of rows) await log.start(row);
    expect(await outbox.heldAt(pool)).toBeNull();
    for (const row of rows) await endRun(ended(row, 1n));
    const [first, second] = pushed;
    expect((await outbox.heldAt(pool))?.toISOString()).toBe(first?.events[0]?.endedAt);
    if (first !== undefined) log.published(first);
    // The next row says so.
    await log.start(start());
    expect((await outbox.heldAt(pool))?.toISOString()).toBe(second?.events[0]?.endedAt);
    if (second !== undefined) log.published(second);
    await log.start(start());
    expect(await outbox.heldAt(pool)).toBeNull();
  });

  it('are deleted with the rest once they are published, while runs under way stay', async () => {
    const log = await makeLog();
    const [open, over] = [start(), start()];
    await log.start(open);
    await log.start(over);
    await log.start(callAgain(open));
    await endRun(ended(over, 7n));
    for (const row of pushed) log.published(row);
    await rest(pool, log);
    expect(await runsIn(log)).toEqual([{ id: open.run.run_id, ended: false, waits: false }]);
    expect(await leave(log)).toBe(true);
    const { rows } = await pool.query<{ id: string; number: number }>(
      `select id, (attempts::json -> 'open' ->> 'number')::integer as number from chat.open_runs`,
    );
    expect(rows).toEqual([{ id: open.run.run_id, number: 2 }]);
    expect(await rowCount(pool, log)).toBe(0);
  });

  it('take little room however many there were', async () => {
    const log = await makeLog();
    const open = start();
    await log.start(open);
    for (let round = 0; round < 60; round += 1) {
      const rows = Array.from({ length: 50 }, () => start());
      await Promise.all(rows.map((row) => log.start(row)));
      await Promise.all(rows.map((row) => endRun(ended(row, 1n))));
      for (const row of pushed.splice(0)) log.published(row);
    }
    const { rows } = await pool.query<{ runs: number }>(
      'select coalesce(sum(cardinality(start_ids)), 0)::integer as runs from chat.run_log where instance_id = $1',
      [log.instanceId],
    );
    expect(rows[0]?.runs).toBeLessThan(2_000);
    await leave(log);
    expect(await orphans()).toEqual([open.run.run_id]);
  });
});

describe('ends that this process fails to publish', () => {
  it('go to the outbox, once, and keep their times', async () => {
    const log = await makeLog();
    const row = start();
    await log.start(row);
    await endRun(ended(row, 7n));
    const [waiting] = pushed;
    if (waiting !== undefined) log.spill(waiting);
    await eventually(async () => expect(await endsOf(pool, row.run)).toMatchObject([{ cost_pico: '7' }]));
    const { rows } = await pool.query<{ ended_at: Date }>(
      'select ended_at from chat.outbox where run_id = $1',
      [row.run.run_id],
    );
    expect(rows[0]?.ended_at.toISOString()).toBe(waiting?.events[0]?.endedAt);
    await log.start(start());
    await leave(log);
    expect(await endsOf(pool, row.run)).toHaveLength(1);
  });

  it('are in the outbox at once while none can', async () => {
    publisher.isOpen = false;
    const log = await makeLog();
    const row = start();
    await log.start(row);
    await endRun(ended(row, 7n));
    expect(await endsOf(pool, row.run)).toMatchObject([{ status: 'ok' }]);
    expect(await runsIn(log)).toEqual([{ id: row.run.run_id, ended: true, waits: false }]);
    await leave(log);
    expect(await endsOf(pool, row.run)).toHaveLength(1);
    expect(await orphans()).toEqual([]);
  });
});

describe('the log of a process that died', () => {
  it('is taken over once: what was under way and what was not published, and nothing else', async () => {
    const log = await makeLog();
    const [published, waiting, open] = [start(), start(), start()];
    for (const row of [published, waiting, open]) await log.start(row);
    await endRun(ended(published, 1n));
    for (const row of pushed) log.published(row);
    await endRun(ended(waiting, 2n));
    expect(await findLeftLogs(pool)).toEqual([]);
    await pool.query('update chat.instances set dead_at = now() where id = $1', [log.instanceId]);
    expect(await findLeftLogs(pool)).toEqual([log.instanceId]);
    const takers = await Promise.all([1, 2, 3].map(() => takeOverLog(pool, log.instanceId)));
    expect(takers.filter((refused) => refused !== null)).toEqual([[]]);
    expect(await orphans()).toEqual([open.run.run_id]);
    expect(await endsOf(pool, published.run)).toEqual([]);
    expect(await endsOf(pool, waiting.run)).toMatchObject([{ ...waiting.run, status: 'ok', cost_pico: '2' }]);
    expect(await findLeftLogs(pool)).toEqual([]);
  });

  it('takes ends until it is taken over, and none after', async () => {
    const log = await makeLog();
    const [early, late] = [start(), start()];
    for (const row of [early, late]) await log.start(row);
    await pool.query('update chat.instances set dead_at = now() where id = $1', [log.instanceId]);
    await endRun(ended(early, 1n));
    await takeOverLog(pool, log.instanceId);
    await endRun(ended(late, 1n));
    expect(await endsOf(pool, early.run)).toMatchObject([{ status: 'ok' }]);
    expect(await endsOf(pool, late.run)).toEqual([]);
    expect(await orphans()).toEqual([late.run.run_id]);
    expect(log.isDone).toBe(true);
  });
});

describe('an end that finds 20,000 others waiting', () => {
  it('is refused, and a reaper ends its run', async () => {
    const log = await makeLog();
    const rows = Array.from({ length: 20_001 }, () => start());
    await Promise.all(rows.map((row) => log.start(row)));
    await Promise.all(rows.map((row) => endRun(ended(row, 1n))));
    expect(lost).toEqual([rows.at(-1)?.run.run_id]);
    await eventually(async () => expect(await orphans()).toEqual([rows.at(-1)?.run.run_id]));
    expect(log.openRuns).toEqual([]);
    expect(pushed.flatMap(({ runs }) => runs)).toHaveLength(20_000);
  });
});

describe('an end that waits for a database that hangs', () => {
  it('is held for ten seconds, whether it is queued, under way or before its start, and committed later', async () => {
    const hang = Promise.withResolvers<undefined>();
    let hangs = false;
    const connect = async (): Promise<unknown> => {
      if (hangs) await hang.promise;
      return pool.connect();
    };
    const log = await makeLog({ connect, query: pool.query.bind(pool) } as unknown as Pool);
    const [sent, queued, early] = [start(), start(), start()];
    for (const row of [sent, queued]) await log.start(row);
    hangs = true;
    const begun = log.start(early);
    const resolved: string[] = [];
    const note = (name: string, end: Promise<void>): Promise<number> => end.then(() => resolved.push(name));
    const ends = [note('sent', log.end(ended(sent, 1n))), note('early', log.end(ended(early, 1n)))];
    await sleep(20);
    ends.push(note('queued', log.end(ended(queued, 1n))));
    await log.tick(monotonicMs() + 9_000, -Infinity);
    await sleep(20);
    expect(resolved).toEqual([]);
    await log.tick(monotonicMs() + 9_600, -Infinity);
    await Promise.all(ends);
    expect(pushed).toEqual([]);
    hang.resolve(undefined);
    await begun;
    await eventually(() => expect(pushed.flatMap(({ runs }) => runs)).toHaveLength(3));
  });
});

describe('a row of which nothing is known', () => {
  const outage = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

  /** A pool whose next connection loses the answer of a statement, before or after it is carried out. */
  function losing(when: 'before' | 'after'): { pool: Pool; arm: () => void } {
    let armed = false;
    const connect = async (): Promise<unknown> => {
      const client = await pool.connect();
      if (!armed) return client;
      armed = false;
      return {
        query: async (query: TimedQuery) => {
          if (when === 'after') await client.query(query);
          throw outage;
        },
        release: () => client.release(),
      };
    };
    // All that the log uses of a pool.
    const query = (...args: never[]) => (pool.query as (...given: never[]) => unknown)(...args);
    return { pool: { connect, query } as unknown as Pool, arm: () => (armed = true) };
  }

  it.each(['before', 'after'] as const)(
    'is not taken for the next one, if it had a further call alone, and was lost %s it was written',
    async (when) => {
      const own = losing(when);
      const log = await makeLog(own.pool);
      const row = start();
      await log.start(row);
      own.arm();
      await expect(log.start(callAgain(row))).rejects.toMatchObject({ code: 'database_unavailable' });
      const later = start();
      await log.start(later);
      await endRun(ended(row, 7n));
      expect(pushed).toHaveLength(1);
      await leave(log);
      expect(await orphans()).toEqual([later.run.run_id]);
    },
  );

  it('is not written by a server that hung, once another row has its number', async () => {
    const log = await makeLog();
    for (const row of [start(), start()]) {
      await log.start(row);
      await endRun(ended(row, 1n));
    }
    for (const row of pushed) log.published(row);
    await rest(pool, log);
    const { run } = start();
    const late = await appendRow(pool, {
      ...{ instanceId: log.instanceId, sequence: 2, published: 0, ends: [], late: [], parts: [] },
      starts: [
        {
          ...{ id: run.run_id, tenantId: run.tenant_id, startedAt: null, charges: null },
          ...{ run: JSON.stringify(run), attempts: '{}' },
        },
      ],
    });
    expect(late).toEqual({ outcome: 'dead' });
    expect(await runsIn(log)).toEqual([]);
  });

  it.each(['before', 'after'] as const)(
    'is found out, if its answer was lost %s it was written',
    async (when) => {
      const own = losing(when);
      const log = await makeLog(own.pool);
      const [open, refused] = [start(), start()];
      await log.start(open);
      own.arm();
      const ending = endRun(ended(open, 7n));
      await expect(log.start(refused)).rejects.toMatchObject({ code: 'database_unavailable' });
      // It is not known whether there is something to end.
      await endRun(failed(refused.run, refused.handle));
      await ending;
      await eventually(() => expect(log.openRuns).toEqual([]));
      expect(pushed.flatMap(({ events }) => events.map(({ runId }) => runId))).toEqual(
        when === 'after' ? [open.run.run_id, refused.run.run_id] : [open.run.run_id],
      );
      for (const row of pushed) log.published(row);
      await log.start(start());
      await leave(log);
      expect(await orphans()).toHaveLength(1);
    },
  );
});

describe('a run that is written again together with a further call', () => {
  it('has that call when its process dies', async () => {
    const log = await makeLog();
    const open = start();
    await log.start(open);
    const rows = Array.from({ length: 20 }, () => start(someRun('x'.repeat(60_000))));
    for (const row of rows) {
      await log.start(row);
      await endRun(ended(row, 1n));
      for (const waiting of pushed.splice(0)) log.published(waiting);
    }
    // The next row carries the run.
    await log.start(callAgain(open));
    await leave(log);
    const { rows: left } = await pool.query<{ number: number }>(
      `select (attempts::json -> 'open' ->> 'number')::integer as number from chat.open_runs`,
    );
    expect(left).toEqual([{ number: 2 }]);
  });
});

describe('a run whose event passes as text', () => {
  it('is in memory as text alone', async () => {
    publisher.takesObjects = false;
    const log = await makeLog();
    const row = start();
    await log.start(row);
    await endRun(ended(row, 7n));
    expect(pushed.map(({ runs }) => runs[0]?.ended('', ''))).toEqual([null]);
  });
});

describe('a run whose user is forgotten', () => {
  it.each([true, false])(
    'is written without texts from then on (published from here: %s)',
    async (isOpen) => {
      publisher.isOpen = isOpen;
      const log = await makeLog();
      const run = { ...someRun(), user_id: 'ada', input_preview: 'the question' };
      const row = start(run);
      await log.start(row);
      await pool.query(
        'insert into chat.forgotten_users (tenant_id, user_digest, requested_at) values ($1, $2, now())',
        [run.tenant_id, userDigest(run.tenant_id, 'ada')],
      );
      const exact = ended(row, 7n);
      await endRun({ ...exact, end: { ...exact.end, outputPreview: 'the answer' } });
      const data = isOpen
        ? pushed.map(({ events }) => JSON.parse(events[0]?.data ?? '') as unknown)
        : await endsOf(pool, run);
      // An object would still have the texts.
      expect(pushed.map(({ runs }) => runs[0]?.ended('', ''))).toEqual(isOpen ? [null] : []);
      expect(data).toMatchObject([
        { status: 'ok', cost_pico: '7', user_id: null, input_preview: null, output_preview: null },
      ]);
    },
  );
});
