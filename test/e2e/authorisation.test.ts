import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formData } from '@gatehouse/contract/route';
import { routes, type Route } from '@gatehouse/contract/routes';
import { isScimTarget } from '@gatehouse/contract/scim';
import { grants, scopesOf, type Role, type Scope } from '@gatehouse/contract/scopes';
import { newId } from '@gatehouse/kit/ids';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** Every route × every kind of key. The expectations follow from the contract's table, so a new route is covered. */

let gateway: SomeGateway;
let own: TenantAccess;
let foreign: TenantAccess;
const keys: Record<string, string> = {};

beforeAll(async () => {
  gateway = await openGateway();
  [own, foreign] = await Promise.all([gateway.makeTenant(), gateway.makeTenant()]);
  keys['owner'] = gateway.ownerKey;
  keys['admin'] = own.adminKey;
  keys['user'] = own.userKey;
  keys['chat only'] = await makeKey('user', ['chat']);
  keys['keys.write only'] = await makeKey('admin', ['keys.write']);
  keys['scim.write only'] = await makeKey('admin', ['scim.write']);
  keys['nothing'] = await makeKey('admin', []);
});
afterAll(async () => gateway.stop());

async function makeKey(role: Role, scopes: Scope[]): Promise<string> {
  const answer = await gateway.call('/v1/api-keys', { key: own.adminKey, body: { name: 'k', role, scopes } });
  return (answer.body as { key: string }).key;
}

const holders: Record<string, { role: Role; scopes: readonly Scope[] }> = {
  owner: { role: 'owner', scopes: scopesOf('owner') },
  admin: { role: 'admin', scopes: scopesOf('admin') },
  user: { role: 'user', scopes: scopesOf('user') },
  'chat only': { role: 'user', scopes: ['chat'] },
  'keys.write only': { role: 'admin', scopes: ['keys.write'] },
  'scim.write only': { role: 'admin', scopes: ['scim.write'] },
  nothing: { role: 'admin', scopes: [] },
};

function allowed({ access }: Route, holder: { role: Role; scopes: readonly Scope[] }): boolean {
  switch (access.kind) {
    case 'public':
    case 'signed':
      return true;
    case 'key':
      return access.ofTenant !== true || holder.role !== 'owner';
    case 'ticket':
      return access.scope === undefined || grants(holder.scopes, access.scope);
    case 'session':
      return false;
    case 'admin':
    case 'owner':
      return holder.role === access.kind;
    case 'scope':
      return [access.scope, access.also ?? access.scope].every((scope) => grants(holder.scopes, scope));
  }
}

/** A request that gets past every check but harms nothing: it names nothing that exists. */
async function probe(route: Route, key: string | null): Promise<Answer> {
  const path = route.path.replaceAll(/\{\w+\+?\}/g, newId());
  const { method } = route;
  if (route.bodyForm !== undefined) return gateway.call(path, { key, method, ...unknownField });
  const body = route.bodyLimit > 0 && route.bodyLines === undefined ? '{"no_such_field": 1}' : undefined;
  return gateway.call(path, { key, method, ...(body === undefined ? {} : { body }) });
}

/** A form with a field that no route has. */
const unknownField = {
  headers: { 'content-type': `${formData}; boundary=part` },
  body: '--part\r\ncontent-disposition: form-data; name="no_such_field"\r\n\r\n1\r\n--part--\r\n',
};

/** The body of an error of a route, for a client that shows no other dialect by its headers. */
function errorOf({ path, dialects = ['chat'] }: Route, type: string, code: string): object {
  if (isScimTarget(path))
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      ...{ status: expect.any(String), detail: expect.any(String) },
    };
  const ofOpenAi = {
    error: { message: expect.any(String), type, code, param: null, request_id: expect.any(String) },
  };
  if (dialects.includes('chat') || dialects.includes('responses')) return ofOpenAi;
  if (dialects.includes('messages'))
    return {
      type: 'error',
      error: {
        ...{ type: expect.any(String), message: expect.any(String) },
        details: { error_code: code, param: null },
      },
      request_id: expect.any(String),
    };
  const details = [expect.objectContaining({ reason: code.toUpperCase() }), expect.any(Object)];
  return {
    error: { code: expect.any(Number), message: expect.any(String), status: expect.any(String), details },
  };
}

describe.each(
  routes
    .filter(({ access }) => !['public', 'signed', 'session'].includes(access.kind))
    // Without a scope they are for browsers only.
    .filter(({ access }) => access.kind !== 'ticket' || access.scope !== undefined)
    .map((route) => [route.id, route] as const),
)('%s', (_id, route) => {
  it.each(Object.keys(holders))('answers a key "%s" as the route table says', async (name) => {
    const holder = holders[name];
    if (holder === undefined) throw new Error(name);
    const answer = await probe(route, keys[name] ?? null);
    if (allowed(route, holder)) {
      expect([200, 202, 204, 400, 404, 409]).toContain(answer.status);
    } else {
      expect(answer.status).toBe(403);
      const code = 'scope' in route.access ? 'scope_missing' : 'role_missing';
      expect(answer.body).toEqual(errorOf(route, 'permission_error', code));
    }
  });

  it.each([
    ['no key', null],
    ['garbage', 'garbage'],
    ['a key that nobody has', `gwk_${'a'.repeat(16)}_${'b'.repeat(43)}`],
  ])('answers %s with 401 and WWW-Authenticate', async (_name, key) => {
    const answer = await probe(route, key);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(answer.body).toEqual(errorOf(route, 'authentication_error', 'invalid_api_key'));
  });

  it('answers other methods with 405, the allowed ones, and asks for no key', async () => {
    const path = route.path.replaceAll(/\{\w+\+?\}/g, newId());
    // For other methods of HTTP, a name behind a colon is part of the id.
    const paths = [route.path, route.path.replace(/:\w+$/, '')];
    const known = new Set(
      routes.filter((other) => paths.includes(other.path)).map((other) => other.method as string),
    );
    const method = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].find((candidate) => !known.has(candidate)) ?? '';
    const headers = route.dialects?.[0] === 'gemini' ? { 'x-goog-api-client': 'genai' } : {};
    const answer = await gateway.call(path, { method, headers });
    expect(answer.status).toBe(405);
    for (const each of known) expect(answer.headers.get('allow')?.split(', ')).toContain(each);
    expect(answer.body).toEqual(errorOf(route, 'invalid_request_error', 'method_not_allowed'));
  });
});

describe('the order of checks', () => {
  it('is path and method, key, scope, size and type, then content', async () => {
    const huge = { 'content-type': 'text/plain' };
    const body = 'not json';
    expect((await gateway.call('/v1/nothing', { body, headers: huge })).status).toBe(404);
    expect((await gateway.call('/v1/agents', { method: 'PUT', body, headers: huge })).status).toBe(405);
    expect((await gateway.call('/v1/agents', { body, headers: huge })).status).toBe(401);
    expect((await gateway.call('/v1/agents', { key: own.userKey, body, headers: huge })).status).toBe(403);
    expect((await gateway.call('/v1/agents', { key: own.adminKey, body, headers: huge })).status).toBe(415);
    expect((await gateway.call('/v1/agents', { key: own.adminKey, body })).status).toBe(400);
  });
});

describe('a foreign tenant’s resource', () => {
  function withoutId(answer: Answer): unknown {
    const { error } = answer.body as { error: Record<string, unknown> };
    return { status: answer.status, error: { ...error, request_id: '' } };
  }

  it('answers exactly like one that does not exist', async () => {
    const agent = await gateway.call('/v1/agents', {
      key: foreign.adminKey,
      body: { key: 'theirs', model: 'small' },
    });
    const key = await gateway.call('/v1/api-keys', {
      key: foreign.adminKey,
      body: { name: 'theirs', role: 'user' },
    });
    const agentId = (agent.body as { id: string }).id;
    const keyId = (key.body as { id: string }).id;
    const cases: [string, string, string, unknown][] = [
      ['GET', '/v1/agents/', agentId, undefined],
      ['PATCH', '/v1/agents/', agentId, { name: 'mine' }],
      ['DELETE', '/v1/agents/', agentId, undefined],
      ['GET', '/v1/api-keys/', keyId, undefined],
    ];
    for (const [method, path, id, body] of cases) {
      const call = { key: own.adminKey, method, ...(body === undefined ? {} : { body }) };
      const theirs = await gateway.call(path + id, call);
      expect(theirs.status).toBe(404);
      expect(withoutId(theirs)).toEqual(withoutId(await gateway.call(path + newId(), call)));
    }
    const messages = [{ role: 'user', content: 'x' }];
    const byId = await gateway.call('/v1/chat/completions', {
      key: own.userKey,
      body: { model: `agent:${agentId}`, messages },
    });
    expect(byId.status).toBe(404);
    expect(byId.body).toMatchObject({ error: { code: 'model_not_found' } });
    expect((await gateway.call(`/v1/models/agent:theirs`, { key: own.userKey })).status).toBe(404);
    expect((await gateway.call(`/v1/agents/${agentId}`, { key: foreign.adminKey })).status).toBe(200);
  });
});

describe('the acting user', () => {
  it('of a bound key is its own, and naming another is 403', async () => {
    const bound = await gateway.call('/v1/api-keys', {
      key: own.adminKey,
      body: { name: 'b', role: 'user', user_id: 'ann' },
    });
    const key = (bound.body as { key: string }).key;
    const as = (user: string) => gateway.call('/v1/agents', { key, headers: { 'x-service-user-id': user } });
    expect((await as('ann')).status).toBe(200);
    const other = await as('bob');
    expect(other.status).toBe(403);
    expect(other.body).toMatchObject({ error: { code: 'user_mismatch', type: 'permission_error' } });
  });

  it('decides which private agents are seen', async () => {
    const headers = { 'x-service-user-id': 'ann' };
    const body = { key: 'diary', model: 'small', visibility: 'private' };
    expect((await gateway.call('/v1/agents', { key: own.adminKey, body, headers })).status).toBe(201);
    const see = async (key: string, user?: string): Promise<number> =>
      (
        await gateway.call('/v1/agents/diary', {
          key,
          ...(user === undefined ? {} : { headers: { 'x-service-user-id': user } }),
        })
      ).status;
    expect([
      await see(own.adminKey),
      await see(own.userKey),
      await see(own.userKey, 'ann'),
      await see(own.adminKey, 'bob'),
    ]).toEqual([200, 404, 200, 404]);
  });
});
