import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { query } from '@gatehouse/test/query';
import type { PublishedRow } from '../src/recording/log-group-store.ts';
import { Reaper } from '../src/recording/reaper-job.ts';
import type { RunLog } from '../src/recording/run-log.ts';
import type { StartRow } from '../src/recording/run-rows.ts';
import { endRun, makeLog as makeLogIn } from './logged-runs.ts';
import { ended, pricing, start } from './run-rows.ts';
import { createSystemDatabase, endsOf, type SystemDatabase } from './system-database.ts';

/** Ends whose events the outbox refuses, which must not be lost: their cost is counted from there. */

let database: SystemDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createSystemDatabase();
  pool = database.pool;
});
afterAll(async () => database.drop());

const refusedCost = 13;
/** Lets a table refuse all that has the cost `refusedCost`. */
async function refuse(table: 'outbox' | 'outbox_dead_letters', column: string, text: string): Promise<void> {
  await query(
    database.adminUrl,
    `alter table chat.${table} add constraint refuses check (strpos(${column}, '${text}') = 0)`,
  );
}
const accept = (table: string) =>
  query(database.adminUrl, `alter table chat.${table} drop constraint if exists refuses`);

let pushed: PublishedRow[];
let deadLetters: number;
const publisher = { isOpen: true, takesObjects: false, push: (row: PublishedRow) => pushed.push(row) };
beforeEach(async () => {
  [pushed, deadLetters, publisher.isOpen] = [[], 0, true];
  await pool.query('delete from chat.outbox_dead_letters');
  await refuse('outbox', 'data', `"cost_pico":"${refusedCost}"`);
});
afterEach(async () => {
  await accept('outbox');
  await accept('outbox_dead_letters');
});

const makeLog = () => makeLogIn(pool, { publisher, onDeadLetters: (events) => (deadLetters += events) });

/** Three runs of one row, of which the outbox refuses the second. */
async function endThree(log: RunLog): Promise<StartRow[]> {
  const rows = [start(), start(), start()];
  await Promise.all(rows.map((row) => log.start(row)));
  await Promise.all(rows.map((row, index) => endRun(ended(row, index === 1 ? BigInt(refusedCost) : 7n))));
  return rows;
}

const spillAll = (log: RunLog) => pushed.splice(0).forEach((row) => log.spill(row));

const inOutbox = async (rows: readonly StartRow[]) =>
  (await Promise.all(rows.map(({ run }) => endsOf(pool, run)))).map(({ length }) => length);

interface DeadLetter {
  tenant_id: string;
  reason: string;
  entry: string;
}

const letters = async () =>
  (await pool.query<DeadLetter>('select tenant_id, reason, entry from chat.outbox_dead_letters')).rows;

async function expectLetterOf(row: StartRow | undefined): Promise<void> {
  const [letter, ...more] = await letters();
  expect(more).toEqual([]);
  expect(letter).toMatchObject({ tenant_id: row?.run.tenant_id, reason: expect.stringMatching(/^refused/) });
  const entry = JSON.parse(letter?.entry ?? '') as { data: string };
  expect(entry).toMatchObject({ run_id: row?.run.run_id, ended_at: expect.any(String) });
  expect(JSON.parse(entry.data)).toMatchObject({ status: 'ok', cost_pico: String(refusedCost) });
}

const waiting = async (log: RunLog) =>
  (
    await pool.query('select from chat.logged_runs where instance_id = $1 and ending is not null', [
      log.instanceId,
    ])
  ).rows.length;

describe('an event that the outbox refuses', () => {
  it('is a dead letter, while those beside it are published', async () => {
    const log = await makeLog();
    const rows = await endThree(log);
    expect(pushed).toHaveLength(1);
    spillAll(log);
    await eventually(async () => expect(await inOutbox(rows)).toEqual([1, 0, 1]));
    await expectLetterOf(rows[1]);
    expect(deadLetters).toBe(1);
    await eventually(() => expect(log.isDone).toBe(true));
    await log.start(start());
    expect(await waiting(log)).toBe(0);
  });

  it('is a dead letter too where its process publishes nothing, and the run has its end', async () => {
    publisher.isOpen = false;
    const log = await makeLog();
    const rows = await endThree(log);
    expect(await inOutbox(rows)).toEqual([1, 0, 1]);
    await expectLetterOf(rows[1]);
    expect(log.openRuns).toEqual([]);
    const { rows: open } = await pool.query('select from chat.open_runs');
    expect(open).toEqual([]);
  });

  it('stays in the log while the dead letters refuse it too, and is tried again', async () => {
    await refuse('outbox_dead_letters', 'reason', 'refused');
    const log = await makeLog();
    const rows = await endThree(log);
    spillAll(log);
    await eventually(async () => expect(await inOutbox(rows)).toEqual([1, 0, 1]));
    await eventually(async () => {
      await log.start(start());
      expect(await waiting(log)).toBe(3);
    });
    expect(log.isDone).toBe(false);
    await accept('outbox_dead_letters');
    await eventually(async () => {
      await log.tick(0, -Infinity);
      expect(deadLetters).toBe(1);
    });
    await expectLetterOf(rows[1]);
    expect(await inOutbox(rows)).toEqual([1, 0, 1]);
  });

  it('holds up no other of a dead process, and is counted', async () => {
    const log = await makeLog();
    const rows = await endThree(log);
    const open = start();
    await log.start(open);
    await pool.query('update chat.instances set dead_at = now() where id = $1', [log.instanceId]);
    const registry = createRegistry('chat-test');
    const reaper = new Reaper({
      ...{ pool, pricing, registry, log: createLogger('chat', 'silent') },
      instance: { id: newId(), steadyBeat: Date.now() },
      recorder: { openRuns: [] },
      alerts: { alertOfRun: () => [] },
    });
    await reaper.sweep();
    expect(await inOutbox([...rows, open])).toEqual([1, 0, 1, 1]);
    await expectLetterOf(rows[1]);
    expect(await registry.metrics()).toMatch(/gatehouse_runs_unreadable_total(\{.*\})? 1$/m);
    expect(await waiting(log)).toBe(0);
  });
});
