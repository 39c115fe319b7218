import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { routes, type Route } from '@gatehouse/contract/routes';
import { possibleScopes } from '@gatehouse/contract/scopes';
import { testIdentity } from '@gatehouse/test/identity';
import { newId } from '@gatehouse/kit/ids';
import type { As } from '@gatehouse/test/service-under-test';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;
let keyId: string;
let providerKeyId: string;
let deletionId: string;
let previewId: string;
let transferId: string;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  tenant = await tenants.makeTenant();
  keyId = (await tenants.makeKey(tenant.admin)).id;
  const given = { provider: 'acme', key: 'sk-12345678' };
  const providerKey = await tenants.call('POST', '/v1/provider-keys', { as: tenant.admin, body: given });
  providerKeyId = providerKey.body.id;
  const deletion = await tenants.call('DELETE', '/v1/users/ann/data', { as: tenant.admin });
  deletionId = deletion.body.id;
  const to = await tenants.makeTenant();
  const preview = await tenants.call('POST', '/v1/tenant/resource-transfers/previews', {
    as: { role: 'owner' },
    body: {
      ...{ mode: 'copy', source_tenant_id: to.id, target_tenant_id: tenant.id },
      resources: [tenants.others.transfers.add(newId())],
    },
  });
  const transfer = await tenants.call('POST', '/v1/tenant/resource-transfers', {
    as: { role: 'owner' },
    body: { preview_id: preview.body.id },
  });
  transferId = transfer.body.id;
  previewId = preview.body.id;
});
afterAll(() => tenants.stop());

/** Routes without a key have tests of their own. */
const own = routes.filter(({ service, access }) => service === 'tenant' && access.kind !== 'ticket');

/** The route with the id of something that exists, so that only the right to it is in question. */
function pathOf(route: Route): string {
  const path = route.path.replace('{user_id}', 'ann');
  if (path.includes('deletions')) return path.replace('{id}', deletionId);
  if (path.endsWith('transfers/{id}')) return path.replace('{id}', transferId);
  if (path.includes('provider-keys')) return path.replace('{id}', providerKeyId);
  if (path.includes('previews')) return path.replace('{id}', previewId);
  return path.replace('{id}', path.includes('tenants') ? tenant.id : keyId);
}

function isOfTenant({ access }: Route): boolean {
  return access.kind === 'key' && access.ofTenant === true;
}

function isForOwners({ id, access }: Route): boolean {
  return access.kind === 'scope' && access.owners === true && id !== 'transfers.previews.accept';
}

function call(route: Route, as: As | null) {
  return tenants.call(route.method, pathOf(route), {
    as,
    ...(route.body === undefined ? {} : { body: {} }),
  });
}

describe.each(own.map((route) => [route.id, route] as const))('%s', (_id, route) => {
  it('answers 401 to a call that does not come from the edge', async () => {
    const answer = await call(route, null);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    const forged = await (await testIdentity()).assertion({ role: 'owner' });
    const path = pathOf(route);
    const headers = { 'x-gatehouse-assertion': forged };
    expect((await tenants.call(route.method, path, { as: null, headers })).status).toBe(401);
  });

  it('lets in the role it is for and answers 403 to the others', async () => {
    const callers: Record<string, As> = {
      owner: { role: 'owner' },
      admin: { ...tenant.admin, scopes: possibleScopes('admin') },
      adminWithoutScope: { ...tenant.admin, scopes: ['chat'] },
      user: { ...tenant.admin, role: 'user', scopes: ['chat', 'memory.write'] },
    };
    const allowed = {
      public: ['owner', 'admin', 'adminWithoutScope', 'user'],
      signed: [] as string[],
      ticket: [] as string[],
      session: [] as string[],
      key: [...(isOfTenant(route) ? [] : ['owner']), 'admin', 'adminWithoutScope', 'user'],
      // Only an admin of the target accepts.
      scope: isForOwners(route) ? ['owner', 'admin'] : ['admin'],
      admin: ['admin', 'adminWithoutScope'],
      owner: ['owner'],
    }[route.access.kind];
    for (const [name, as] of Object.entries(callers)) {
      const { status } = await call(route, as);
      // Allowed requests may still miss fields (400) or name nothing (404), which is no matter of rights.
      if (allowed.includes(name)) expect([200, 201, 202, 204, 400, 404, 409]).toContain(status);
      else expect(status).toBe(route.access.kind === 'session' ? 401 : 403);
    }
  });

  it('shows another tenant nothing', async () => {
    const user = { boundUser: 'ann', userId: 'ann' };
    const stranger: As = { role: 'admin', tenantId: newId(), tenantSlug: 'stranger', ...user };
    const answer = await call(route, stranger);
    expect(JSON.stringify(answer.body)).not.toContain(keyId);
    if (route.path.includes('{id}')) expect([403, 404]).toContain(answer.status);
  });
});

describe('other paths', () => {
  it('answer 404, and known ones with another method 405', async () => {
    expect((await tenants.call('GET', '/v1/agents')).status).toBe(404);
    expect((await tenants.call('GET', '/v1/api-keys/')).status).toBe(404);
    const wrong = await tenants.call('DELETE', '/v1/api-keys', { as: null });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, POST');
  });
});
