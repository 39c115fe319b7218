import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import type { TokenClaims } from '@gatehouse/test/forging-issuer';
import { IssuerGround } from './issuer-ground.ts';

let ground: IssuerGround;
beforeAll(async () => {
  ground = await IssuerGround.start();
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

interface Row {
  looks: number;
  looked: boolean;
  next: number;
  refreshToken: string;
}

/** The logins of a person: whether they were looked at within a minute, and the seconds until the next look. */
async function loginsOf(...subs: string[]): Promise<Row[]> {
  return ground.tenants.rows<Row>(
    `select looks, looked_at > now() - interval '1 minute' as looked,
       extract(epoch from look_at - now())::integer as next, encode(refresh_token, 'hex') as "refreshToken"
     from tenant.logins where sub = any($1) order by id`,
    [subs],
  );
}

/** Makes the look at these people due; the last one was as many minutes ago. */
async function due(subs: string[], minutesAgo = 12): Promise<void> {
  await ground.tenants.rows(
    `update tenant.logins set look_at = now(), looked_at = now() - make_interval(mins => $2)
     where sub = any($1) returning id`,
    [subs, minutesAgo],
  );
}

const renewalsAt = (name: 'main' | 'other'): number =>
  ground.issuers[name].calls.filter((form) => form.get('grant_type') === 'refresh_token').length;

/** As so many new people. */
async function logInAll(count: number) {
  const logins = [];
  for (let index = 0; index < count; index += 1) logins.push(await ground.logIn());
  return logins;
}

async function lookedAt(...subs: string[]): Promise<Row[]> {
  return eventually(async () => {
    const rows = await loginsOf(...subs);
    expect(rows.map(({ looked }) => looked)).toEqual(rows.map(() => true));
    return rows;
  });
}

const keysOf = (sub: string) =>
  ground.tenants.rows<{ isRevoked: boolean }>(
    'select revoked_at is not null as "isRevoked" from tenant.api_keys where sub = $1 order by id',
    [sub],
  );

/** Entries of the audit log by the key of a person. */
const auditOf = (sub: string, action: string) =>
  ground.tenants.rows<{ clientIp: string | null }>(
    `select client_ip as "clientIp" from tenant.audit_log
     where action = $2 and actor_key_id in (select id from tenant.api_keys where sub = $1)`,
    [sub, action],
  );

describe('a session of a person at an issuer', () => {
  it('goes on while the issuer confirms the person, whose refresh tokens are used once, on two replicas', async () => {
    const logins = await logInAll(9);
    const subs = logins.map(({ sub }) => sub);
    const [first] = await loginsOf(...subs);
    expect(first).toMatchObject({ looks: 0, looked: true });
    expect(first?.next).toBeGreaterThan(600);
    expect(first?.next).toBeLessThan(900);
    for (const looks of [1, 2]) {
      const before = renewalsAt('main');
      await due(subs);
      const rows = await lookedAt(...subs);
      expect(rows.map((row) => row.looks)).toEqual(subs.map(() => looks));
      expect(renewalsAt('main')).toBe(before + subs.length);
      for (const { next } of rows) expect(next).toBeLessThan(900);
    }
    for (const { browser } of logins) expect(await browser.principal()).toBeDefined();
  });

  it.each<[string, TokenClaims]>([
    ['a group is gone', { groups: [] }],
    ['a group gives other rights', { groups: ['admins'] }],
    ['a group gives fewer scopes', { groups: ['both'] }],
  ])('ends when %s, with the key of the person', async (_name, claims) => {
    const { browser, sub } = await ground.logIn();
    ground.issuers.main.renewals.set(sub, claims);
    await due([sub]);
    await eventually(async () => expect(await browser.principal()).toBeUndefined());
    expect(await keysOf(sub)).toEqual([{ isRevoked: true }]);
    expect(await auditOf(sub, 'api_key.revoked')).toHaveLength(1);
  });

  it.each<[string, TokenClaims]>([
    ['no longer fit into a token', { groups: undefined, _claim_names: { groups: 'one' } }],
    ['no longer fit into a token, as Entra says it otherwise', { groups: undefined, hasgroups: true }],
    ['can’t be read', { groups: [{ name: 'engineers' }] }],
  ])('goes on for 72 hours when groups %s, and revokes nothing after that', async (_name, claims) => {
    const { browser, sub } = await ground.logIn();
    ground.issuers.main.renewals.set(sub, claims);
    await due([sub]);
    await lookedAt(sub);
    expect(await browser.principal()).toBeDefined();
    await ground.logIn({ sub, ...claims });
    expect(await keysOf(sub)).toEqual([{ isRevoked: false }]);
    await ground.tenants.rows(
      `update tenant.logins set groups_read_at = now() - interval '73 hours' where sub = $1`,
      [sub],
    );
    await due([sub]);
    await eventually(async () => expect(await browser.principal()).toBeUndefined());
    expect(await keysOf(sub)).toEqual([{ isRevoked: false }]);
    await ground.logIn({ sub });
    expect(await keysOf(sub)).toEqual([{ isRevoked: false }]);
  });

  it('whose groups are readable again is as fresh as before', async () => {
    const { browser, sub } = await ground.logIn();
    await ground.tenants.rows(
      `update tenant.logins set groups_read_at = now() - interval '73 hours' where sub = $1`,
      [sub],
    );
    await due([sub]);
    await lookedAt(sub);
    ground.issuers.main.renewals.set(sub, { groups: undefined, hasgroups: true });
    await due([sub]);
    await eventually(async () => expect((await loginsOf(sub))[0]).toMatchObject({ looks: 2, looked: true }));
    expect(await browser.principal()).toBeDefined();
  });

  it.each<[string, TokenClaims]>([
    ['another person', { sub: 'mallory' }],
    ['another client', { aud: 'another-client' }],
    ['no known issuer', { iss: 'https://evil.example.com' }],
  ])('ends when the renewed token is of %s, with the key of the person', async (_name, claims) => {
    const { browser, sub } = await ground.logIn();
    ground.issuers.main.renewals.set(sub, claims);
    await due([sub]);
    await eventually(async () => expect(await keysOf(sub)).toEqual([{ isRevoked: true }]));
    expect(await browser.principal()).toBeUndefined();
  });

  it('goes on when groups give more scopes than before, as after an upgrade', async () => {
    const { browser, sub } = await ground.logIn({ groups: ['both'] });
    await browser.visit('/login/oidc/main/choice', { method: 'POST', form: { tenant: ground.acme.id } });
    ground.issuers.main.renewals.set(sub, { groups: ['engineers'] });
    await due([sub]);
    await lookedAt(sub);
    expect(await browser.principal()).toMatchObject({ scopes: ['chat'] });
    expect(await keysOf(sub)).toEqual([{ isRevoked: false }]);
  });

  it('ends when the issuer no longer takes the refresh token, with the key of the person', async () => {
    const { browser, sub } = await ground.logIn();
    ground.issuers.main.revoked.add(sub);
    await due([sub]);
    await eventually(async () => expect(await keysOf(sub)).toEqual([{ isRevoked: true }]));
    expect(await browser.principal()).toBeUndefined();
    expect(await auditOf(sub, 'session.ended')).toEqual([{ clientIp: null }]);
  });

  it('goes on without an ID token in the renewal, as long as the issuer takes the refresh token', async () => {
    const { browser, sub } = await ground.logIn();
    ground.issuers.main.renewals.set(sub, null);
    await due([sub]);
    await lookedAt(sub);
    expect(await browser.principal()).toBeDefined();
  });

  it('that has ended is looked at no more', async () => {
    const { browser, sub } = await ground.logIn();
    await browser.visit('/logout', { method: 'POST' });
    const before = renewalsAt('main');
    await due([sub]);
    await eventually(async () => expect(await loginsOf(sub)).toMatchObject([{ next: null }]));
    expect(renewalsAt('main')).toBe(before);
  });
});

describe('an issuer', () => {
  it('that is away ends no session for an hour, and then does', async () => {
    const [late, later] = [await ground.logIn(), await ground.logIn()];
    ground.issuers.main.away = true;
    await due([late.sub], 61);
    await due([later.sub], 50);
    await eventually(async () => expect(await late.browser.principal()).toBeUndefined());
    await eventually(async () => expect((await loginsOf(later.sub))[0]?.looks).toBe(1));
    expect(await later.browser.principal()).toBeDefined();
    // Another replica may try again in two minutes.
    expect((await loginsOf(later.sub))[0]?.next).toBeGreaterThan(0);
    ground.issuers.main.away = false;
    await due([later.sub], 50);
    await lookedAt(later.sub);
  });

  it('that gives no answer about one person for an hour ends the sessions of that person alone', async () => {
    const logins = await logInAll(3);
    const [late, ...others] = logins;
    if (late === undefined) throw new Error('there is no login');
    ground.issuers.main.awayFor.add(late.sub);
    await due(
      logins.map(({ sub }) => sub),
      61,
    );
    await lookedAt(...others.map(({ sub }) => sub));
    await eventually(async () => expect(await late.browser.principal()).toBeUndefined());
    expect(await loginsOf(late.sub)).toMatchObject([{ looked: false, next: null }]);
    for (const { browser } of others) expect(await browser.principal()).toBeDefined();
  });

  it('that rejects the gateway as its client is away', async () => {
    const { browser, sub } = await ground.logIn();
    const before = renewalsAt('main');
    ground.issuers.main.tokenAnswer = {
      ...{ status: 401, body: { error: 'invalid_client' } },
      headers: { 'www-authenticate': 'Basic realm="issuer"' },
    };
    await due([sub]);
    await eventually(() => expect(renewalsAt('main')).toBe(before + 1));
    ground.issuers.main.tokenAnswer = null;
    // Only a login that is in use is looked at.
    await due([sub]);
    await lookedAt(sub);
    expect(await browser.principal()).toBeDefined();
  });

  it('that comes back after more than an hour is asked before sessions end', async () => {
    const { browser, sub } = await ground.logIn();
    await due([sub], 300);
    await lookedAt(sub);
    expect(await browser.principal()).toBeDefined();
  });

  it('that hangs stops no look at people of another', async () => {
    const hanging = await logInAll(12);
    const subs = hanging.map((login) => login.sub);
    const { sub } = await ground.logIn({}, { at: 'other' });
    const gate = Promise.withResolvers<undefined>();
    ground.issuers.main.held = gate.promise;
    await due(subs);
    await eventually(async () => {
      expect((await loginsOf(...subs)).some(({ looks }) => looks > 0)).toBe(true);
    });
    await due([sub]);
    await lookedAt(sub);
    const rows = await loginsOf(...subs);
    expect(rows.some(({ looked }) => looked)).toBe(false);
    gate.resolve(undefined);
    for (const { browser } of hanging) expect(await browser.principal()).toBeDefined();
    // The other tests count calls.
    await ground.tenants.rows('update tenant.logins set look_at = null where sub = any($1) returning id', [
      subs,
    ]);
  });

  it('whose answer comes after the claim of another replica changes nothing', async () => {
    const { sub } = await ground.logIn();
    const gate = Promise.withResolvers<undefined>();
    ground.issuers.main.held = gate.promise;
    const before = renewalsAt('main');
    await due([sub]);
    await eventually(() => expect(renewalsAt('main')).toBe(before + 1));
    await ground.tenants.rows(
      `update tenant.logins set looks = looks + 1, refresh_token = 'of another' where sub = $1 returning id`,
      [sub],
    );
    gate.resolve(undefined);
    // The next round of the replica comes after the end of this one.
    const { sub: next } = await ground.logIn();
    await due([next]);
    await lookedAt(next);
    const [row] = await loginsOf(sub);
    expect(row).toMatchObject({ looked: false, refreshToken: Buffer.from('of another').toString('hex') });
  });

  it('that is in the settings no more ends its sessions an hour after the last look', async () => {
    const [old, young] = [await ground.logIn(), await ground.logIn()];
    for (const [{ sub }, minutes] of [
      [old, 61],
      [young, 50],
    ] as const)
      await ground.tenants.rows(
        `update tenant.logins set issuer = 'gone', looked_at = now() - make_interval(mins => $2)
         where sub = $1 returning id`,
        [sub, minutes],
      );
    await eventually(async () => expect(await old.browser.principal()).toBeUndefined());
    expect(await young.browser.principal()).toBeDefined();
  });

  it('that has the name of an earlier one gets no token of that one', async () => {
    const [old, young] = [await ground.logIn(), await ground.logIn()];
    await ground.tenants.rows(
      `update tenant.logins set iss = 'https://earlier.example.com' where sub = any($1) returning id`,
      [[old.sub, young.sub]],
    );
    const before = renewalsAt('main');
    await due([old.sub], 61);
    await due([young.sub], 50);
    await eventually(async () => expect(await old.browser.principal()).toBeUndefined());
    await eventually(async () => expect((await loginsOf(young.sub))[0]?.looks).toBe(1));
    expect(await young.browser.principal()).toBeDefined();
    await young.browser.visit('/logout', { method: 'POST' });
    await eventually(async () => expect(await loginsOf(young.sub)).toMatchObject([{ next: null }]));
    expect(renewalsAt('main')).toBe(before);
  });
});
