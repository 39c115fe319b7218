import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { mostLogins } from '../src/bounds.ts';
import { IssuerBrowser } from './issuer-browser.ts';
import { IssuerGround } from './issuer-ground.ts';

let ground: IssuerGround;
beforeAll(async () => {
  ground = await IssuerGround.start();
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

const storedOf = (sub: string) => ground.tenants.rows('select from tenant.logins where sub = $1', [sub]);

/** Logins of one person at once, on two replicas by turns, each from a network of its own. */
async function logInAtOnce(sub: string, groups: readonly string[], count: number): Promise<number[]> {
  ground.issuers.main.claims = { sub, groups };
  const answers = await Promise.all(
    Array.from({ length: count }, async (_, place) => {
      const browser = new IssuerBrowser(ground.tenants, `203.0.113.${place}`);
      const begun = await browser.visit('/login/oidc/main');
      const at = place % 2 === 0 ? ground.replica : ground.tenants.service;
      return browser.visit(ground.answerTo(begun), { at });
    }),
  );
  return answers.map(({ status }) => status).toSorted((a, b) => a - b);
}

describe('a person', () => {
  it.each([
    ['a session', ['engineers'], 303],
    ['a choice among tenants', ['both'], 200],
  ])(
    'logs in ten times a minute at most, at once too, and no other login is stored: %s',
    async (...given) => {
      const [, groups, good] = given;
      const sub = newId();
      const statuses = await logInAtOnce(sub, groups, 13);
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => good), 429, 429, 429]);
      expect(await storedOf(sub)).toHaveLength(mostLogins.perMinute);
      expect((await ground.logIn()).answer.status).toBe(303);
    },
  );

  it('logs in while many logins of another person wait for each other', async () => {
    const sub = newId();
    const lock = `logins ${JSON.stringify([ground.issuers.main.url, sub])}`;
    await ground.tenants.rows('begin');
    await ground.tenants.rows('select pg_advisory_xact_lock(hashtextextended($1, 0))', [lock]);
    const waiting = logInAtOnce(sub, ['engineers'], 10);
    await eventually(async () => expect(await ground.tenants.waiting()).toBeGreaterThanOrEqual(4));
    expect((await ground.logIn()).answer.status).toBe(303);
    await ground.tenants.rows('rollback');
    await waiting;
  });

  it('has no more logins stored than are of use', async () => {
    const sub = newId();
    const old = `insert into tenant.logins (id, issuer, iss, sub, id_token, created_at, expires_at, look_at)
      select gen_random_uuid(), 'main', $1, $2, $3, now() - interval '1 hour', now() + interval '11 hours', look
      from generate_series(1, $4::int) as n, (values (null), (now() + interval '1 hour')) as looks (look)`;
    await ground.tenants.rows(old, [ground.issuers.main.url, sub, randomBytes(32), mostLogins.kept]);
    const { browser } = await ground.logIn({ sub });
    expect(await storedOf(sub)).toHaveLength(2 * mostLogins.kept + 1);
    // The login itself is looked at and has a session; one that nothing needs is too many now.
    await ground.tenants.rows(
      `insert into tenant.logins (id, issuer, iss, sub, id_token, created_at, expires_at)
       values ($1, 'main', $2, $3, $4, now() - interval '1 hour', now() + interval '11 hours')`,
      [newId(), ground.issuers.main.url, sub, randomBytes(32)],
    );
    await ground.logIn({ sub });
    expect(await storedOf(sub)).toHaveLength(2 * mostLogins.kept + 2);
    expect(await browser.principal()).toBeDefined();
  });
});
