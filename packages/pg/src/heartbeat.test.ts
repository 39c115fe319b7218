import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { Heartbeat, type HeartbeatOptions } from './heartbeat.ts';

const log = createLogger('test', 'silent');
const everyMs = 50;

interface Row {
  name: string;
}

let database: TestDatabase;
let admin: Client;
let stop: () => Promise<void> = () => Promise.resolve();
beforeEach(async () => {
  database = await createTestDatabase('chat');
  admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  await admin.query('create table public.beats (at timestamptz default clock_timestamp(), name text)');
  await admin.query('grant insert, select on public.beats to chat_system');
});
afterEach(async () => {
  await stop();
  await admin.end();
  await database.drop();
});

function beatOf(name: string) {
  return { text: 'insert into public.beats (name) values ($1) returning name', values: [name] };
}

function startHeartbeat(options: Partial<HeartbeatOptions<Row>> = {}): Heartbeat<Row> {
  const heartbeat = new Heartbeat<Row>({
    ...{ url: database.url, role: 'chat_system', service: 'test', log, everyMs, retryMs: 20 },
    ...options,
  });
  stop = () => heartbeat.stop();
  heartbeat.start();
  return heartbeat;
}

async function beats(name: string): Promise<number[]> {
  const { rows } = await admin.query<{ at: number }>(
    'select (extract(epoch from at) * 1000)::float8 as at from public.beats where name = $1 order by at',
    [name],
  );
  return rows.map(({ at }) => at);
}

/** Keeps the event loop from turning. */
function block(ms: number): void {
  const until = monotonicMs() + ms;
  while (monotonicMs() < until);
}

describe('heartbeats', () => {
  it('go on while the event loop stands still, and are all reported afterwards', async () => {
    const seen: string[] = [];
    const heartbeat = startHeartbeat({ onBeat: (rows) => seen.push(...rows.map(({ name }) => name)) });
    heartbeat.set(beatOf('a'));
    await eventually(() => expect(seen).not.toEqual([]));
    const before = seen.length;
    block(2_000);
    expect(seen).toHaveLength(before);
    const written = await beats('a');
    expect(written.length).toBeGreaterThan(before + 5);
    await eventually(() => expect(seen.length).toBeGreaterThanOrEqual(written.length));
  });

  it('end when the event loop is stuck, and come again when it turns', async () => {
    startHeartbeat({ stuckAfterMs: 1_500 }).set(beatOf('a'));
    await eventually(async () => expect(await beats('a')).not.toEqual([]));
    const blockedAt = Date.now();
    block(5_000);
    const last = Math.max(...(await beats('a')).filter((at) => at < blockedAt + 4_900));
    // A pulse of the loop counts for up to a second more.
    expect(last).toBeLessThan(blockedAt + 3_500);
    await eventually(async () => expect(Math.max(...(await beats('a')))).toBeGreaterThan(blockedAt + 4_900));
  });

  it('change their statement, and do not report what an earlier one returned', async () => {
    const seen: string[] = [];
    const heartbeat = startHeartbeat({ onBeat: (rows) => seen.push(...rows.map(({ name }) => name)) });
    heartbeat.set(beatOf('a'));
    await eventually(() => expect(seen).toContain('a'));
    heartbeat.set(beatOf('b'));
    seen.length = 0;
    await eventually(() => expect(seen).toContain('b'));
    expect(seen).not.toContain('a');
    heartbeat.set(null);
    await sleep(4 * everyMs);
    const { length } = await beats('b');
    await sleep(4 * everyMs);
    expect(await beats('b')).toHaveLength(length);
  });

  it('go on after the connection was lost', async () => {
    startHeartbeat().set(beatOf('a'));
    await eventually(async () => expect(await beats('a')).not.toEqual([]));
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'gatehouse chat_system'`,
    );
    const { length } = await beats('a');
    await eventually(async () => expect((await beats('a')).length).toBeGreaterThan(length + 2));
  });
});
