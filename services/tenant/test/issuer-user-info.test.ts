import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import type { ForgingIssuer } from '@gatehouse/test/forging-issuer';
import { IssuerGround } from './issuer-ground.ts';

/** Claims that an issuer gives at its userinfo endpoint alone, as Authelia does with groups. */

let ground: IssuerGround;
let issuer: ForgingIssuer;
beforeAll(async () => {
  ground = await IssuerGround.start();
  issuer = ground.issuers.main;
  issuer.metadata = { userinfo_endpoint: `${issuer.url}/userinfo` };
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

const answering = (body: unknown, status = 200) => Object.assign(issuer, { userInfo: { status, body } });
/** An ID token without groups. */
const bare = { groups: undefined };
const principalOf = async (login: Awaited<ReturnType<typeof ground.logIn>>) => login.browser.principal();

describe('a login', () => {
  it('has the groups of user info, which is read with the access token', async () => {
    answering({ sub: 'ann', groups: ['admins'] });
    expect(await principalOf(await ground.logIn({ sub: 'ann', ...bare }))).toMatchObject({ role: 'admin' });
    expect(issuer.userInfoCalls.at(-1)).toBe('Bearer access');
  });

  it('has the groups of a signed answer', async () => {
    answering(await issuer.sign({ sub: 'bea', groups: ['admins'] }));
    expect(await principalOf(await ground.logIn({ sub: 'bea', ...bare }))).toMatchObject({ role: 'admin' });
  });

  it('has the groups of the ID token where both have some, and claims that only one has', async () => {
    answering({ sub: 'cyd', groups: ['admins'], department: ['R&D'], name: 'Cyd' });
    const { answer } = await ground.logIn({ sub: 'cyd', groups: ['engineers'] });
    expect(answer.text).toContain(`value="${ground.acme.id}">acme, as user`);
    expect(answer.text).toContain(`value="${ground.zeta.id}">zeta, as user`);
  });

  it('asks for no user info where the ID token has all claims', async () => {
    const before = issuer.userInfoCalls.length;
    const login = await ground.logIn({ groups: ['engineers'], department: 'Sales' });
    expect(await principalOf(login)).toMatchObject({ tenantSlug: 'acme' });
    expect(issuer.userInfoCalls).toHaveLength(before);
  });

  it('keeps the groups of user info while the person chooses a tenant, sealed, and no longer', async () => {
    answering({ sub: 'dee', groups: ['both', 'secret-group'], name: 'Dee' });
    const { browser } = await ground.logIn({ sub: 'dee', ...bare });
    const stored = () =>
      ground.tenants.rows<{ text: string | null }>(
        `select encode(user_info, 'escape') as text from tenant.logins where sub = 'dee'`,
      );
    const [choosing] = await stored();
    expect(choosing?.text).toEqual(expect.not.stringContaining('secret-group'));
    const form = { tenant: ground.zeta.id };
    await browser.visit('/login/oidc/main/choice', { method: 'POST', form });
    expect(await browser.principal()).toMatchObject({ tenantSlug: 'zeta', userId: 'main:dee' });
    expect(await stored()).toEqual([{ text: null }]);
  });

  it('goes on without user info for a claim of a mapping alone that the access token is not good for', async () => {
    answering({ error: 'invalid_token' }, 401);
    expect(await principalOf(await ground.logIn())).toMatchObject({ tenantSlug: 'acme' });
  });

  it.each<[string, [number, unknown]]>([
    ['fails', [500, {}]],
    ['is moved', [302, {}]],
    ['is a list', [200, []]],
    ['is a page', [200, '<html>']],
    ['is about another person', [200, { sub: 'eve', department: ['R&D'] }]],
  ])('goes on without user info for a claim of a mapping alone if it %s', async (_what, [status, body]) => {
    answering(body, status);
    const before = issuer.userInfoCalls.length;
    const login = await ground.logIn({ groups: ['engineers'] });
    expect(await principalOf(login)).toMatchObject({ tenantSlug: 'acme', role: 'user' });
    expect(issuer.userInfoCalls).toHaveLength(before + 1);
  });

  it('revokes no key while user info fails that may give its rights', async () => {
    const logIn = (groups: string[]) => ground.logIn({ sub: 'fay', groups });
    answering({ sub: 'fay', department: ['R&D'] });
    const earlier = await logIn([]);
    expect(await principalOf(earlier)).toMatchObject({ tenantSlug: 'zeta' });
    answering({}, 503);
    expect(await principalOf(await logIn(['engineers']))).toMatchObject({ tenantSlug: 'acme' });
    const { browser, answer } = await logIn(['both']);
    expect(answer.text).toContain(`value="${ground.acme.id}">acme, as user`);
    const form = { tenant: ground.acme.id };
    await browser.visit('/login/oidc/main/choice', { method: 'POST', form });
    expect(await browser.principal()).toMatchObject({ tenantSlug: 'acme' });
    expect(await principalOf(earlier)).toMatchObject({ tenantSlug: 'zeta' });
    answering({ sub: 'fay', department: ['Sales'] });
    await logIn(['engineers']);
    expect(await principalOf(earlier)).toBeUndefined();
  });

  it.each<[string, [number, unknown], number, RegExp]>([
    ['about another person', [200, { sub: 'eve', groups: ['admins'] }], 401, /did not confirm/],
    ['without a person', [200, { groups: ['admins'] }], 401, /did not confirm/],
    ['with no token that it takes', [401, {}], 503, /unavailable/],
    ['that fails', [500, {}], 503, /unavailable/],
    ['that is moved', [302, {}], 503, /unavailable/],
    ['that is a list', [200, []], 503, /unavailable/],
    ['that is no JWT', [200, '<html>'], 401, /did not confirm/],
    ['without groups', [200, { sub: 'mia', roles: ['x'] }], 403, /sent no groups.*<code>roles<\/code>/],
    ['with no list of groups', [200, { sub: 'mia', groups: [{}] }], 403, /no list/],
    ['with too many groups', [200, { sub: 'mia', groups: Array(10_000).fill('admins') }], 403, /no list/],
    ['that leaves groups out', [200, { sub: 'mia', _claim_names: { groups: 'a' } }], 403, /more groups/],
  ])('has no session by user info %s', async (_what, [status, body], expected, text) => {
    answering(body, status);
    const { browser, answer } = await ground.logIn({ sub: 'mia', ...bare });
    expect([answer.status, answer.text]).toEqual([expected, expect.stringMatching(text)]);
    expect(browser.session).toBeUndefined();
  });

  it('has no session by an answer that another key has signed', async () => {
    answering(await ground.issuers.other.sign({ sub: 'kim', groups: ['admins'] }));
    expect((await ground.logIn({ sub: 'kim', ...bare })).answer.status).toBe(401);
  });
});

describe('a revalidation', () => {
  const due = (sub: string, after = '12 minutes') =>
    ground.tenants.rows(
      `update tenant.logins set look_at = now(), looked_at = now() - $2::interval where sub = $1`,
      [sub, after],
    );
  const untilLooked = (sub: string) =>
    eventually(async () => {
      const rows = await ground.tenants.rows<{ looked: boolean }>(
        `select looked_at > now() - interval '1 minute' as looked from tenant.logins where sub = $1`,
        [sub],
      );
      expect(rows).toEqual([{ looked: true }]);
    });

  it.each<[string, string, null | object]>([
    ['with an ID token', 'lou', bare],
    ['without an ID token', 'lea', null],
  ])('%s gives the rights of user info', async (_what, sub, renewal) => {
    answering({ sub, groups: ['engineers'], department: 'Sales' });
    const { browser } = await ground.logIn({ sub, ...bare });
    issuer.renewals.set(sub, renewal as Record<string, unknown> | null);
    await due(sub);
    await untilLooked(sub);
    expect(await browser.principal()).toMatchObject({ role: 'user' });
    answering({ sub, groups: ['others'], department: 'Sales' });
    await due(sub);
    await eventually(async () => expect(await browser.principal()).toBeUndefined());
  });

  it('without an ID token confirms the login where user info fails, or lacks groups', async () => {
    answering({ sub: 'max', groups: ['engineers'], department: 'Sales' });
    const { browser } = await ground.logIn({ sub: 'max', ...bare });
    issuer.renewals.set('max', null);
    for (const [status, body] of [
      [500, {}],
      [200, { sub: 'max' }],
      [200, { sub: 'eve', groups: [], department: '' }],
    ] as const) {
      answering(body, status);
      await due('max');
      await untilLooked('max');
      expect(await browser.principal()).toBeDefined();
    }
  });

  it('goes on with the ID token while user info fails for a claim of a mapping alone', async () => {
    answering({}, 503);
    const { browser } = await ground.logIn({ sub: 'oda', groups: ['engineers'] });
    await due('oda');
    await untilLooked('oda');
    expect(await browser.principal()).toMatchObject({ role: 'user' });
    issuer.renewals.set('oda', { groups: ['admins'] });
    await due('oda', '2 hours');
    await eventually(async () => expect(await browser.principal()).toBeUndefined());
  });

  it('ends rights of a mapping after the grace while user info fails', async () => {
    answering({ sub: 'pam', department: ['R&D'] });
    const { browser } = await ground.logIn({ sub: 'pam', groups: [] });
    answering({}, 503);
    await due('pam', '2 hours');
    await untilLooked('pam');
    expect(await browser.principal()).toBeUndefined();
  });

  it('ends no rights of a mapping within the grace while user info fails', async () => {
    answering({ sub: 'pia', department: ['R&D'] });
    const { browser } = await ground.logIn({ sub: 'pia', groups: [] });
    answering({}, 503);
    // The second one begins after the end of the first.
    for (const _time of [1, 2]) {
      const calls = issuer.userInfoCalls.length;
      await due('pia');
      await eventually(() => expect(issuer.userInfoCalls.length).toBeGreaterThan(calls));
    }
    expect(await browser.principal()).toMatchObject({ tenantSlug: 'zeta' });
  });

  it('changes nothing while user info fails', async () => {
    answering({ sub: 'ned', groups: ['engineers'] });
    const { browser } = await ground.logIn({ sub: 'ned', ...bare });
    const calls = issuer.userInfoCalls.length;
    answering({}, 503);
    await due('ned');
    await eventually(() => expect(issuer.userInfoCalls.length).toBeGreaterThan(calls));
    expect(await browser.principal()).toMatchObject({ role: 'user' });
  });
});
