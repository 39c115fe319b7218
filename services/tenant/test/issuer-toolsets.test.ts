import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Service } from '@gatehouse/shell/service';
import type { TokenClaims } from '@gatehouse/test/forging-issuer';
import type { IssuerBrowser } from './issuer-browser.ts';
import { IssuerGround } from './issuer-ground.ts';
import { Programs } from './programs.ts';

/** Toolsets and settings from mappings, for people and their programs. */

let ground: IssuerGround;
let before: Service;
let after: Service;
beforeAll(async () => {
  ground = await IssuerGround.start();
  before = await ground.startMapped(`
      - { group: staff, tenant: acme, role: user, toolsets: [docs] }
      - { group: leads, tenant: acme, role: user, toolsets: [support, docs], client_settings: leads }
      - { group: guests, tenant: acme, role: user }`);
  after = await ground.startMapped(`
      - { group: staff, tenant: acme, role: user, toolsets: [docs, wiki], client_settings: laptops }`);
});
afterAll(async () => {
  await before.stop();
  await after.stop();
  await ground.stop();
});
afterEach(() => ground.mend());

async function logIn(at: Service, claims: TokenClaims): Promise<IssuerBrowser> {
  const browser = ground.browser();
  ground.issuers.main.claims = claims;
  const begun = await browser.visit('/login/oidc/main', { at });
  await browser.visit(ground.answerTo(begun), { at });
  return browser;
}

const keyOf = async (browser: IssuerBrowser) => {
  const id = (await browser.principal())?.id ?? '';
  const { body } = await ground.tenants.call('GET', `/v1/api-keys/${id}`, { as: ground.acme.admin });
  return body as unknown as { id: string; toolsets: string[] | null; client_settings: string | null };
};

it('a person has the toolsets of all mappings, and the settings of the first that names some', async () => {
  const staff = await logIn(before, { sub: 'ada', groups: ['staff'] });
  expect((await staff.principal())?.toolsets).toEqual({ names: ['docs'] });
  const lead = await logIn(before, { sub: 'bob', groups: ['staff', 'leads', 'guests'] });
  expect(await keyOf(lead)).toMatchObject({ toolsets: ['docs', 'support'], client_settings: 'leads' });
  const guest = await logIn(before, { sub: 'cyd', groups: ['guests'] });
  expect([(await guest.principal())?.toolsets, (await keyOf(guest)).toolsets]).toEqual([undefined, null]);
});

it('other mappings change the keys of a person and of programs, and end no session', async () => {
  const { acme, tenants } = ground;
  const browser = await logIn(before, { sub: 'dan', groups: ['staff'] });
  const programs = new Programs(tenants, acme);
  const { key: program } = await programs.keyOf(`__Host-gatehouse=${browser.session ?? ''}`);
  expect((await programs.principalOf(program))?.toolsets).toEqual({ names: ['docs'] });
  const again = await logIn(after, { sub: 'dan', groups: ['staff'] });
  const { id } = await keyOf(again);
  for (const principal of [await browser.principal(), await programs.principalOf(program)])
    expect([principal?.id, principal?.toolsets]).toEqual([id, { names: ['docs', 'wiki'] }]);
  expect(await keyOf(browser)).toMatchObject({ client_settings: 'laptops' });
  expect(await programs.changesOf(id)).toContain(`api_key.updated by ${id}`);
  const patched = await tenants.call('PATCH', `/v1/api-keys/${id}`, {
    as: acme.admin,
    body: { toolsets: null },
  });
  expect([patched.status, patched.body.error.code]).toEqual([409, 'key_managed_by_login']);
});
