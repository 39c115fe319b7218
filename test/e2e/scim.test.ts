import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
let tenant: TenantAccess;
let key: string;
beforeAll(async () => {
  gateway = await openGateway({ edges: 2 });
  tenant = await gateway.makeTenant();
  const made = await gateway.call('/v1/api-keys', {
    key: tenant.adminKey,
    body: { name: 'Identity provider', role: 'admin', scopes: ['scim.write'] },
  });
  key = (made.body as { key: string }).key;
});
afterAll(() => gateway.stop());

/** Ten times the bound of the API: machines differ. */
const withinMs = 50_000;

const scim = (method: string, path: string, body?: object): Promise<Answer> =>
  gateway.call(`/scim/v2${path}`, {
    ...{ key, method, headers: { 'content-type': 'application/scim+json' } },
    ...(body !== undefined && { body }),
  });
const run = (user: string, edge: number): Promise<Answer> =>
  gateway.call('/v1/chat/completions', {
    ...{ key: tenant.userKey, edge, headers: { 'x-service-user-id': user } },
    body: { model: 'small', messages: [{ role: 'user', content: 'Hello' }] },
  });
const onBoth = (expected: object): Promise<void> =>
  eventually(async () => {
    for (const edge of [0, 1]) expect(await run('ADA@corp.example', edge)).toMatchObject(expected);
  }, withinMs);

it('a user that an identity provider disables is refused on every edge, and let in again', async () => {
  const made = await scim('POST', '/Users', { externalId: 'oid-ada', userName: 'ada@corp.example' });
  expect(made.status).toBe(201);
  expect(made.headers.get('content-type')).toBe('application/scim+json');
  const { id } = made.body as { id: string };
  await onBoth({ status: 200 });
  const setActive = (active: unknown): Promise<Answer> =>
    scim('PATCH', `/Users/${id}`, { Operations: [{ op: 'Replace', path: 'active', value: active }] });
  await setActive('False');
  await onBoth({ status: 403, body: { error: { code: 'user_blocked' } } });
  await setActive(true);
  await onBoth({ status: 200 });
  expect((await scim('DELETE', `/Users/${id}`)).status).toBe(204);
  await onBoth({ status: 403, body: { error: { code: 'user_blocked' } } });
});

it('errors of the edge have the shape and the media type of SCIM', async () => {
  for (const [path, wrongKey, status] of [
    ['/scim/v2/Users', 'garbage', 401],
    ['/scim/v2/Users', tenant.adminKey, 403],
    ['/scim/v2/Nothing', key, 404],
  ] as const) {
    const answer = await gateway.call(path, { key: wrongKey });
    expect(answer).toMatchObject({
      status,
      body: {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
        ...{ status: String(status), detail: expect.any(String) },
      },
    });
    expect(answer.headers.get('content-type')).toBe('application/scim+json');
  }
});
