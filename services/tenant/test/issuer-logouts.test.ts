import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import type { Service } from '@gatehouse/shell/service';
import { eventually } from '@gatehouse/test/eventually';
import type { TokenClaims } from '@gatehouse/test/forging-issuer';
import { Client } from 'pg';
import { LoginStateSystemStore } from '../src/sessions/login-state-system-store.ts';
import { oldIssuerLogouts } from '../src/sessions/old-login-system-store.ts';
import type { Page } from './issuer-browser.ts';
import { IssuerGround, logoutEvent } from './issuer-ground.ts';

let ground: IssuerGround;
beforeAll(async () => {
  ground = await IssuerGround.start();
  ground.issuers.other.metadata = { end_session_endpoint: undefined };
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

const seconds = (): number => Math.floor(Date.now() / 1_000);

const tokenOf = (claims: TokenClaims, from?: 'main' | 'other'): Promise<string> =>
  ground.logoutToken(claims, from);

/** The issuer sends a logout token to a replica. */
function report(token: string, at: Service = ground.replica): Promise<Page> {
  const form = { logout_token: token };
  return ground.browser().visit('/login/oidc/main/backchannel-logout', { method: 'POST', form, at });
}

/** A browser that brings the answer of the issuer, whose exchange of the code waits until `letGo`. */
async function exchange(claims: TokenClaims) {
  const browser = ground.browser();
  ground.issuers.main.claims = claims;
  const begun = await browser.visit('/login/oidc/main');
  let letGo = (): void => undefined;
  ground.issuers.main.held = new Promise((resolve) => (letGo = resolve));
  const calls = ground.issuers.main.calls.length;
  const answered = browser.visit(ground.answerTo(begun));
  await eventually(() => expect(ground.issuers.main.calls.length).toBeGreaterThan(calls));
  return { browser, answered, letGo };
}

/** Lets no session of the tenant begin until the result is called. */
async function holdSessions(): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: ground.tenants.database.url });
  await client.connect();
  await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [`sessions ${ground.acme.id}`]);
  return () => client.end();
}

async function withSystem(work: (pool: Pool) => Promise<void>): Promise<void> {
  const log = createLogger('tenant', 'silent');
  const pool = createPool({ url: ground.tenants.database.url, role: 'tenant_system', max: 1, log });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
}

describe('a logout at the gateway', () => {
  it('ends the session and leads to the issuer, which leads back to the page for login', async () => {
    const { browser } = await ground.logIn({ sid: newId() });
    const token = browser.session ?? '';
    const answer = await browser.visit('/logout', { method: 'POST' });
    expect([answer.status, browser.session]).toEqual([200, undefined]);
    const url = new URL((answer.headers.get('refresh') ?? '').replace(/^0; url=/, ''));
    expect(url.href).toMatch(new RegExp(`^${ground.issuers.main.url}/logout\\?`));
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'gatehouse',
      post_logout_redirect_uri: 'https://gateway.example.com/login',
      id_token_hint: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    });
    expect(answer.text).toContain('Log out at main too');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    browser.cookies.set('__Host-gatehouse', token);
    expect(await browser.principal()).toBeUndefined();
  });

  it('leads to no address that the request names', async () => {
    const { browser } = await ground.logIn();
    const answer = await browser.visit('/logout?post_logout_redirect_uri=https://evil.example.com', {
      ...{ method: 'POST', form: { post_logout_redirect_uri: 'https://evil.example.com' } },
    });
    expect(answer.status).toBe(400);
    const form = await browser.visit('/logout', {
      ...{ method: 'POST', form: { post_logout_redirect_uri: 'https://evil.example.com' } },
    });
    expect(`${form.headers.get('refresh')} ${form.text}`).not.toContain('evil');
  });

  it('at an issuer without a page for logout ends at the page for login', async () => {
    const { browser } = await ground.logIn({}, { at: 'other' });
    const answer = await browser.visit('/logout', { method: 'POST' });
    expect([answer.status, answer.location]).toEqual([303, '/login']);
    expect(await browser.principal()).toBeUndefined();
  });

  it('sends no ID token that is too long for a URL', async () => {
    const { browser } = await ground.logIn({ department: 'x'.repeat(5_000) });
    const answer = await browser.visit('/logout', { method: 'POST' });
    const url = new URL((answer.headers.get('refresh') ?? '').replace(/^0; url=/, ''));
    expect([...url.searchParams.keys()].toSorted()).toEqual(['client_id', 'post_logout_redirect_uri']);
  });
});

describe('a logout that an issuer reports', () => {
  it('ends the sessions of that session at the issuer, on all replicas, with a line in the audit log', async () => {
    const [sid, sub] = [newId(), newId()];
    const one = await ground.logIn({ sub, sid });
    const beside = await ground.logIn({ sub, sid });
    const elsewhere = await ground.logIn({ sub, sid: newId() });
    const keyId = (await one.browser.principal())?.id;
    const answer = await report(await tokenOf({ sid }));
    expect(answer.status).toBe(200);
    expect(await one.browser.principal()).toBeUndefined();
    expect(await beside.browser.principal()).toBeUndefined();
    expect(await elsewhere.browser.principal()).toBeDefined();
    const audit = await ground.tenants.rows(
      `select client_ip as "clientIp" from tenant.audit_log where action = 'session.ended' and actor_key_id = $1`,
      [keyId],
    );
    expect(audit).toEqual([{ clientIp: '192.0.2.7' }, { clientIp: '192.0.2.7' }]);
  });

  it('ends all sessions of a person, in all tenants, and of no other person', async () => {
    const sub = newId();
    const one = await ground.logIn({ sub });
    const two = await ground.logIn({ sub, groups: ['engineers', 'platform'] });
    await two.browser.visit('/login/oidc/main/choice', { method: 'POST', form: { tenant: '' } });
    expect(await two.browser.principal()).toMatchObject({ role: 'owner' });
    const other = await ground.logIn();
    const atOther = await ground.logIn({ sub }, { at: 'other' });
    expect((await report(await tokenOf({ sub }))).status).toBe(200);
    expect(await one.browser.principal()).toBeUndefined();
    expect(await two.browser.principal()).toBeUndefined();
    expect(await other.browser.principal()).toBeDefined();
    expect(await atOther.browser.principal()).toBeDefined();
  });

  it('of a session of another person ends nothing', async () => {
    const sid = newId();
    const { browser } = await ground.logIn({ sid });
    expect((await report(await tokenOf({ sid, sub: 'mallory' }))).status).toBe(200);
    expect(await browser.principal()).toBeDefined();
  });

  it('ends the choice among tenants', async () => {
    const sub = newId();
    const { browser } = await ground.logIn({ sub, groups: ['both'] });
    await report(await tokenOf({ sub }));
    const chosen = await browser.visit('/login/oidc/main/choice', {
      ...{ method: 'POST', form: { tenant: ground.acme.id } },
    });
    expect([chosen.status, browser.session]).toEqual([400, undefined]);
  });

  it.each(['sid', 'sub'] as const)('of its %s ends a login that is under way', async (named) => {
    const [sid, sub] = [newId(), newId()];
    const { browser, answered, letGo } = await exchange({ sid, sub });
    await report(await tokenOf(named === 'sid' ? { sid } : { sub }));
    letGo();
    const answer = await answered;
    expect([answer.status, browser.session]).toEqual([400, undefined]);
    expect(answer.text).toContain('was ended by a logout');
    expect(await ground.tenants.rows('select from tenant.logins where sub = $1', [sub])).toEqual([]);
    // The issuer has confirmed this one after it.
    const again = await ground.logIn({ sub, sid });
    expect(await again.browser.principal()).toBeDefined();
  });

  it('ends a login that is stored and has no session yet', async () => {
    const [sid, sub] = [newId(), newId()];
    const release = await holdSessions();
    const { browser, answered, letGo } = await exchange({ sid, sub });
    letGo();
    await eventually(async () => {
      expect(await ground.tenants.rows('select from tenant.logins where sub = $1', [sub])).toHaveLength(1);
    });
    expect((await report(await tokenOf({ sid }))).status).toBe(200);
    await release();
    expect([(await answered).status, browser.session]).toEqual([400, undefined]);
    const open = `select from tenant.sessions join tenant.logins on logins.id = login_id where sub = $1`;
    expect(await ground.tenants.rows(open, [sub])).toEqual([]);
  });

  it.each([
    ['ahead', 20_000],
    ['behind', -20_000],
  ])('counts by the clock of the database where that of the replica is %s', async (_name, aheadMs) => {
    const [before, during] = [newId(), newId()];
    await report(await tokenOf({ sub: before }));
    const [late, ended] = [ground.browser(), ground.browser()];
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
    const begun = await late.visit('/login/oidc/main');
    const begunToo = await ended.visit('/login/oidc/main');
    clock.mockRestore();
    await report(await tokenOf({ sub: during }));
    ground.issuers.main.claims = { sub: before };
    await late.visit(ground.answerTo(begun));
    ground.issuers.main.claims = { sub: during };
    await ended.visit(ground.answerTo(begunToo));
    expect(await late.principal()).toBeDefined();
    expect(ended.session).toBeUndefined();
  });

  it('finds no login that was begun more than ten minutes before', async () => {
    await withSystem(async (pool) => {
      const logins = new LoginStateSystemStore(pool);
      const now = (await logins.now()).getTime();
      const state = randomBytes(32);
      expect(await logins.useState(state, new Date(now - 1))).toBe(false);
      expect(await logins.useState(state, new Date(now + 60_000))).toBe(true);
      expect(await logins.useState(state, new Date(now + 60_000))).toBe(false);
    });
  });

  it('of another session or person leaves a login that is under way alone', async () => {
    const [sid, sub] = [newId(), newId()];
    const { browser, answered, letGo } = await exchange({ sid, sub });
    await report(await tokenOf({ sid, sub: 'mallory' }));
    await report(await tokenOf({ sid: newId(), sub }));
    letGo();
    await answered;
    expect(await browser.principal()).toBeDefined();
  });

  it('is forgotten when no login can be under way any more', async () => {
    const sub = newId();
    await report(await tokenOf({ sub }));
    const held = () => ground.tenants.rows('select from tenant.issuer_logouts where sub = $1', [sub]);
    expect(await held()).toHaveLength(1);
    await ground.tenants.rows(
      `update tenant.issuer_logouts set ended_at = ended_at - interval '61 minutes' where sub = $1`,
      [sub],
    );
    await withSystem(async (pool) => {
      await deleteOldRows(pool, oldIssuerLogouts);
    });
    expect(await held()).toEqual([]);
  });

  it('counts once, on two replicas at once', async () => {
    const sub = newId();
    await ground.logIn({ sub });
    const token = await tokenOf({ sub });
    const answers = await Promise.all([report(token), report(token, ground.tenants.service)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    const { browser } = await ground.logIn({ sub });
    expect((await report(token)).status).toBe(400);
    expect(await browser.principal()).toBeDefined();
  });

  it.each<[string, () => TokenClaims]>([
    ['the name of another issuer', () => ({ iss: ground.issuers.other.url })],
    ['another audience', () => ({ aud: 'another-client' })],
    ['a second audience', () => ({ aud: ['gatehouse', 'another-client'] })],
    ['no time of issue', () => ({ iat: undefined })],
    ['a time of issue ten minutes ago', () => ({ iat: seconds() - 600 })],
    ['a time of issue in ten minutes', () => ({ iat: seconds() + 600 })],
    ['an end before two minutes', () => ({ exp: seconds() - 120 })],
    ['no end', () => ({ exp: undefined })],
    ['no events', () => ({ events: undefined })],
    ['another event', () => ({ events: { 'http://schemas.openid.net/event/other': {} } })],
    ['an event that is no object', () => ({ events: { [logoutEvent]: true } })],
    ['a nonce', () => ({ nonce: 'n' })],
    ['no id', () => ({ jti: undefined })],
    ['neither session nor person', () => ({ sub: undefined })],
    ['a person with NUL', () => ({ sub: 'a\0' })],
    ['a session with NUL', () => ({ sid: 'a\0' })],
    ['an id with NUL', () => ({ jti: 'a\0' })],
    ['a person that is no text', () => ({ sub: 1 })],
  ])('by a token with %s has no effect', async (_name, claims) => {
    const { browser, sub } = await ground.logIn();
    const answer = await report(await tokenOf({ sub, ...claims() }));
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toEqual({
      error: 'invalid_request',
      error_description: expect.any(String),
    });
    expect(await browser.principal()).toBeDefined();
  });

  it('by a token that another issuer has signed, or none, has no effect', async () => {
    const { browser, sub } = await ground.logIn();
    const [, payload = ''] = (await tokenOf({ sub })).split('.');
    const header = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const token of [await tokenOf({ sub }, 'other'), `${header}.${payload}.`, 'x', ''])
      expect((await report(token)).status).toBe(400);
    expect(await browser.principal()).toBeDefined();
  });

  it('by a request without one token has no effect', async () => {
    const path = '/login/oidc/main/backchannel-logout';
    const token = await tokenOf({ sub: newId() });
    for (const form of [{}, { token }, { logout_token: `${token}${'x'.repeat(16_384)}` }]) {
      const answer = await ground.browser().visit(path, { method: 'POST', form });
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { error: 'invalid_request' }]);
    }
    const bare = await ground.browser().visit(path, { method: 'POST' });
    expect(bare.status).toBe(400);
    const unknown = await ground.browser().visit('/login/oidc/unknown/backchannel-logout', {
      ...{ method: 'POST', form: { logout_token: token } },
    });
    expect(unknown.status).toBe(404);
  });

  it('while the keys of the issuer are unavailable fails, and works by the same token later', async () => {
    const { browser, sub } = await ground.logIn();
    await sleep(1_200);
    await ground.issuers.main.rotate();
    ground.issuers.main.away = true;
    const token = await tokenOf({ sub });
    const answer = await report(token, ground.tenants.service);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      400,
      { error: 'temporarily_unavailable' },
    ]);
    expect(await browser.principal()).toBeDefined();
    ground.issuers.main.away = false;
    expect((await report(token, ground.tenants.service)).status).toBe(200);
    expect(await browser.principal()).toBeUndefined();
  });
});
