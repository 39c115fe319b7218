import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { freePort } from '@gatehouse/local/ports';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import fc from 'fast-check';
import { DatabaseError } from 'pg';
import { Probe } from '../test/probe.ts';
import { isDatabaseOutage, isUniqueViolation, wrapDatabaseError } from './errors.ts';
import { afterCommit, createPool, withTenant, withTransaction, type Pool } from './pool.ts';
import { toPgText } from './text.ts';

const log = createLogger('test', 'silent');

let probe: Probe;
let pool: Pool;
beforeAll(async () => {
  probe = await Probe.start();
  ({ pool } = probe);
});
afterAll(() => probe.stop());

const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'nothing',
    (error: unknown) => error,
  );

/** Ends all idle sessions of the pool's role while the event loop of this process stands still. */
function endIdleSessionsInAStall(): void {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'gatehouse-stall-')), 'done');
  const script = `
    import { writeFileSync } from 'node:fs';
    import { Client } from 'pg';
    const client = new Client(process.env.URL);
    await client.connect();
    await client.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse probe_app'");
    await client.end();
    writeFileSync(process.env.FILE, '');`;
  spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
    env: { URL: probe.adminUrl, FILE: file },
    stdio: 'inherit',
  });
  while (!existsSync(file));
  rmSync(path.dirname(file), { recursive: true });
}

it('connections that the server has closed during a stall are replaced', async () => {
  const work = () => withTenant(pool, newId(), (client) => client.query('select 1'));
  await Promise.all([work(), work()]);
  expect(pool.idleCount).toBeGreaterThan(0);
  endIdleSessionsInAStall();
  await Promise.all([work(), work()]);
  endIdleSessionsInAStall();
  const select = () => pool.query({ text: 'select 1' });
  await Promise.all([select(), select()]);
});

it('a statement that a lost connection refused before sending it goes over another', async () => {
  const breakNext = (): void => {
    pool.once('acquire', (client) => {
      Reflect.set(client, '_queryable', false);
    });
  };
  for (const work of [
    () => pool.query("with one as (select 1 as n) select n from one where 'a write' is not null"),
    () => withTransaction(pool, (client) => client.query('select 1 as n')),
  ]) {
    breakNext();
    expect((await work()).rowCount).toBe(1);
  }
});

describe('working for a tenant', () => {
  const insert = (tenantId: string, text: string, as = tenantId): Promise<unknown> =>
    withTenant(pool, as, (client) =>
      client.query('insert into probe.notes (id, tenant_id, text) values ($1, $2, $3)', [
        newId(),
        tenantId,
        text,
      ]),
    );
  const texts = (tenantId: string): Promise<string[]> =>
    withTenant(pool, tenantId, async (client) =>
      (await client.query<{ text: string }>('select text from probe.notes order by text')).rows.map(
        ({ text }) => text,
      ),
    );

  let acme: string;
  let other: string;
  beforeEach(async () => {
    [acme, other] = [newId(), newId()];
    await insert(acme, 'a');
    await insert(other, 'b');
  });

  it('sees its rows and no others, over one and the same connection', async () => {
    expect([await texts(acme), await texts(other), await texts(newId())]).toEqual([['a'], ['b'], []]);
  });

  it('waits for one transaction of another tenant, however many that one has begun', async () => {
    const order: string[] = [];
    const work = (tenantId: string, name: string): Promise<void> =>
      withTenant(pool, tenantId, async (client) => {
        await client.query('select pg_sleep(0.01)');
        order.push(name);
      });
    const flood = Array.from({ length: 20 * pool.options.max }, () => work(acme, 'flood'));
    await work(other, 'other');
    await Promise.all(flood);
    expect(order.indexOf('other')).toBeLessThanOrEqual(2 * pool.options.max);
  });

  it('cannot write for another tenant', async () => {
    await expect(insert(other, 'smuggled', acme)).rejects.toThrow('row-level security');
    expect(await texts(other)).toEqual(['b']);
  });

  it('is over with its transaction: what comes next on that connection has no tenant', async () => {
    await expect(pool.query('select id from probe.notes')).rejects.toThrow('no tenant is set');
    await expect(
      withTransaction(pool, (client) => client.query('select id from probe.notes')),
    ).rejects.toThrow('no tenant is set');
  });

  it('is undone when the work throws, and the connection is as good as before', async () => {
    const failing = withTenant(pool, acme, async (client) => {
      await client.query('insert into probe.notes (id, tenant_id, text) values ($1, $2, $3)', [
        newId(),
        acme,
        'undone',
      ]);
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await texts(acme)).toEqual(['a']);
  });

  it('calls what waits for its commit once, and only if it commits', async () => {
    const calls: string[] = [];
    const note = (what: string, fails = false): Promise<void> =>
      withTenant(pool, newId(), (client) => {
        afterCommit(client, () => calls.push(what));
        expect(calls).not.toContain(what);
        return fails ? Promise.reject(new Error(what)) : Promise.resolve();
      });
    await note('committed');
    await caught(note('rolled back', true));
    await note('next');
    expect(calls).toEqual(['committed', 'next']);
    afterCommit(pool, () => calls.push('no transaction'));
    expect(calls).toEqual(['committed', 'next', 'no transaction']);
  });

  it('takes nothing for a tenant that is no id', async () => {
    for (const id of ['', "x'; drop table probe.notes; --", `${acme}'`, ` ${acme}`, `${acme}\n`]) {
      await expect(withTenant(pool, id, () => Promise.resolve())).rejects.toThrow('not a tenant id');
    }
    await expect(
      withTenant(pool, '-'.repeat(36), (client) => client.query('select id from probe.notes')),
    ).rejects.toThrow('uuid');
    expect(await texts(acme)).toEqual(['a']);
  });

  it('knows a unique violation by its constraint', async () => {
    const id = newId();
    const twice = withTenant(pool, acme, async (client) => {
      for (const text of ['1', '2'])
        await client.query('insert into probe.notes (id, tenant_id, text) values ($1, $2, $3)', [
          id,
          acme,
          text,
        ]);
    });
    const error = await caught(twice);
    expect([
      isUniqueViolation(error, 'notes_pkey'),
      isUniqueViolation(error, 'other'),
      isUniqueViolation(new Error('x'), 'notes_pkey'),
    ]).toEqual([true, false, false]);
    expect(isDatabaseOutage(error)).toBe(false);
  });

  it('has the server look for clients that vanished', async () => {
    const names = [
      'tcp_keepalives_idle',
      'tcp_keepalives_interval',
      'tcp_keepalives_count',
      'tcp_user_timeout',
    ];
    const { rows } = await pool.query('select name, setting from pg_settings where name = any($1)', [names]);
    expect(
      Object.fromEntries(rows.map(({ name, setting }: Record<string, unknown>) => [name, setting])),
    ).toEqual({
      tcp_keepalives_idle: '10',
      tcp_keepalives_interval: '5',
      tcp_keepalives_count: '3',
      tcp_user_timeout: '25000',
    });
  });

  it('runs as its role with the time-outs of the house', async () => {
    const { rows } = await pool.query(
      `select current_user, current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as idle, current_setting('timezone') as zone`,
    );
    expect(rows).toEqual([{ current_user: 'probe_app', statement: '5s', idle: '1s', zone: 'UTC' }]);
    await pool.query('reset role');
    expect((await pool.query('select current_user')).rows).toEqual([{ current_user: 'probe_app' }]);
  });
});

it('takes limits from its URL, and no other role', async () => {
  const url = new URL(probe.url);
  url.searchParams.set('connect_timeout', '20');
  url.searchParams.set('options', '-c statement_timeout=7s -c role=probe_system');
  const own = createPool({ url: url.href, role: 'probe_app', max: 1, log });
  const { rows } = await own.query(
    `select current_user, current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`,
  );
  expect(rows).toEqual([{ current_user: 'probe_app', statement: '7s', idle: '1s' }]);
  expect(own.options.connectionTimeoutMillis).toBe(20_000);
  await own.end();
});

describe('a pipelined pool', () => {
  it('runs statements that are sent together in their order, prepared ones too', async () => {
    const pipelined = createPool({ url: probe.url, role: 'probe_app', max: 1, log, pipelined: true });
    const named = (n: number) => ({ name: 'n', text: 'select $1::integer as n', values: [n] });
    const results = await withTransaction(pipelined, (client) =>
      Promise.all([
        client.one(named(1)),
        client.query(`select set_config('probe.n', '2', true)`),
        client.one(`select current_setting('probe.n')::integer as n`),
        client.one(named(3)),
      ]),
    );
    expect([results[0], results[2], results[3]]).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    await pipelined.end();
  });

  it('rolls back when one of them fails, and goes on', async () => {
    const pipelined = createPool({ url: probe.url, role: 'probe_app', max: 1, log, pipelined: true });
    const failing = withTransaction(pipelined, (client) =>
      Promise.all([client.query('select 1 / $1::integer', [0]), client.query('select 2')]),
    );
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    expect(await withTransaction(pipelined, (client) => client.one('select 3 as n'))).toEqual({ n: 3 });
    await pipelined.end();
  });
});

describe('a database that is away', () => {
  it('is database_unavailable for statements and transactions, at once when it refuses', async () => {
    const refused = createPool({
      url: `postgres://a:b@127.0.0.1:${await freePort()}/c`,
      role: 'r',
      max: 1,
      log,
    });
    const began = performance.now();
    for (const work of [
      refused.query('select 1'),
      withTransaction(refused, () => Promise.resolve()),
      withTenant(refused, newId(), () => Promise.resolve()),
    ]) {
      const error = await caught(work);
      expect(error).toMatchObject({
        code: 'database_unavailable',
        status: 503,
        headers: { 'retry-after': '1' },
      });
      expect(isDatabaseOutage(error)).toBe(true);
      expect(isDatabaseOutage((error as AppError).cause)).toBe(true);
    }
    expect(performance.now() - began).toBeLessThan(5_000);
    await refused.end();
  });

  it('is not what a statement that takes too long gets', async () => {
    const slow = createPool({
      url: probe.url,
      role: 'probe_app',
      max: 1,
      log,
      settings: { statement_timeout: '50' },
    });
    for (const work of [
      slow.query('select pg_sleep(5)'),
      withTenant(slow, newId(), (client) => client.query('select pg_sleep(5)')),
    ]) {
      const error = await caught(work);
      expect(error).toMatchObject({ code: 'query_timeout', status: 503, headers: { 'retry-after': '1' } });
      expect(isDatabaseOutage(error)).toBe(true);
    }
    await slow.end();
  });

  it('in the middle of a transaction is the same error, and the pool recovers', async () => {
    const proxy = new DatabaseProxy(probe.url);
    await proxy.open();
    const cut = createPool({ url: proxy.url, role: 'probe_app', max: 1, log });
    const work = withTransaction(cut, async (client) => {
      await proxy.cut();
      await client.query('select 1');
    });
    await expect(work).rejects.toMatchObject({ code: 'database_unavailable' });
    await proxy.open();
    expect((await cut.query('select 1')).rowCount).toBe(1);
    await cut.end();
    await proxy.cut();
  });

  it.each([
    ['ECONNREFUSED', { code: 'ECONNREFUSED' }, true],
    ['a reset connection', { code: 'ECONNRESET' }, true],
    ['a terminated connection', new Error('Connection terminated unexpectedly'), true],
    ['a connect time-out', new Error('timeout exceeded when trying to connect'), true],
    ['a query time-out', new Error('Query read timeout'), true],
    ['a server that shuts down', state('57P01'), true],
    ['too many connections', state('53300'), true],
    ['a standby', state('25006'), true],
    ['a lost connection', state('08006'), true],
    ['a unique violation', state('23505'), false],
    ['a syntax error', state('42601'), false],
    ['a wrong password', state('28P01'), false],
    ['a missing privilege', state('42501'), false],
    ['a programming error', new TypeError('x is not a function'), false],
    ['nothing', undefined, false],
    ['our own outage', new AppError('database_unavailable', 'm'), true],
    ['another error of ours', new AppError('not_found', 'connection terminated'), false],
  ])('is distinguished from an error of the statement: %s', (_name, error, expected) => {
    expect(isDatabaseOutage(error)).toBe(expected);
    const wrapped = ((): unknown => {
      try {
        return wrapDatabaseError(error);
      } catch (thrown) {
        return thrown;
      }
    })();
    if (expected) expect(wrapped).toMatchObject({ code: 'database_unavailable' });
    else expect(wrapped).toBe(error);
  });
});

function state(code: string): DatabaseError {
  return Object.assign(new DatabaseError('m', 1, 'error'), { code });
}

describe('text for the database', () => {
  it('is unchanged except for characters that PostgreSQL cannot store', async () => {
    expect(toPgText('a\u0000b\ud800c\udc00 größe 🎉\u2028')).toBe('a\ufffdb\ufffdc\ufffd größe 🎉\u2028');
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\u0000')),
        (text) => {
          expect(toPgText(text)).toBe(text.toWellFormed());
        },
      ),
    );
    const samples = fc.sample(fc.string({ unit: 'binary', maxLength: 50 }), 200);
    for (const text of [...samples, '\ud83d', '\u0000', '']) {
      const kept = toPgText(text);
      expect(kept).toHaveLength(text.length);
      expect((await pool.query<{ text: string }>('select $1::text as text', [kept])).rows).toEqual([
        { text: kept },
      ]);
    }
  });
});
