import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import type { Service } from '@gatehouse/shell/service';
import { eventually } from '@gatehouse/test/eventually';
import type { ForgingIssuer, TokenClaims } from '@gatehouse/test/forging-issuer';
import { upToLimit } from '@gatehouse/test/minute';
import { IssuerBrowser, type Page } from './issuer-browser.ts';
import { IssuerGround } from './issuer-ground.ts';
import type { TenantServiceUnderTest } from './tenant-service.ts';

let ground: IssuerGround;
let issuer: ForgingIssuer;
let other: ForgingIssuer;
let tenants: TenantServiceUnderTest;
let replica: Service;

beforeAll(async () => {
  ground = await IssuerGround.start();
  ({ tenants, replica } = ground);
  ({ main: issuer, other } = ground.issuers);
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

/** Keys are fetched again after a second. */
const aSecond = (): Promise<void> => sleep(1_200);

/** The path of the answer that a browser brings back from the page of an issuer. */
const answerTo = (begun: Page, from = issuer, name = 'main', fields: Record<string, string> = {}): string =>
  ground.answerTo(begun, { from: from === other ? 'other' : 'main', name, fields });

/** As a new person, unless the claims name one. */
async function logIn(claims: TokenClaims = {}, browser = new IssuerBrowser(tenants), returnTo = '/app/keys') {
  return ground.logIn(claims, { browser, returnTo });
}

describe('a login by an issuer', () => {
  it('asks for a code with PKCE, and makes a session of the person in the tenant of the mapping', async () => {
    const browser = new IssuerBrowser(tenants);
    const begun = await browser.visit('/login/oidc/main?return_to=/app/keys');
    const asked = Object.fromEntries(new URL(begun.location).searchParams);
    expect(begun.location).toMatch(new RegExp(`^${issuer.url}/authorize\\?`));
    expect(asked).toMatchObject({
      ...{
        client_id: 'gatehouse',
        response_type: 'code',
        code_challenge_method: 'S256',
        scope: 'openid profile',
      },
      redirect_uri: 'https://gateway.example.com/login/oidc/main/callback',
    });
    const answer = await browser.visit(answerTo(begun));
    expect([answer.status, answer.location]).toEqual([303, '/app/keys']);
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^__Host-gatehouse=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(issuer.calls.at(-1)?.get('code_verifier')).toMatch(/^[\w-]{43}$/);
    expect(await browser.principal()).toMatchObject({ tenantSlug: 'acme', role: 'user', userId: 'main:ada' });
    const [audit] = await tenants.rows<{ count: string }>(
      `select count(*) from tenant.audit_log where tenant_id = $1 and action = any($2)`,
      [ground.acme.id, ['session.created', 'api_key.created']],
    );
    expect(Number(audit?.count)).toBeGreaterThanOrEqual(2);
    expect(await tenants.rows('select refresh_token from tenant.logins where refresh_token is null')).toEqual(
      [],
    );
  });

  it('links by issuer and subject: the same key each time, and another one at another issuer', async () => {
    const first = await logIn({ sub: 'ada' });
    const again = await logIn({ sub: 'ada', email: 'other@example.com', name: 'Countess' });
    expect((await again.browser.principal())?.id).toBe((await first.browser.principal())?.id);
    const browser = new IssuerBrowser(tenants);
    const begun = await browser.visit('/login/oidc/other');
    await browser.visit(answerTo(begun, other, 'other'));
    const [here, there] = [await first.browser.principal(), await browser.principal()];
    expect(there?.id).not.toBe(here?.id);
    expect([here?.userId, there?.userId]).toEqual(['main:ada', 'other:ada']);
  });

  it('gives the higher role, and ends sessions of rights that a mapping no longer gives', async () => {
    const before = await logIn({ sub: 'bob' });
    const { browser } = await logIn({ sub: 'bob', groups: ['engineers', 'admins'] });
    expect(await browser.principal()).toMatchObject({ tenantSlug: 'acme', role: 'admin' });
    expect((await browser.principal())?.userId).toBeUndefined();
    expect(await before.browser.principal()).toBeUndefined();
  });

  it('lets a person of several tenants choose one, once', async () => {
    const { browser, answer } = await logIn({ sub: 'eve', groups: ['both', 'platform'] });
    expect([answer.status, browser.session]).toEqual([200, undefined]);
    expect(answer.text).toContain(`value="${ground.zeta.id}">zeta, as user`);
    const choose = (tenant: string) =>
      browser.visit('/login/oidc/main/choice?return_to=/app/', { method: 'POST', form: { tenant } });
    for (const nowhere of ['nowhere', 'zeta', newId()]) expect((await choose(nowhere)).status).toBe(400);
    const chosen = await browser.visit('/login/oidc/main/choice?return_to=/app/', {
      ...{ method: 'POST', form: { tenant: ground.zeta.id } },
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect([chosen.status, browser.session]).toEqual([403, undefined]);
    const token = browser.cookies.get('__Host-gatehouse-login') ?? '';
    expect((await choose(ground.zeta.id)).location).toBe('/app/');
    expect(await browser.principal()).toMatchObject({ tenantSlug: 'zeta', role: 'user', userId: 'main:eve' });
    browser.cookies.set('__Host-gatehouse-login', token);
    expect((await choose(ground.acme.id)).status).toBe(400);
  });

  it('makes an owner of a member of an owner group, whose key keeps no last owner key', async () => {
    const { browser } = await logIn({ sub: 'root', groups: ['platform'] });
    expect(await browser.principal()).toMatchObject({ tenantId: '', role: 'owner' });
  });

  it('maps by a claim, also one with several values', async () => {
    const { browser } = await logIn({ sub: 'dan', groups: [], department: ['Sales', 'R&D'] });
    expect(await browser.principal()).toMatchObject({ tenantSlug: 'zeta' });
  });

  it.each<[string, TokenClaims, RegExp]>([
    ['no mapping', { groups: ['<b>x</b>', 'staff'] }, /&lt;b&gt;x&lt;\/b&gt;[\s\S]*staff/],
    ['no groups', { groups: undefined }, /sent no groups/],
    ['groups left out', { groups: undefined, _claim_names: { groups: 'src1' } }, /more groups than a token/],
    ['unreadable groups', { groups: [{ a: 1 }] }, /no list/],
    ['a tenant that there is not', { groups: ['ghosts'] }, /do not exist/],
    ['a user id that is none', { sub: 'ä' }, /no user id/],
  ])('answers 403 for %s, and says why', async (_name, claims, text) => {
    const { browser, answer } = await logIn({ sub: 'mallory', ...claims });
    expect([answer.status, answer.text]).toEqual([403, expect.stringMatching(text)]);
    expect(answer.text).not.toContain('<b>');
    expect(browser.session).toBeUndefined();
  });

  it('ends with the key of the person, and cannot be used to rotate it', async () => {
    const { browser } = await logIn({ sub: 'fay' });
    const id = (await browser.principal())?.id ?? '';
    const as = ground.acme.admin;
    const body = { overlap_seconds: 0 };
    expect(await tenants.call('POST', `/v1/api-keys/${id}/rotate`, { as, body })).toMatchObject({
      status: 409,
    });
    expect(await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as })).toMatchObject({ status: 200 });
    expect(await browser.principal()).toBeUndefined();
  });
});

describe('an attack on a login', () => {
  it.each<[string, TokenClaims]>([
    ['the name of another issuer', { iss: 'https://evil.example.com' }],
    ['another audience', { aud: 'another-client' }],
    ['a second audience and no azp', { aud: ['gatehouse', 'another-client'] }],
    ['the azp of another client', { aud: ['gatehouse', 'another-client'], azp: 'another-client' }],
    ['a lone azp of another client', { azp: 'another-client' }],
    ['another nonce', { nonce: 'another' }],
    ['no nonce', { nonce: undefined }],
    ['an end before two minutes', { exp: Math.floor(Date.now() / 1_000) - 120 }],
    ['a time of issue in ten minutes', { iat: Math.floor(Date.now() / 1_000) + 600 }],
    ['a time of issue an hour ago', { iat: Math.floor(Date.now() / 1_000) - 3_600 }],
    ['no time of issue', { iat: undefined }],
    ['no subject', { sub: undefined }],
    // PostgreSQL stores no NUL, and two lone surrogates as the same character.
    ['a subject with NUL', { sub: 'a\0b' }],
    ['a subject with half a character', { sub: 'a\ud800' }],
  ])('by a token with %s has no effect', async (_name, claims) => {
    const { browser, answer } = await logIn(claims);
    expect([answer.status, browser.session]).toEqual([401, undefined]);
  });

  it('by NUL in other claims is none', async () => {
    const odd = { sid: 's\0', name: 'A\0da', groups: ['engineers', 'g\0'], department: 'd\0' };
    const { browser } = await logIn({ ...odd, preferred_username: '\0', email: '\0' });
    expect(await browser.principal()).toMatchObject({ tenantSlug: 'acme' });
    const { answer } = await logIn({ ...odd, groups: ['g\0'] });
    expect(answer.status).toBe(403);
  });

  it('by clocks that differ by less than a minute is none', async () => {
    for (const seconds of [-45, 45]) {
      const { browser } = await logIn({ iat: Math.floor(Date.now() / 1_000) + seconds });
      expect(await browser.principal()).toBeDefined();
    }
  });

  it('by a key that the issuer does not publish has no effect', async () => {
    await issuer.rotate({ publishes: false });
    const { browser, answer } = await logIn();
    expect([answer.status, browser.session]).toEqual([401, undefined]);
    await issuer.rotate();
    await aSecond();
  });

  it('by a used state has no effect, and costs the issuer no second call', async () => {
    const browser = new IssuerBrowser(tenants);
    const begun = await browser.visit('/login/oidc/main');
    const kept = browser.cookies.get('__Host-gatehouse-login') ?? '';
    await browser.visit(answerTo(begun));
    const calls = issuer.calls.length;
    browser.cookies.set('__Host-gatehouse-login', kept);
    expect((await browser.visit(answerTo(begun))).status).toBe(400);
    expect(issuer.calls.length).toBe(calls);
  });

  it('by two answers at once on two replicas makes one session', async () => {
    const browser = new IssuerBrowser(tenants);
    const begun = await browser.visit('/login/oidc/main');
    const path = answerTo(begun);
    const ends = await Promise.all([browser.visit(path), browser.visit(path, { at: replica })]);
    expect(ends.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 400]);
  });

  it('by an answer in another browser has no effect', async () => {
    const begun = await new IssuerBrowser(tenants).visit('/login/oidc/main');
    const victim = new IssuerBrowser(tenants);
    expect((await victim.visit(answerTo(begun))).status).toBe(400);
    await victim.visit('/login/oidc/main');
    expect((await victim.visit(answerTo(begun))).status).toBe(400);
    expect(victim.session).toBeUndefined();
  });

  it('that mixes issuers up sends no code to the wrong one', async () => {
    const browser = new IssuerBrowser(tenants);
    const begun = await browser.visit('/login/oidc/main');
    const calls = [issuer.calls.length, other.calls.length];
    expect((await browser.visit(answerTo(begun, issuer, 'other'))).status).toBe(400);
    // The right path, with the name of the other issuer, and with none.
    for (const iss of [other.url, '']) {
      const again = await browser.visit('/login/oidc/main');
      expect((await browser.visit(answerTo(again, issuer, 'main', { iss }))).status).toBe(401);
    }
    expect([issuer.calls.length, other.calls.length]).toEqual(calls);
  });

  it('by a choice that is older than another login of the person has no effect', async () => {
    const { browser } = await logIn({ sub: 'gil', groups: ['both'] });
    const later = await logIn({ sub: 'gil' });
    const chosen = await browser.visit('/login/oidc/main/choice', {
      ...{ method: 'POST', form: { tenant: ground.acme.id } },
    });
    expect([chosen.status, browser.session]).toEqual([400, undefined]);
    expect(await later.browser.principal()).toBeDefined();
  });

  it('by a choice of a person whom the issuer gives no group any more has no effect', async () => {
    const { browser } = await logIn({ sub: 'hal', groups: ['both'] });
    expect((await logIn({ sub: 'hal', groups: [] })).answer.status).toBe(403);
    const chosen = await browser.visit('/login/oidc/main/choice', {
      ...{ method: 'POST', form: { tenant: ground.acme.id } },
    });
    expect([chosen.status, browser.session]).toEqual([400, undefined]);
  });

  it('by a session that another person has set ends that session', async () => {
    const { browser: mallory } = await logIn({ sub: 'mallory' });
    const victim = new IssuerBrowser(tenants);
    victim.cookies.set('__Host-gatehouse', mallory.session ?? '');
    await logIn({ sub: 'victim' }, victim);
    expect(victim.session).not.toBe(mallory.session);
    expect(await mallory.principal()).toBeUndefined();
    expect(await victim.principal()).toMatchObject({ userId: 'main:victim' });
  });

  it.each(['https://evil.example.com/', '//evil.example.com', '/\\evil.example.com', 'javascript:alert(1)'])(
    'by a return to %s leads to a page of the gateway',
    async (target) => {
      const { answer } = await logIn({}, new IssuerBrowser(tenants), target);
      expect([answer.status, answer.location]).toEqual([303, '/app/']);
    },
  );
});

describe('a network', () => {
  it('logs in after any number of answers and choices that are not genuine, which reach no issuer', async () => {
    const network = '203.0.113.50';
    const browser = new IssuerBrowser(tenants, network);
    const begun = await browser.visit('/login/oidc/main');
    const used = () => tenants.rows('select token_sha256 from tenant.used_tokens');
    const before = [issuer.calls.length, (await used()).length];
    const forged = new IssuerBrowser(tenants, network);
    forged.cookies.set('__Host-gatehouse-login', 'a'.repeat(43));
    const wrong = await Promise.all(
      Array.from({ length: 70 }, async () => {
        const form = { tenant: ground.acme.id };
        await forged.visit('/login/oidc/main/choice', { method: 'POST', form });
        return forged.visit('/login/oidc/main/callback?code=a&state=b');
      }),
    );
    expect(new Set(wrong.map(({ status }) => status))).toEqual(new Set([400]));
    expect([issuer.calls.length, (await used()).length]).toEqual(before);
    const form = { tenant: ground.acme.id };
    const choices = await upToLimit(
      60,
      async () => (await forged.visit('/login/oidc/main/choice', { method: 'POST', form })).status,
    );
    expect(choices.at(-1)).toBe(429);
    expect((await browser.visit(answerTo(begun))).status).toBe(303);
  });

  it('logs in after any number of genuine answers that the issuer refuses', async () => {
    const network = '203.0.113.51';
    const statuses = [];
    for (let count = 0; count < 65; count += 1) {
      const browser = new IssuerBrowser(tenants, network);
      const begun = await browser.visit('/login/oidc/main');
      const denied = await browser.visit(answerTo(begun, issuer, 'main', { error: 'access_denied' }));
      statuses.push(denied.status);
    }
    expect(new Set(statuses)).toEqual(new Set([401]));
    const { browser } = await logIn({}, new IssuerBrowser(tenants, network));
    expect(await browser.principal()).toBeDefined();
  });

  it('has four answers at an issuer at once, and lets other networks in meanwhile', async () => {
    const held = Promise.withResolvers<undefined>();
    const begin = async (network: string) => {
      const browser = new IssuerBrowser(tenants, network);
      return { browser, begun: await browser.visit('/login/oidc/main') };
    };
    const flood = await Promise.all(Array.from({ length: 70 }, () => begin('203.0.113.52')));
    const good = await begin('203.0.113.53');
    const before = issuer.calls.length;
    issuer.held = held.promise;
    // Each login is of another person.
    issuer.claims = {
      get sub() {
        return newId();
      },
    };
    const answers = flood.map(({ browser, begun }) => browser.visit(answerTo(begun)));
    await eventually(() => expect(issuer.calls).toHaveLength(before + 4));
    const passed = good.browser.visit(answerTo(good.begun));
    await eventually(() => expect(issuer.calls).toHaveLength(before + 5));
    held.resolve(undefined);
    expect((await passed).status).toBe(303);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    // Four run and 64 wait; the others may come again with the state that they have.
    expect(statuses.filter((status) => status === 429)).toHaveLength(2);
    const again = flood[statuses.indexOf(429)];
    if (again === undefined) throw new Error('no answer was refused');
    expect((await again.browser.visit(answerTo(again.begun))).status).toBe(303);
  });
});

describe('an issuer', () => {
  it('that has new keys is followed', async () => {
    await aSecond();
    await issuer.rotate();
    const { browser } = await logIn();
    expect(await browser.principal()).toBeDefined();
  });

  it('that is away gets 503 and a page', async () => {
    const browser = new IssuerBrowser(tenants);
    const begun = await browser.visit('/login/oidc/main');
    issuer.away = true;
    const answer = await browser.visit(answerTo(begun));
    expect([answer.status, answer.text]).toEqual([503, expect.stringContaining('main is unavailable')]);
    expect(answer.headers.get('retry-after')).toBe('30');
  });

  it.each<[string, NonNullable<ForgingIssuer['tokenAnswer']>]>([
    [
      'rejects the gateway by a challenge',
      { status: 401, body: { error: 'invalid_client' }, headers: { 'www-authenticate': 'Basic realm="x"' } },
    ],
    ['rejects the gateway', { status: 400, body: { error: 'invalid_client' } }],
    ['has no such endpoint', { status: 404, body: {} }],
    ['sends no tokens', { status: 200, body: {} }],
  ])('that %s gets 503', async (_name, answer) => {
    const browser = new IssuerBrowser(tenants);
    const begun = await browser.visit('/login/oidc/main');
    issuer.tokenAnswer = answer;
    expect((await browser.visit(answerTo(begun))).status).toBe(503);
  });

  it('that does not confirm the person gets 401 and a page without its texts', async () => {
    const browser = new IssuerBrowser(tenants);
    const begun = await browser.visit('/login/oidc/main');
    const fields = { error: 'access_denied', error_description: '<script>' };
    const answer = await browser.visit(answerTo(begun, issuer, 'main', fields));
    expect([answer.status, answer.text]).toEqual([401, expect.not.stringContaining('script')]);
  });

  it('is on the page for login, beside the field for a key; an unknown one is not found', async () => {
    const page = await new IssuerBrowser(tenants).visit('/login?return_to=/app/');
    expect(page.text).toContain('href="/login/oidc/main?return_to=%2Fapp%2F"');
    expect(page.text).toContain('name="key"');
    expect((await new IssuerBrowser(tenants).visit('/login/oidc/unknown')).status).toBe(404);
  });
});
