import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { TimedQuery } from '@gatehouse/pg/patient-client';
import type { Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import type { PublishedRow } from '../src/recording/log-group-store.ts';
import { RunOutbox } from '../src/recording/outbox-system-store.ts';
import { endRun, makeLog, rest } from './logged-runs.ts';
import { ended, someRun, start } from './run-rows.ts';
import { createSystemDatabase, type SystemDatabase } from './system-database.ts';

/** An idle log holds nothing that is of no use. */

let database: SystemDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createSystemDatabase();
  pool = database.pool;
});
afterAll(async () => database.drop());

/** Rows that wait for publication. */
let pushed: PublishedRow[];
const publisher = { isOpen: true, takesObjects: false, push: (row: PublishedRow) => pushed.push(row) };
beforeEach(async () => {
  pushed = [];
  await pool.query('delete from chat.run_log');
});

describe('rows whose ends went to the outbox', () => {
  it('are deleted, though more rows follow', async () => {
    const log = await makeLog(pool, { publisher });
    for (let count = 0; count < 16; count += 1) {
      const rows = Array.from({ length: 8 }, () => start(someRun('x'.repeat(10_000))));
      await Promise.all(rows.map((row) => log.start(row)));
      await Promise.all(rows.map((row) => endRun(ended(row, 1n))));
    }
    for (const waiting of pushed.splice(0)) log.spill(waiting);
    await eventually(() => expect(log.isDone).toBe(true));
    await rest(pool, log);
    expect(log.isDone).toBe(true);
  });
});

describe('an end that is published while the next row is written', () => {
  /** A pool whose next statement waits, once `close` was called, for the call that it returns. */
  function gated() {
    let closed: PromiseWithResolvers<undefined> | null = null;
    const reached = Promise.withResolvers<undefined>();
    const connect = async (): Promise<unknown> => {
      const client = await pool.connect();
      const query = async (statement: TimedQuery) => {
        if (closed !== null) reached.resolve(undefined);
        await closed?.promise;
        return client.query(statement);
      };
      return { query, release: () => client.release() };
    };
    const close = (): (() => void) => {
      const gate = Promise.withResolvers<undefined>();
      closed = gate;
      return () => gate.resolve(undefined);
    };
    const query = (...args: never[]) => (pool.query as (...given: never[]) => unknown)(...args);
    return { pool: { connect, query } as unknown as Pool, close, reached: reached.promise };
  }

  it('no longer holds the time back once the log rests', async () => {
    const outbox = new RunOutbox();
    const gate = gated();
    const log = await makeLog(gate.pool, { publisher });
    await log.start(start(someRun('x'.repeat(100_000))));
    const row = start();
    await log.start(row);
    await endRun(ended(row, 1n));
    const openGate = gate.close();
    const later = start();
    const starting = log.start(later);
    await gate.reached;
    for (const waiting of pushed) log.published(waiting);
    openGate();
    await starting;
    expect(await outbox.heldAt(pool)).not.toBeNull();
    await log.tick(monotonicMs() + 10_000, -Infinity);
    await eventually(async () => expect(await outbox.heldAt(pool)).toBeNull());
  });
});
