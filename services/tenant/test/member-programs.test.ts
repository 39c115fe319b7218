import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { deleteOldLogins } from '../src/sessions/old-login-system-store.ts';
import type { IssuerBrowser } from './issuer-browser.ts';
import { IssuerGround } from './issuer-ground.ts';
import { Programs } from './programs.ts';

let ground: IssuerGround;
let programs: Programs;
beforeAll(async () => {
  ground = await IssuerGround.start();
  programs = new Programs(ground.tenants, ground.acme);
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

const loginsOf = (sub: string) =>
  ground.tenants.rows<{ id: string; isLookedAt: boolean; looks: number; looked: boolean }>(
    `select id, look_at is not null as "isLookedAt", looks, looked_at > now() - interval '1 minute' as looked
     from tenant.logins where sub = $1 order by id`,
    [sub],
  );

/**
 * Makes the look at logins due; the last one was as many minutes ago. The service may have ended those of a login
 * already: a logout does so in the background, maybe after the next login.
 */
const due = (ids: readonly string[], minutesAgo = 12) =>
  ground.tenants.rows(
    `update tenant.logins set look_at = now(), looked_at = now() - make_interval(mins => $2) where id = any($1) and look_at is not null`,
    [ids, minutesAgo],
  );

const logOut = (browser: IssuerBrowser) => browser.visit('/logout', { method: 'POST' });

const programOf = ({ session = '' }: IssuerBrowser) => programs.keyOf(`__Host-gatehouse=${session}`);

/** A person who has given a program a key and has logged out, with the login. */
async function personWithProgram() {
  const { browser, sub } = await ground.logIn();
  const { key } = await programOf(browser);
  await logOut(browser);
  const [login] = await loginsOf(sub);
  return { sub, key, loginId: login?.id ?? '' };
}

describe('the key of a program of a person at an issuer', () => {
  it('is renewed while the issuer confirms the person, also after the last session', async () => {
    const { sub, key, loginId } = await personWithProgram();
    await due([loginId]);
    await eventually(async () => {
      expect(await loginsOf(sub)).toMatchObject([{ isLookedAt: true, looks: 1, looked: true }]);
    });
    expect(await programs.renew(key)).toMatchObject({ status: 200 });
  });

  it('ends when the issuer no longer takes the refresh token', async () => {
    const { sub, key, loginId } = await personWithProgram();
    ground.issuers.main.revoked.add(sub);
    await due([loginId]);
    await eventually(async () => expect(await programs.principalOf(key)).toBeUndefined());
    await eventually(async () => expect(await loginsOf(sub)).toMatchObject([{ isLookedAt: false }]));
  });

  it('ends when a group is gone', async () => {
    const { sub, key, loginId } = await personWithProgram();
    ground.issuers.main.renewals.set(sub, { groups: [] });
    await due([loginId]);
    await eventually(async () => expect(await programs.principalOf(key)).toBeUndefined());
  });

  it('goes on when the issuer takes one login away and has confirmed another', async () => {
    const { sub, key, loginId } = await personWithProgram();
    // An open session, so that the older login is looked at too. Before the newer login: the logout may drop it then.
    const first = await ground.tenants.rows(
      `update tenant.sessions set ends_at = now() + interval '10 minutes' where login_id = $1 returning id`,
      [loginId],
    );
    expect(first).toHaveLength(1);
    const { browser } = await ground.logIn({ sub });
    ground.issuers.main.revoked.add(sub);
    await due([loginId]);
    // The look, and its end.
    await eventually(async () => {
      expect(await loginsOf(sub)).toMatchObject([{ isLookedAt: false, looks: 2 }, { isLookedAt: true }]);
    });
    expect(await programs.principalOf(key)).toBeDefined();
    expect(await browser.principal()).toBeDefined();
  });

  it('is not renewed once the issuer has given no answer for an hour', async () => {
    const { sub, key, loginId } = await personWithProgram();
    ground.issuers.main.awayFor.add(sub);
    await due([loginId], 61);
    await eventually(async () => expect(await loginsOf(sub)).toMatchObject([{ isLookedAt: false }]));
    expect((await programs.renew(key)).body.error).toBe('invalid_grant');
    expect(await programs.principalOf(key)).toBeDefined();
  });

  it('is renewed until the login has expired, where it has no refresh token', async () => {
    const { key, loginId } = await personWithProgram();
    const expire = (interval: string) =>
      ground.tenants.rows(
        `update tenant.logins set refresh_token = null, look_at = null, expires_at = now() + $2::interval
         where id = $1`,
        [loginId, interval],
      );
    await expire('-1 second');
    expect((await programs.renew(key)).body.error).toBe('invalid_grant');
    await expire('1 hour');
    expect(await programs.renew(key)).toMatchObject({ status: 200 });
  });

  it('costs looks at one login, the last of the person', async () => {
    const { sub } = await personWithProgram();
    await logOut((await ground.logIn({ sub })).browser);
    const ids = (await loginsOf(sub)).map(({ id }) => id);
    await due(ids);
    await eventually(async () => {
      expect(await loginsOf(sub)).toMatchObject([
        { isLookedAt: false, looks: 1 },
        { isLookedAt: true, looked: true },
      ]);
    });
  });

  it('keeps its login, which is deleted when it is looked at no more', async () => {
    const { sub, loginId } = await personWithProgram();
    await ground.tenants.rows('delete from tenant.sessions where login_id = $1', [loginId]);
    await ground.tenants.rows(
      `update tenant.logins set expires_at = now() - interval '1 second' where id = $1`,
      [loginId],
    );
    const log = createLogger('tenant', 'silent');
    const pool = createPool({ url: ground.tenants.database.url, role: 'tenant_system', max: 1, log });
    await deleteOldLogins(pool, 1_000, 60);
    expect(await loginsOf(sub)).toHaveLength(1);
    await ground.tenants.rows('update tenant.logins set look_at = null where id = $1', [loginId]);
    await deleteOldLogins(pool, 1_000, 60);
    await pool.end();
    expect(await loginsOf(sub)).toEqual([]);
  });
});
