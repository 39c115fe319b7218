import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Service } from '@gatehouse/shell/service';
import { eventually } from '@gatehouse/test/eventually';
import { CertifiedIssuer, type AtIssuer } from './certified-issuer.ts';
import { IssuerBrowser } from './issuer-browser.ts';
import { publicUrl } from './issuer-ground.ts';
import { TenantServiceUnderTest } from './tenant-service.ts';

let issuer: CertifiedIssuer;
let tenants: TenantServiceUnderTest;
let replica: Service;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'issuers-'));
  issuer = await CertifiedIssuer.start(publicUrl);
  const file = path.join(folder, 'issuers.yaml');
  await writeFile(
    file,
    `issuers:
  - name: certified
    issuer: ${issuer.url}
    client_id: gatehouse
    client_secret_env: OIDC_SECRET
    mappings: [{ group: engineers, tenant: acme, role: user }]`,
  );
  tenants = await TenantServiceUnderTest.start({
    settings: {
      ...{ PUBLIC_URL: publicUrl, EGRESS_ALLOW: '127.0.0.1' },
      ...{ OIDC_ISSUERS: file, OIDC_SECRET: 'a-secret-of-the-client' },
    },
  });
  replica = await tenants.startReplica();
  await tenants.makeTenant({ slug: 'acme' });
});
afterAll(async () => {
  await replica.stop();
  await tenants.stop();
  await issuer.stop();
  await rm(folder, { recursive: true });
});

it('logs in at a certified issuer, by code and PKCE', async () => {
  const browser = new IssuerBrowser(tenants);
  const begun = await browser.visit('/login/oidc/certified?return_to=/app/');
  const answer = await browser.visit(await issuer.logIn(begun.location));
  expect([answer.status, answer.location]).toEqual([303, '/app/']);
  expect(await browser.principal()).toMatchObject({ tenantSlug: 'acme', role: 'user', userId: 'ada' });
});

it('logs out at the certified issuer too, which ends all sessions of that session at the issuer', async () => {
  const atIssuer: AtIssuer = new Map();
  const [leaving, beside] = [new IssuerBrowser(tenants), new IssuerBrowser(tenants)];
  const elsewhere = new IssuerBrowser(tenants);
  const logIn = async (browser: IssuerBrowser, cookies: AtIssuer): Promise<void> => {
    const begun = await browser.visit('/login/oidc/certified');
    await browser.visit(await issuer.logIn(begun.location, cookies));
  };
  await logIn(leaving, atIssuer);
  await logIn(beside, atIssuer);
  await logIn(elsewhere, new Map());
  const answers: number[] = [];
  issuer.report = async (path, form) => {
    const { status } = await leaving.visit(path, {
      method: 'POST',
      form: Object.fromEntries(form),
      at: replica,
    });
    answers.push(status);
    return new Response(null, { status });
  };
  const left = await leaving.visit('/logout', { method: 'POST' });
  const url = (left.headers.get('refresh') ?? '').replace('0; url=', '');
  expect(await beside.principal()).toBeDefined();
  expect(await issuer.logOut(url, atIssuer)).toBe('/login');
  expect(answers).toEqual([200]);
  expect(await beside.principal()).toBeUndefined();
  expect(await elsewhere.principal()).toBeDefined();
});

it('asks the certified issuer again, until the person has left the group', async () => {
  const browser = new IssuerBrowser(tenants);
  const begun = await browser.visit('/login/oidc/certified');
  await browser.visit(await issuer.logIn(begun.location));
  const due = () =>
    tenants.rows('update tenant.logins set look_at = now() where sub = $1 returning id', ['ada']);
  await due();
  await eventually(async () => {
    const rows = await tenants.rows('select 1 from tenant.logins where look_at < now()');
    expect(rows).toEqual([]);
  });
  expect(await browser.principal()).toBeDefined();
  issuer.groups = [];
  await due();
  await eventually(async () => expect(await browser.principal()).toBeUndefined());
});

it('shows the groups that the certified issuer sent to a person without a mapping', async () => {
  issuer.groups = ['guests'];
  const browser = new IssuerBrowser(tenants);
  const begun = await browser.visit('/login/oidc/certified');
  const answer = await browser.visit(await issuer.logIn(begun.location));
  expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('<li>guests</li>')]);
  expect(browser.session).toBeUndefined();
});
