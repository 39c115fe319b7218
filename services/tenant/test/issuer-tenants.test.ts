import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '@gatehouse/shell/service';
import { eventually } from '@gatehouse/test/eventually';
import type { TokenClaims } from '@gatehouse/test/forging-issuer';
import type { IssuerBrowser } from './issuer-browser.ts';
import { IssuerGround } from './issuer-ground.ts';
import { Programs } from './programs.ts';
import type { TestTenant } from './tenant-service.ts';

/** Tenants that mappings name by id and by slug, and slugs that go to another tenant. */

let ground: IssuerGround;
let beta: TestTenant;
/** A replica with mappings by ids. */
let byId: Service;
beforeAll(async () => {
  ground = await IssuerGround.start();
  beta = await ground.tenants.makeTenant({ slug: 'beta' });
  const gamma = await ground.tenants.makeTenant({ slug: 'gamma' });
  byId = await ground.startMapped(`
      - { group: betas, tenant: ${beta.id}, role: user, scopes: [chat] }
      - { group: betas, tenant: beta, role: user, scopes: [agents.read] }
      - { group: leads, tenant: ${gamma.id}, role: admin }
      - { group: leads, tenant: gamma, role: user }`);
});
afterAll(async () => {
  await byId.stop();
  await ground.stop();
});
afterEach(() => ground.mend());

const patch = (tenant: Pick<TestTenant, 'id'>, body: object) =>
  ground.tenants.call('PATCH', `/internal/v1/owner/tenants/${tenant.id}`, { body });

async function logInById(claims: TokenClaims): Promise<IssuerBrowser> {
  const browser = ground.browser();
  ground.issuers.main.claims = claims;
  const begun = await browser.visit('/login/oidc/main', { at: byId });
  await browser.visit(ground.answerTo(begun), { at: byId });
  return browser;
}

describe('a mapping', () => {
  it('by id and one by slug of the same tenant give one place, with the rights of both', async () => {
    const beta1 = await (await logInById({ sub: 'ada', groups: ['betas'] })).principal();
    expect(beta1).toMatchObject({ tenantId: beta.id, scopes: ['chat', 'agents.read'] });
    const lead = await (await logInById({ sub: 'bob', groups: ['leads'] })).principal();
    expect(lead).toMatchObject({ tenantSlug: 'gamma', role: 'admin' });
  });

  it('by id holds when the tenant gets another slug, and opens no other tenant with the old one', async () => {
    await patch(beta, { slug: 'beta-before' });
    const next = await ground.tenants.makeTenant({ slug: 'beta' });
    const browser = ground.browser();
    ground.issuers.main.claims = { sub: 'cyd', groups: ['betas'] };
    const begun = await browser.visit('/login/oidc/main', { at: byId });
    const { text } = await browser.visit(ground.answerTo(begun), { at: byId });
    // The slug names the new tenant now, so the person has both.
    expect(text).toMatch(new RegExp(`value="${beta.id}">beta-before, as user`));
    expect(text).toMatch(new RegExp(`value="${next.id}">beta, as user`));
  });
});

describe('a slug that another tenant gets', () => {
  it('opens nothing of the tenant before: neither sessions, nor keys, nor a choice', async () => {
    const { acme, tenants } = ground;
    const programs = new Programs(tenants, acme);
    const { browser, sub } = await ground.logIn();
    const { key } = await programs.keyOf(`__Host-gatehouse=${browser.session ?? ''}`);
    const choosing = (await ground.logIn({ groups: ['both'] })).browser;
    await patch(acme, { slug: 'acme-before' });
    const next = await tenants.makeTenant({ slug: 'acme' });
    // Sessions and keys stay in the tenant in which they were made.
    expect(await browser.principal()).toMatchObject({ tenantId: acme.id, tenantSlug: 'acme-before' });
    expect(await programs.principalOf(key)).toMatchObject({ tenantId: acme.id });
    const form = { tenant: acme.id };
    const chosen = await choosing.visit('/login/oidc/main/choice', { method: 'POST', form });
    expect([chosen.status, choosing.session]).toEqual([400, undefined]);
    // With the next look it has ended, and the new tenant has nothing of it.
    await tenants.rows('update tenant.logins set look_at = now() where sub = $1', [sub]);
    await eventually(async () => expect(await browser.principal()).toBeUndefined());
    expect(await programs.principalOf(key)).toBeUndefined();
    for (const path of ['/v1/sessions', '/v1/api-keys?user_id=main:ada'])
      expect((await tenants.call('GET', path, { as: next.admin })).body.data).toEqual([]);
    const people = await tenants.rows(
      'select from tenant.api_keys where tenant_id = $1 and (iss is not null or confirmed_by is not null)',
      [next.id],
    );
    expect(people).toEqual([]);
  });
});
