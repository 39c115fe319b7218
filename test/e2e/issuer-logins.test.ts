import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { ForgingIssuer } from '@gatehouse/test/forging-issuer';
import { TestGateway } from '@gatehouse/test/gateway';

const publicUrl = 'https://gateway.example.com';
const boundMs = 5_000;

let issuer: ForgingIssuer;
let gateway: TestGateway;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'issuers-'));
  issuer = await ForgingIssuer.start();
  const file = path.join(folder, 'issuers.yaml');
  await writeFile(
    file,
    `issuers:
  - name: main
    issuer: ${issuer.url}
    client_id: gatehouse
    client_secret_env: OIDC_SECRET
    mappings: [{ group: engineers, tenant: acme, role: user }]`,
  );
  gateway = await TestGateway.start({
    edges: 2,
    environment: {
      ...{ PUBLIC_URL: publicUrl, EGRESS_ALLOW: '127.0.0.1' },
      ...{ OIDC_ISSUERS: file, OIDC_SECRET: 's3cret' },
    },
  });
  await gateway.makeTenant({ slug: 'acme' });
});
afterAll(async () => {
  await gateway.stop();
  await issuer.stop();
  await rm(folder, { recursive: true });
});

interface Visit {
  edge?: number;
  cookie?: string;
  /** The fields of a form; without it, the page is read. */
  form?: Record<string, string>;
}

function visit(route: string, { edge = 0, cookie = '', form }: Visit = {}): Promise<Response> {
  return fetch(`${gateway.urlOf(edge)}${route}`, {
    redirect: 'manual',
    headers: { cookie, 'sec-fetch-site': 'same-origin', 'x-gatehouse-page': '1' },
    ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
  });
}

/** The cookies that an answer sets, as a browser sends them. */
const cookiesOf = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');

/** Begins at one edge and ends at the other. */
async function logIn(sub: string): Promise<string> {
  issuer.claims = { sub, sid: `session of ${sub}` };
  const begun = await visit('/login/oidc/main?return_to=/app/');
  const location = begun.headers.get('location') ?? '';
  const query = new URLSearchParams({
    ...{ code: issuer.code(location), iss: issuer.url },
    state: new URL(location).searchParams.get('state') ?? '',
  });
  const answer = await visit(`/login/oidc/main/callback?${query.toString()}`, {
    ...{ edge: 1, cookie: cookiesOf(begun) },
  });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/app/']);
  return cookiesOf(answer);
}

/** The statuses of the session at both edges. */
const statusesOf = (cookie: string): Promise<number[]> =>
  Promise.all([0, 1].map(async (edge) => (await visit('/v1/session', { edge, cookie })).status));

it('logs a person in at one edge, and lets them work at both', async () => {
  const cookie = await logIn('ada');
  const answer = await visit('/v1/session', { cookie });
  expect(await answer.json()).toMatchObject({ user_id: 'ada', tenant: 'acme', role: 'user' });
  expect(await statusesOf(cookie)).toEqual([200, 200]);
});

it('ends a session at all edges within five seconds of the logout that the issuer reports', async () => {
  const [cookie, other] = [await logIn('bob'), await logIn('eve')];
  expect(await statusesOf(cookie)).toEqual([200, 200]);
  const now = Math.floor(Date.now() / 1_000);
  const token = await issuer.sign(
    {
      ...{
        iss: issuer.url,
        aud: 'gatehouse',
        iat: now,
        exp: now + 120,
        jti: 'report-1',
        sid: 'session of bob',
      },
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    },
    'logout+jwt',
  );
  const report = (edge: number): Promise<Response> =>
    visit('/login/oidc/main/backchannel-logout', { edge, form: { logout_token: token } });
  const answer = await report(1);
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  const startedAt = performance.now();
  await eventually(async () => expect(await statusesOf(cookie)).toEqual([401, 401]), 2 * boundMs);
  expect(performance.now() - startedAt).toBeLessThan(boundMs);
  expect(await statusesOf(other)).toEqual([200, 200]);
  const again = await report(0);
  expect([again.status, await again.json()]).toMatchObject([400, { error: 'invalid_request' }]);
});

it('leads a person who logs out on to the issuer', async () => {
  const cookie = await logIn('fay');
  const answer = await visit('/logout', { cookie, form: {} });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('refresh')).toMatch(new RegExp(`^0; url=${issuer.url}/logout\\?`));
  expect(answer.headers.getSetCookie()).toEqual([expect.stringContaining('Max-Age=0')]);
  await eventually(async () => expect(await statusesOf(cookie)).toEqual([401, 401]), 2 * boundMs);
});
