import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import { RevalidationSystemStore } from '../src/sessions/revalidation-system-store.ts';
import { oldRevocations, TokenRevocationSystemStore } from '../src/sessions/token-revocation-system-store.ts';
import { IssuerGround } from './issuer-ground.ts';
import { Programs } from './programs.ts';

let ground: IssuerGround;
let programs: Programs;
beforeAll(async () => {
  ground = await IssuerGround.start();
  const { main } = ground.issuers;
  main.metadata = { revocation_endpoint: `${main.url}/revoke` };
  programs = new Programs(ground.tenants, ground.acme);
});
afterAll(() => ground.stop());
afterEach(async () => {
  ground.mend();
  await ground.tenants.rows('delete from tenant.token_revocations');
});

const loginsOf = (sub: string) =>
  ground.tenants.rows<{ isLookedAt: boolean; looks: number }>(
    'select look_at is not null as "isLookedAt", looks from tenant.logins where sub = $1 order by id',
    [sub],
  );

const due = (sub: string) =>
  ground.tenants.rows('update tenant.logins set look_at = now() where sub = $1', [sub]);

const keysOf = (sub: string) =>
  ground.tenants.rows<{ isRevoked: boolean }>(
    'select revoked_at is not null as "isRevoked" from tenant.api_keys where sub = $1',
    [sub],
  );

/** The revocations of a person that wait. */
const waitingOf = (sub: string) =>
  ground.tenants.rows<{ attempts: number }>('select attempts from tenant.token_revocations where sub = $1', [
    sub,
  ]);

/** A counter, over both replicas. */
async function counted(
  of: 'looks' | 'revocations',
  issuer: 'main' | 'other',
  outcome: string,
): Promise<number> {
  const series = `gatehouse_issuer_${of}_total{issuer="${issuer}",outcome="${outcome}",`;
  const values = [ground.replica, ground.tenants.service].map(async ({ adminPort }) => {
    const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    const line = text.split('\n').find((each) => each.startsWith(series));
    return line === undefined ? Number.NaN : Number(line.split(' ').at(-1));
  });
  return (await Promise.all(values)).reduce((sum, value) => sum + value, 0);
}

/** Requests of `/revoke` at the issuer from now on. */
function revoked(): () => (string | null)[] {
  const { revocations } = ground.issuers.main;
  const before = revocations.length;
  return () => revocations.slice(before).map((form) => form.get('token'));
}

it('a look at an issuer that gives no answer is counted, for an alert', async () => {
  const { sub } = await ground.logIn();
  const before = await counted('looks', 'main', 'failed');
  ground.issuers.main.away = true;
  await due(sub);
  await eventually(async () => expect(await counted('looks', 'main', 'failed')).toBe(before + 1));
});

/** A person who has logged out while the issuer's answer to a look at them is held, until `letGo`. */
async function loggedOutInLook() {
  const { browser, sub } = await ground.logIn();
  const { main } = ground.issuers;
  let letGo = (): void => undefined;
  main.held = new Promise((resolve) => (letGo = resolve));
  const calls = main.calls.length;
  await due(sub);
  await eventually(() => expect(main.calls.length).toBe(calls + 1));
  const tokens = revoked();
  await browser.visit('/logout', { method: 'POST' });
  await eventually(() => expect(tokens()).toHaveLength(1));
  return { sub, letGo, tokens };
}

describe('a logout', () => {
  it('revokes the refresh token at the issuer, and ends the looks at the login', async () => {
    const { browser, sub } = await ground.logIn();
    const tokens = revoked();
    const before = await counted('revocations', 'main', 'revoked');
    await browser.visit('/logout', { method: 'POST' });
    await eventually(() => expect(tokens()).toEqual([expect.stringMatching(/^refresh-/)]));
    expect(ground.issuers.main.revocations.at(-1)?.get('token_type_hint')).toBe('refresh_token');
    expect(await loginsOf(sub)).toEqual([{ isLookedAt: false, looks: 1 }]);
    expect(await keysOf(sub)).toEqual([{ isRevoked: false }]);
    await eventually(async () => expect(await counted('revocations', 'main', 'revoked')).toBe(before + 1));
  });

  it('waits for no issuer', async () => {
    const { browser } = await ground.logIn();
    let letGo = (): void => undefined;
    ground.issuers.main.held = new Promise((resolve) => (letGo = resolve));
    const tokens = revoked();
    const answer = await browser.visit('/logout', { method: 'POST' });
    expect([answer.status, browser.session]).toEqual([200, undefined]);
    await eventually(() => expect(tokens()).toHaveLength(1));
    letGo();
  });

  it('while a program has a key of the person revokes nothing: the issuer is asked with the token', async () => {
    const { browser, sub } = await ground.logIn();
    const { key } = await programs.keyOf(`__Host-gatehouse=${browser.session ?? ''}`);
    const tokens = revoked();
    await browser.visit('/logout', { method: 'POST' });
    // A later logout shows that the one before was handled.
    const other = await ground.logIn();
    await other.browser.visit('/logout', { method: 'POST' });
    await eventually(() => expect(tokens()).toHaveLength(1));
    expect(await loginsOf(sub)).toEqual([{ isLookedAt: true, looks: 0 }]);
    await due(sub);
    await eventually(async () => expect(await loginsOf(sub)).toEqual([{ isLookedAt: true, looks: 1 }]));
    expect(await programs.principalOf(key)).toBeDefined();
  });

  it('of one browser of two revokes nothing before that of the other, since issuers may revoke both tokens', async () => {
    const { browser, sub } = await ground.logIn();
    const other = await ground.logIn({ sub });
    const tokens = revoked();
    await browser.visit('/logout', { method: 'POST' });
    await eventually(async () => expect(await waitingOf(sub)).toEqual([{ attempts: 0 }]));
    await due(sub);
    await eventually(async () => expect((await loginsOf(sub))[1]?.looks).toBe(1));
    expect(await other.browser.principal()).toBeDefined();
    expect(tokens()).toHaveLength(0);
    await other.browser.visit('/logout', { method: 'POST' });
    await eventually(async () => expect(await waitingOf(sub)).toEqual([]));
    expect(new Set(tokens()).size).toBe(2);
  });

  it('on a replica that is lost right after it is still reported to the issuer', async () => {
    const { sub } = await ground.logIn();
    await setOf(sub, 'sessions', 'ends_at = now()');
    const find = 'select id from tenant.logins where sub = $1';
    const [login] = await ground.tenants.rows<{ id: string }>(find, [sub]);
    const log = createLogger('tenant', 'silent');
    const pool = createPool({ url: ground.tenants.database.url, role: 'tenant_system', max: 1, log });
    const tokens = revoked();
    // The last statement of the lost replica.
    expect(await new RevalidationSystemStore(pool, 60).drop(login?.id ?? '')).toBe('main');
    await pool.end();
    await (await ground.logIn()).browser.visit('/logout', { method: 'POST' });
    await eventually(async () => expect(await waitingOf(sub)).toEqual([]));
    await eventually(() => expect(tokens()).toHaveLength(2));
  });

  it('during a look does not take the key of the person away', async () => {
    const { sub, letGo } = await loggedOutInLook();
    const refused = await counted('looks', 'main', 'refused');
    ground.issuers.main.revoked.add(sub);
    letGo();
    await eventually(async () => expect(await counted('looks', 'main', 'refused')).toBe(refused + 1));
    // It would be revoked next.
    await sleep(500);
    expect(await keysOf(sub)).toEqual([{ isRevoked: false }]);
  });

  it('during a look that replaces the refresh token revokes the new one too', async () => {
    const { sub, letGo, tokens } = await loggedOutInLook();
    letGo();
    await eventually(() => expect(tokens()).toHaveLength(2));
    expect(new Set(tokens()).size).toBe(2);
    expect(await loginsOf(sub)).toMatchObject([{ isLookedAt: false }]);
  });

  it('during such a look revokes no new token of a person who has logged in elsewhere meanwhile', async () => {
    const { sub, letGo, tokens } = await loggedOutInLook();
    await ground.tenants.rows(
      `insert into tenant.logins (id, issuer, iss, sub, id_token, refresh_token, expires_at, look_at)
       select gen_random_uuid(), issuer, iss, sub, id_token, refresh_token, expires_at, now() + interval '1 hour'
       from tenant.logins where sub = $1`,
      [sub],
    );
    letGo();
    await eventually(async () => expect(await waitingOf(sub)).toEqual([{ attempts: 0 }]));
    expect(tokens()).toHaveLength(1);
  });

  it('just before the service stops is still reported to the issuer', async () => {
    const leaving = await ground.tenants.startReplica();
    const { browser } = await ground.logIn();
    let letGo = (): void => undefined;
    ground.issuers.main.held = new Promise((resolve) => (letGo = resolve));
    const tokens = revoked();
    await browser.visit('/logout', { method: 'POST', at: leaving });
    let hasStopped = false;
    const stopped = leaving.stop().then(() => (hasStopped = true));
    await eventually(() => expect(tokens()).toHaveLength(1));
    await sleep(500);
    expect(hasStopped).toBe(false);
    letGo();
    await stopped;
  });

  it('at an issuer that takes no revocations, or is away, ends the session and the looks', async () => {
    const { browser, sub } = await ground.logIn({}, { at: 'other' });
    await browser.visit('/logout', { method: 'POST' });
    await eventually(async () => expect(await loginsOf(sub)).toEqual([{ isLookedAt: false, looks: 1 }]));
    expect(ground.issuers.other.revocations).toEqual([]);
    const away = await ground.logIn();
    ground.issuers.main.away = true;
    expect((await away.browser.visit('/logout', { method: 'POST' })).status).toBe(200);
    await eventually(async () => expect(await loginsOf(away.sub)).toMatchObject([{ isLookedAt: false }]));
    expect(await away.browser.principal()).toBeUndefined();
    await eventually(async () => {
      const outcomes = [await counted('revocations', 'other', 'skipped')];
      expect([...outcomes, await counted('revocations', 'main', 'failed')]).toEqual([1, 1]);
    });
  });
});

it('a logout sends no token of an earlier issuer to one that has its name', async () => {
  const [other, own] = [await ground.logIn(), await ground.logIn()];
  await ground.tenants.rows(
    `update tenant.logins set iss = 'https://earlier.example.com' where sub = $1 returning id`,
    [other.sub],
  );
  const [tokens, skipped] = [revoked(), await counted('revocations', 'main', 'skipped')];
  await other.browser.visit('/logout', { method: 'POST' });
  await eventually(async () => expect(await counted('revocations', 'main', 'skipped')).toBe(skipped + 1));
  expect(tokens()).toEqual([]);
  await own.browser.visit('/logout', { method: 'POST' });
  await eventually(() => expect(tokens()).toHaveLength(1));
});

describe('a revocation that fails', () => {
  const retry = (sub: string) =>
    ground.tenants.rows('update tenant.token_revocations set next_at = now() where sub = $1', [sub]);

  /** A person who has logged out while the issuer was away. */
  async function loggedOutWhileAway(): Promise<string> {
    const { browser, sub } = await ground.logIn();
    ground.issuers.main.away = true;
    await browser.visit('/logout', { method: 'POST' });
    await eventually(async () => expect(await waitingOf(sub)).toEqual([{ attempts: 1 }]));
    return sub;
  }

  it('is tried again until the issuer has revoked the token', async () => {
    const sub = await loggedOutWhileAway();
    await retry(sub);
    await eventually(async () => expect(await waitingOf(sub)).toEqual([{ attempts: 2 }]));
    ground.issuers.main.away = false;
    const tokens = revoked();
    await retry(sub);
    await eventually(async () => expect(await waitingOf(sub)).toEqual([]));
    expect(tokens()).toEqual([expect.stringMatching(/^refresh-/)]);
  });

  it('waits while its person is logged in again', async () => {
    const sub = await loggedOutWhileAway();
    ground.mend();
    const { browser } = await ground.logIn({ sub });
    const tokens = revoked();
    await retry(sub);
    await (await ground.logIn()).browser.visit('/logout', { method: 'POST' });
    await eventually(() => expect(tokens()).toHaveLength(1));
    expect(await waitingOf(sub)).toEqual([{ attempts: 1 }]);
    await browser.visit('/logout', { method: 'POST' });
    await eventually(() => expect(tokens()).toHaveLength(3));
  });

  function storeOfReplica() {
    const [url, log] = [ground.tenants.database.url, createLogger('tenant', 'silent')];
    const pool = createPool({ url, role: 'tenant_system', max: 1, log });
    const one = { issuer: 'gone', loginId: newId(), iss: 'i', sub: 's', refreshToken: Buffer.alloc(1) };
    return { store: new TokenRevocationSystemStore(pool), pool, one };
  }

  it('is tried again after its first attempt, also if that came after more than a day', async () => {
    const sub = await loggedOutWhileAway();
    await ground.tenants.rows(
      `update tenant.token_revocations set created_at = now() - interval '25 hours' where sub = $1`,
      [sub],
    );
    const { pool } = storeOfReplica();
    await deleteOldRows(pool, oldRevocations, 20_000);
    await pool.end();
    ground.issuers.main.away = false;
    const tokens = revoked();
    await retry(sub);
    await eventually(async () => expect(await waitingOf(sub)).toEqual([]));
    expect(tokens()).toEqual([expect.stringMatching(/^refresh-/)]);
  });

  it('is given up after the attempts of a day, and at once beyond 10,000 of an issuer', async () => {
    const { store, pool, one } = storeOfReplica();
    await ground.tenants.rows(
      `insert into tenant.token_revocations (id, issuer, login_id, iss, sub, refresh_token, next_at, attempts)
       select gen_random_uuid(), 'gone', gen_random_uuid(), 'i', 's' || n, '', now() + interval '1 hour', 14 + n % 2
       from generate_series(1, 9999) n`,
    );
    expect([await store.add(one), await store.add(one)]).toEqual([true, false]);
    const aged = `update tenant.token_revocations set created_at = created_at - $1::interval`;
    await ground.tenants.rows(aged, ['25 hours']);
    const left = () => ground.tenants.rows(`select from tenant.token_revocations where issuer = 'gone'`);
    await deleteOldRows(pool, oldRevocations, 20_000);
    await eventually(async () => expect(await left()).toHaveLength(5_000));
    await ground.tenants.rows(aged, ['32 days']);
    await deleteOldRows(pool, oldRevocations, 20_000);
    await eventually(async () => expect(await left()).toEqual([]));
    expect(await store.add(one)).toBe(true);
    await pool.end();
  });

  it('has a hundred places for a person, so that one leaves others theirs', async () => {
    const { store, pool, one } = storeOfReplica();
    const added: boolean[] = [];
    for (let number = 0; number < 101; number += 1) added.push(await store.add(one));
    expect(added.filter(Boolean)).toHaveLength(100);
    expect(added.at(-1)).toBe(false);
    expect(await store.add({ ...one, sub: 'other' })).toBe(true);
    await pool.end();
  });
});

describe('a session that ends in another way', () => {
  it.each<[string, (sub: string) => Promise<unknown>]>([
    ['by time', (sub) => setOf(sub, 'sessions', 'ends_at = now()')],
    ['with its key', (sub) => setOf(sub, 'api_keys', 'revoked_at = now()')],
  ])('revokes the refresh token with the next look: %s', async (_name, end) => {
    const { sub } = await ground.logIn();
    const tokens = revoked();
    await end(sub);
    await due(sub);
    await eventually(() => expect(tokens()).toEqual([expect.stringMatching(/^refresh-/)]));
    expect(await loginsOf(sub)).toMatchObject([{ isLookedAt: false }]);
  });

  it('because the issuer reports a logout revokes it at once', async () => {
    const { sub } = await ground.logIn();
    const tokens = revoked();
    const form = { logout_token: await ground.logoutToken({ sub }) };
    const path = '/login/oidc/main/backchannel-logout';
    expect((await ground.browser().visit(path, { method: 'POST', form })).status).toBe(200);
    await eventually(() => expect(tokens()).toEqual([expect.stringMatching(/^refresh-/)]));
  });
});

/** Changes the rows of a person. */
const setOf = (sub: string, table: 'sessions' | 'api_keys', change: string) =>
  ground.tenants.rows(
    table === 'sessions'
      ? `update tenant.sessions set ${change} where login_id in (select id from tenant.logins where sub = $1)`
      : `update tenant.api_keys set ${change} where sub = $1`,
    [sub],
  );

describe('a renewal whose ID token is refused', () => {
  it.each([
    ['of another person', { sub: 'another person' }],
    ['issued long ago', { iat: Math.floor(Date.now() / 1_000) - 3_600 }],
    ['expired', { exp: Math.floor(Date.now() / 1_000) - 3_600 }],
    ['for another client', { aud: 'another client' }],
  ])('as %s ends the session, and revokes the new refresh token', async (_name, claims) => {
    const { browser, sub } = await ground.logIn();
    const { main } = ground.issuers;
    main.renewals.set(sub, claims);
    const [tokens, calls] = [revoked(), main.calls.length];
    await due(sub);
    await eventually(() => expect(tokens()).toEqual([expect.stringMatching(/^refresh-/)]));
    // The one before was used up.
    expect(tokens()).not.toEqual([main.calls[calls]?.get('refresh_token')]);
    expect(await browser.principal()).toBeUndefined();
    expect(await loginsOf(sub)).toMatchObject([{ isLookedAt: false }]);
    expect(await keysOf(sub)).toEqual([{ isRevoked: true }]);
  });

  it('revokes nothing while the person is logged in elsewhere', async () => {
    const { sub } = await ground.logIn();
    const other = await ground.logIn({ sub });
    const { main } = ground.issuers;
    const tokens = revoked();
    main.renewals.set(sub, { sub: 'another person' });
    await ground.tenants.rows(
      `update tenant.logins set look_at = now()
       where id = (select id from tenant.logins where sub = $1 order by id limit 1)`,
      [sub],
    );
    await eventually(async () => expect(await waitingOf(sub)).toEqual([{ attempts: 0 }]));
    expect(tokens()).toEqual([]);
    expect(await other.browser.principal()).toBeDefined();
  });
});
