import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { mostLogins } from '../src/bounds.ts';
import { deleteOldLogins } from '../src/sessions/old-login-system-store.ts';
import { oldSessions } from '../src/sessions/session-system-store.ts';
import { IssuerGround } from './issuer-ground.ts';

let ground: IssuerGround;
let pool: Pool;
/** Another transaction, such as that of another replica. */
let other: Client;
beforeAll(async () => {
  ground = await IssuerGround.start();
  const { url, adminUrl } = ground.tenants.database;
  pool = createPool({ url, role: 'tenant_system', max: 1, log: createLogger('tenant', 'silent') });
  other = new Client({ connectionString: adminUrl });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await pool.end();
  await ground.stop();
});
afterEach(async () => {
  await other.query('rollback');
  ground.mend();
});

/** Logins that nothing needs, which expired that long ago. Returns their ids in order. */
async function idle(sub: string, count: number, minutesAgo: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId()).toSorted();
  await ground.tenants.rows(
    `insert into tenant.logins (id, issuer, iss, sub, id_token, created_at, expires_at)
     select id, 'main', $2, $3, $4, now() - interval '1 hour', now() - make_interval(mins => $5)
     from unnest($1::uuid[]) as ids (id)`,
    [ids, ground.issuers.main.url, sub, randomBytes(32), minutesAgo],
  );
  return ids;
}

const storedOf = async (sub: string): Promise<string[]> => {
  const find = 'select id from tenant.logins where sub = $1 order by id';
  return (await ground.tenants.rows<{ id: string }>(find, [sub])).map(({ id }) => id);
};

async function hold(table: string, id: string | undefined): Promise<void> {
  await other.query(`select from ${table} where id = $1 for update`, [id]);
}

describe('a deletion waits for no other transaction', () => {
  it('of logins that are over', async () => {
    const sub = newId();
    const [held] = await idle(sub, 3, 1);
    await other.query('begin');
    await hold('tenant.logins', held);
    await deleteOldLogins(pool, 1_000, 60);
    expect(await storedOf(sub)).toEqual([held]);
  });

  it('of logins of a person who logs in', async () => {
    const sub = newId();
    const [held, ...others] = await idle(sub, mostLogins.kept + 2, -60);
    await other.query('begin');
    await hold('tenant.logins', held);
    const { browser } = await ground.logIn({ sub });
    expect(await browser.principal()).toBeDefined();
    expect((await storedOf(sub)).slice(0, 2)).toEqual([held, others[1]]);
  });

  it('of sessions that have ended', async () => {
    const { browser } = await ground.logIn();
    const { browser: held } = await ground.logIn();
    await ground.tenants.rows(`update tenant.sessions set ends_at = now() - interval '2 hours'`);
    const find = 'select id from tenant.sessions order by id';
    const [, kept] = await ground.tenants.rows<{ id: string }>(find);
    expect([browser.session, held.session]).toEqual([expect.any(String), expect.any(String)]);
    await other.query('begin');
    await hold('tenant.sessions', kept?.id);
    await deleteOldRows(pool, oldSessions);
    expect(await ground.tenants.rows(find)).toEqual([kept]);
  });
});

describe('a logout that an issuer reports', () => {
  it.each([
    ['tenant.logins', 'look_at'],
    ['tenant.sessions', 'ends_at'],
  ])('locks rows of %s in the order of their ids', async (table, column) => {
    const sub = newId();
    const { browser } = await ground.logIn({ sub });
    await ground.logIn({ sub });
    const of =
      table === 'tenant.logins' ? 'sub = $1' : 'login_id in (select id from tenant.logins where sub = $1)';
    const rows = await ground.tenants.rows<{ id: string }>(
      `select id from ${table} where ${of} order by id`,
      [sub],
    );
    const [first, second] = rows.map(({ id }) => id);
    // So that scans find the first one last.
    await ground.tenants.rows(
      `update ${table} set ${column} = ${column} - interval '1 second' where id = $1`,
      [first],
    );
    await other.query('begin');
    await hold(table, first);
    const token = await ground.logoutToken({ sub });
    const form = { logout_token: token };
    const reported = ground.browser().visit('/login/oidc/main/backchannel-logout', { method: 'POST', form });
    await eventually(async () => {
      const waiting = await ground.tenants.rows(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(waiting).toHaveLength(1);
    });
    await hold(table, second);
    await other.query('commit');
    expect((await reported).status).toBe(200);
    expect(await browser.principal()).toBeUndefined();
  });
});
