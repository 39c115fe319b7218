import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { User } from '@gatehouse/contract/users';
import { eventually } from '@gatehouse/test/eventually';
import { Browser } from './browser.ts';
import { IssuerBrowser } from './issuer-browser.ts';
import { IssuerGround } from './issuer-ground.ts';

let ground: IssuerGround;
beforeAll(async () => {
  ground = await IssuerGround.start();
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

const logIn = (sub: string, claims: Record<string, unknown> = {}) =>
  ground.logIn({ sub, ...claims }, { browser: new IssuerBrowser(ground.tenants), returnTo: '/app' });
const call = (method: string, name: string, body?: object) =>
  ground.tenants.call(method, `/v1/users/${encodeURIComponent(name)}`, {
    ...{ as: ground.acme.admin, ...(body !== undefined && { body }) },
  });
const userOf = async (name: string) => (await call('GET', name)).body as unknown as User;

describe('a login by an issuer', () => {
  it('writes its user with the groups of the claim', async () => {
    await logIn('ada', { name: 'Ada L', groups: ['engineers', 'Berlin'] });
    expect(await userOf('main:ada')).toMatchObject({
      ...{ user_id: 'main:ada', display_name: 'Ada L', source: 'login', groups: ['Berlin', 'engineers'] },
    });
    await logIn('ada', { name: 'Ada Lovelace', groups: ['engineers', 'Oslo'] });
    expect(await userOf('main:ada')).toMatchObject({
      ...{ display_name: 'Ada Lovelace', groups: ['engineers', 'Oslo'] },
    });
  });

  it('replaces only the groups that logins gave, as the API replaces its own', async () => {
    await call('PUT', 'main:bob', { display_name: 'Robert', groups: ['Berlin', 'Chess'] });
    await logIn('bob', { name: 'Bob', groups: ['engineers', 'berlin'] });
    expect(await userOf('main:bob')).toMatchObject({
      ...{ display_name: 'Robert', source: 'api', groups: ['Berlin', 'Chess', 'engineers'] },
    });
    await logIn('bob', { groups: ['engineers'] });
    expect((await userOf('main:bob')).groups).toEqual(['Berlin', 'Chess', 'engineers']);
    await call('PUT', 'main:bob', { groups: [] });
    expect((await userOf('main:bob')).groups).toEqual(['engineers']);
  });

  it('gives a user with an alias the groups, and a group by its external id', async () => {
    await call('PUT', 'cy', { aliases: ['main:cy'], groups: ['Renamed'] });
    await ground.tenants.rows(`update tenant.groups set external_id = 'object-7' where name = 'Renamed'`);
    await call('PUT', 'cy', { groups: [] });
    await logIn('cy', { groups: ['engineers', 'object-7'] });
    expect(await userOf('cy')).toMatchObject({ user_id: 'cy', groups: ['engineers', 'Renamed'] });
    // An identity provider that provisions users gives their groups itself.
    await ground.tenants.rows(`update tenant.users set external_id = 'cy-9' where user_id = 'cy'`);
    await logIn('cy', { groups: ['engineers', 'Later'] });
    expect((await userOf('cy')).groups).toEqual(['engineers', 'Renamed']);
  });

  it('is refused for a blocked user', async () => {
    await logIn('dan', { groups: ['engineers'] });
    await call('PUT', 'main:dan', { status: 'blocked' });
    const answer = await logIn('dan', { groups: ['engineers'] });
    expect(JSON.stringify(answer)).toContain('blocked');
    const open = await ground.tenants.rows(
      `select from tenant.sessions where user_id = 'main:dan' and ends_at > now()`,
    );
    expect(open).toEqual([]);
  });

  it('leaves a user alone that it would not change', async () => {
    await logIn('eve', { name: 'Eve', groups: ['engineers'] });
    const before = await userOf('main:eve');
    await logIn('eve', { name: 'Eve', groups: ['engineers'] });
    expect((await userOf('main:eve')).updated_at).toBe(before.updated_at);
  });

  it('takes a claim with too many groups, and values that can be no names', async () => {
    const many = Array.from({ length: 150 }, (_, n) => `team-${n}`);
    await logIn('fay', { groups: ['engineers', '', ' ', 'x'.repeat(300), ...many] });
    expect((await userOf('main:fay')).groups).toHaveLength(100);
  });
});

describe('a revalidation of a login', () => {
  /** Has the issuer confirm a login again, with other groups. */
  async function revalidate(sub: string, groups: string[]): Promise<void> {
    ground.issuers.main.renewals.set(sub, { groups });
    const [before] = await ground.tenants.rows<{ looks: number }>(
      `update tenant.logins set look_at = now(), looked_at = now() - interval '12 minutes' where sub = $1
       returning looks`,
      [sub],
    );
    await eventually(async () => {
      const [login] = await ground.tenants.rows(
        `select from tenant.logins where sub = $1 and looks > $2 and looked_at > now() - interval '5 minutes'`,
        [sub, before?.looks],
      );
      expect(login).toBeDefined();
    });
  }

  it('replaces the groups that logins gave, and leaves the name', async () => {
    await logIn('gil', { name: 'Gil', groups: ['engineers', 'Berlin'] });
    await call('PUT', 'main:gil', { groups: ['Chess'] });
    await revalidate('gil', ['engineers', 'Oslo']);
    expect(await userOf('main:gil')).toMatchObject({
      ...{ display_name: 'Gil', groups: ['Chess', 'engineers', 'Oslo'] },
    });
  });

  it('makes no user again that was deleted', async () => {
    await logIn('hal', { groups: ['engineers'] });
    await call('DELETE', 'main:hal');
    await revalidate('hal', ['engineers', 'Oslo']);
    expect((await call('GET', 'main:hal')).status).toBe(404);
  });
});

it('a login with a key of a blocked user opens no session', async () => {
  const { id, key } = await ground.tenants.makeKey(ground.acme.admin, { scopes: ['chat'], user_id: 'ida@x' });
  await call('PUT', 'ida', { aliases: ['ida@x'], status: 'blocked' });
  const browser = new Browser(ground.tenants);
  const refused = await browser.browse('/login/key', { body: { key } });
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('user_blocked')]);
  expect(refused.headers.get('set-cookie')).toBeNull();
  expect(await ground.tenants.rows('select from tenant.sessions where key_id = $1', [id])).toEqual([]);
  await call('PUT', 'ida', { status: 'active' });
  expect((await browser.browse('/login/key', { body: { key } })).status).toBe(200);
});
