import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { TimedQuery } from '@gatehouse/pg/patient-client';
import type { Pool } from '@gatehouse/pg/pool';
import { makeLog } from './logged-runs.ts';
import { ended, start } from './run-rows.ts';
import { createSystemDatabase, type SystemDatabase } from './system-database.ts';

let database: SystemDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createSystemDatabase();
  pool = database.pool;
});
afterAll(async () => database.drop());

const outage = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

describe('a log that stops without its database', () => {
  it.each(['unwritten', 'maybe written'])(
    'settles all ends, before their starts too (%s), and reports the lost ones, of released clients too',
    async (written) => {
      const lost: string[] = [];
      let isAway = false;
      const connect = async (): Promise<unknown> => {
        if (isAway && written === 'unwritten') throw outage;
        const client = await pool.connect();
        const query = (query: TimedQuery) => (isAway ? Promise.reject(outage) : client.query(query));
        return { query, release: () => client.release() };
      };
      const log = await makeLog({ connect, query: pool.query.bind(pool) } as unknown as Pool, {
        onLost: (id) => lost.push(id),
      });
      const [open, early, later] = [start(), start(), start()];
      await log.start(open);
      isAway = true;
      const starts = Promise.allSettled([early].map((row) => log.start(row)));
      const ends = [log.end(ended(open, 1n)), log.end(ended(early, 1n))];
      await starts;
      // The group waits for the database, and these for the group.
      const waiting = Promise.allSettled([log.start(later)]);
      ends.push(log.end(ended(later, 1n)));
      await log.tick(monotonicMs() + 9_600, -Infinity);
      expect(lost).toEqual([]);
      await log.stop();
      await Promise.all(ends);
      await log.end(ended(early, 1n));
      expect((await waiting).map(({ status }) => status)).toEqual(['rejected']);
      const doubted = written === 'unwritten' ? [] : [early.run.run_id];
      expect(lost.toSorted()).toEqual([open.run.run_id, ...doubted].toSorted());
    },
  );
});
