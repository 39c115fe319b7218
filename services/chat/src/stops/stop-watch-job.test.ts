import { EventEmitter } from 'node:events';
import { createLogger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { longestStopGapMs } from '../bounds.ts';
import { RunStops } from './run-stops.ts';
import { StopWatch } from './stop-watch-job.ts';

/** A session whose reads wait for the test, and return no stops. */
class Session extends EventEmitter {
  readonly reads: { all: boolean; end: PromiseWithResolvers<{ rows: never[] }> }[] = [];

  query(statement: string | { text: string }): Promise<{ rows: never[] }> {
    if (typeof statement === 'string') return Promise.resolve({ rows: [] });
    const end = Promise.withResolvers<{ rows: never[] }>();
    this.reads.push({ all: statement.text.includes('order by id'), end });
    return end.promise;
  }

  escapeIdentifier(name: string): string {
    return name;
  }

  release(): void {
    this.emit('end');
  }
}

let stops: RunStops;
let sessions: Session[];
let connect: () => Promise<Session>;
let watch: StopWatch;

const read = async (session: number, index: number) =>
  eventually(() => {
    const found = sessions[session]?.reads[index];
    if (found === undefined) throw new Error('not read yet');
    return found;
  });

beforeEach(async () => {
  stops = new RunStops();
  sessions = [];
  connect = () => {
    const session = new Session();
    sessions.push(session);
    return Promise.resolve(session);
  };
  const pool = { connect: () => connect(), end: () => Promise.resolve() };
  watch = new StopWatch({ pool: pool as unknown as Pool, stops, log: createLogger('test', 'silent') });
  const starting = watch.start();
  const { end } = await read(0, 0);
  expect(stops.whenKnown()).toBeDefined();
  end.resolve({ rows: [] });
  await starting;
});

afterEach(async () => {
  jest.restoreAllMocks();
  connect = () => Promise.reject(new Error('over'));
  for (const { reads } of sessions) for (const { end } of reads) end.resolve({ rows: [] });
  await watch.stop();
});

it('holds requests from the loss of its session until a new one has read all stops', async () => {
  expect(stops.whenKnown()).toBeUndefined();
  sessions[0]?.emit('end');
  const known = stops.whenKnown();
  expect(known).toBeDefined();
  const { all, end } = await read(1, 0);
  expect([all, stops.whenKnown()]).toEqual([true, known]);
  end.resolve({ rows: [] });
  await known;
  expect(stops.whenKnown()).toBeUndefined();
});

it('replaces a session whose read fails at once', async () => {
  (await read(0, 1)).end.reject(new Error('Query read timeout'));
  (await read(1, 0)).end.resolve({ rows: [] });
  await eventually(() => expect(stops.whenKnown()).toBeUndefined());
  expect(sessions).toHaveLength(2);
});

it('refuses the waiting requests when there is no session, and serves the next ones once there is', async () => {
  const connects = connect;
  connect = () => Promise.reject(new Error('connect ECONNREFUSED'));
  sessions[0]?.emit('end');
  await expect(stops.whenKnown()).rejects.toMatchObject({ code: 'database_unavailable' });
  const next = stops.whenKnown();
  expect(next).toBeDefined();
  connect = connects;
  (await read(1, 0)).end.resolve({ rows: [] });
  await next;
  expect(stops.whenKnown()).toBeUndefined();
});

it('reads all stops after a stall', async () => {
  const { all, end } = await read(0, 1);
  expect(all).toBe(false);
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + longestStopGapMs + 1);
  end.resolve({ rows: [] });
  expect((await read(1, 0)).all).toBe(true);
});
