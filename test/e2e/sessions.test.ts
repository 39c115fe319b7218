import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';

let gateway: SomeGateway;
beforeAll(async () => {
  gateway = await openGateway({ edges: 2 });
});
afterAll(async () => gateway.stop());

const boundMs = 5_000;
const ownPage = { 'sec-fetch-site': 'same-origin', 'x-gatehouse-page': '1' };

const cookieOf = (answer: Answer): string => (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';

function browse(
  route: string,
  cookie: string,
  more: Parameters<SomeGateway['call']>[1] = {},
): Promise<Answer> {
  return gateway.call(route, { ...more, headers: { ...ownPage, cookie } });
}

async function logIn(key: string): Promise<string> {
  const answer = await browse('/login/key', '', { body: { key } });
  expect(answer.status).toBe(200);
  return cookieOf(answer);
}

describe('a person with a browser', () => {
  it('logs in with a key at one edge and works at another, until the key is revoked', async () => {
    const tenant = await gateway.makeTenant();
    const made = await gateway.call('/v1/api-keys', {
      key: tenant.adminKey,
      body: { name: 'Ada', role: 'user', user_id: 'ada' },
    });
    const { id, key } = made.body as { id: string; key: string };
    const cookie = await logIn(key);
    const shown = await browse('/v1/session', cookie, { edge: 1 });
    expect(shown.body).toMatchObject({ user_id: 'ada', name: 'Ada', role: 'user' });
    expect((await browse('/v1/whoami', cookie)).body).toMatchObject({ key_id: id, user_id: 'ada' });
    const answer = await browse('/v1/chat/completions', cookie, {
      body: { model: 'fast', messages: [{ role: 'user', content: 'hi' }] },
    });
    expect([200, 404]).toContain(answer.status);
    const denied = await browse('/v1/sessions', cookie);
    expect(denied).toMatchObject({ status: 403, body: { error: { code: 'role_missing' } } });

    await gateway.call(`/v1/api-keys/${id}/revoke`, { key: tenant.adminKey, method: 'POST' });
    const startedAt = performance.now();
    await eventually(async () => {
      const both = await Promise.all([0, 1].map((edge) => browse('/v1/whoami', cookie, { edge })));
      expect(both.map(({ status }) => status)).toEqual([401, 401]);
    }, 2 * boundMs);
    expect(performance.now() - startedAt).toBeLessThan(boundMs);
  });

  it('deletes their own data, and only in a session', async () => {
    const tenant = await gateway.makeTenant();
    const made = await gateway.call('/v1/api-keys', {
      key: tenant.adminKey,
      body: { name: 'Bea', role: 'user', user_id: 'bea' },
    });
    const { key } = made.body as { key: string };
    const cookie = await logIn(key);
    const own = '/v1/users/bea/data';
    const site = { cookie, 'sec-fetch-site': 'cross-site' };
    const refusals = [
      [await gateway.call(own, { method: 'DELETE', key }), 'role_missing'],
      [await gateway.call(own, { method: 'DELETE', headers: site }), 'cross_site_request'],
      [await browse('/v1/users/ada/data', cookie, { method: 'DELETE' }), 'user_mismatch'],
    ] as const;
    for (const [answer, code] of refusals)
      expect(answer).toMatchObject({ status: 403, body: { error: { code } } });

    const begun = await browse(own, cookie, { method: 'DELETE', edge: 1 });
    expect(begun.status).toBe(202);
    const { id } = begun.body as { id: string };
    await eventually(async () => {
      const deletion = await browse(`${own}/deletions/${id}`, cookie);
      expect(deletion).toMatchObject({ body: { id, status: 'completed' } });
    }, 30_000);
    expect((await browse('/v1/session', cookie)).body).toMatchObject({ user_id: 'bea' });
  });

  it('gets 401 for a wrong key, and a page', async () => {
    const wrong = await browse('/login/key', '', { body: { key: 'wrong' } });
    expect(wrong).toMatchObject({ status: 401, body: { error: { code: 'invalid_api_key' } } });
    expect(wrong.headers.has('x-gatehouse-signature-refused')).toBe(false);
    const page = await gateway.call('/login');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.body).toContain('name="key"');
  });

  it('sees by the page who is logged in', async () => {
    const tenant = await gateway.makeTenant();
    const cookie = await logIn(tenant.adminKey);
    const page = await gateway.call('/login', { headers: { cookie } });
    expect(page.body).toContain('Log out');
  });

  it('who is an owner uses the paths of owners, and logs out', async () => {
    const cookie = await logIn(gateway.ownerKey);
    expect((await browse('/internal/v1/owner/tenants', cookie)).status).toBe(200);
    expect((await gateway.call('/internal/v1/owner/tenants', { headers: { cookie } })).status).toBe(403);
    const out = await browse('/logout', cookie, { method: 'POST' });
    expect(out.body).toContain('name="key"');
    await eventually(async () => {
      expect((await browse('/v1/session', cookie)).status).toBe(401);
    }, 2 * boundMs);
  });
});
