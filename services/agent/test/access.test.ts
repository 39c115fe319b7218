import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { routes, type Route } from '@gatehouse/contract/routes';
import type { RpcClient } from '@gatehouse/grpc/client';
import { newId } from '@gatehouse/kit/ids';
import { makePrincipal, testIdentity } from '@gatehouse/test/identity';
import type { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import type { As } from '@gatehouse/test/service-under-test';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  tenant = agents.makeTenant();
});
afterAll(() => agents.stop());

const own = routes.filter(({ service, access }) => service === 'agent' && access.kind !== 'ticket');
const linkRoute = 'mcp.servers.consent-links.create';
const acceptRoute = 'mcp.servers.tools.accept';

/** A valid request for an agent that exists, so that only the right to make it is in question. */
async function call(route: Route, as: As | null, headers: Record<string, string> = {}) {
  const { id } = await agents.makeAgent(tenant.admin);
  const newServer = () => ({ name: `of-${newId()}`, url: 'https://93.184.215.14/mcp', verify: false });
  // There a definition can be accepted that no user was listed yet.
  const forAccept = route.id === acceptRoute ? { auth: { type: 'oauth', per_user: true } } : {};
  const serverId = route.path.includes('{id}') ? await makeServer({ ...newServer(), ...forAccept }) : '';
  const bodies: Record<string, unknown> = {
    'agents.create': { key: `copy-of-${id}`, model: 'small' },
    'agents.patch': { name: 'Changed' },
    'toolsets.create': { name: `of-${id}` },
    'toolsets.patch': { enabled: false },
    'mcp.servers.create': newServer(),
    'mcp.servers.patch': { timeout_ms: 1_000 },
    [acceptRoute]: { digest: '0'.repeat(64) },
    'browser.cookies.sync': { agent_id: id, cookies: [{ name: 'a', value: 'b', domain: 'a.example' }] },
  };
  const toolset = route.path.includes('{toolset}') ? await makeToolset() : '';
  const body = bodies[route.id];
  const path = route.path
    .replace('{agentID}', id)
    .replace('{id}', serverId)
    .replace('{toolset}', toolset)
    .replace('{server_id}', newId())
    .replace('{name}', 'any');
  return agents.call(route.method, path, {
    as,
    headers,
    ...(body === undefined ? {} : { body }),
  });
}

async function makeToolset(): Promise<string> {
  const body = { name: newId() };
  return (await agents.call('POST', '/v1/toolsets', { as: tenant.admin, body })).body.id;
}

/** One that needs no connection. */
async function makeServer(body: object): Promise<string> {
  const made = await agents.call('POST', '/v1/mcp/servers', {
    as: tenant.admin,
    body: { ...body, enabled: false },
  });
  return made.body.id;
}

describe.each(own.map((route) => [route.id, route] as const))('%s', (_id, route) => {
  it('answers 401 to a call that does not come from the edge', async () => {
    const forged = await (await testIdentity()).assertion(tenant.admin);
    const serviceToken = await (await agents.identity.signer('chat')).serviceToken('agent');
    for (const assertion of [undefined, '', 'nonsense', forged, serviceToken]) {
      const headers = assertion === undefined ? {} : { 'x-gatehouse-assertion': assertion };
      const answer = await call(route, null, headers);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(answer.body.error.code).toBe('service_unauthenticated');
    }
  });

  it('lets in the scopes it is for and answers 403 to the others', async () => {
    const write = ['agents.create', 'agents.patch', 'agents.delete'].includes(route.id);
    const ofCookies: [As, boolean][] = [
      [tenant.acting('ann'), true],
      [tenant.bound('ann'), true],
      [{ ...tenant.acting('ann'), scopes: ['cookies.write'] }, true],
      [{ ...tenant.acting('ann'), scopes: ['agents.write', 'chat'] }, false],
      [{ role: 'owner' }, false],
    ];
    const ofLogins: [As, boolean][] = [
      [tenant.acting('ann'), true],
      [tenant.bound('ann'), true],
      [{ ...tenant.bound('ann'), scopes: ['chat'] }, true],
      [{ ...tenant.acting('ann'), scopes: ['mcp.write', 'cookies.write'] }, false],
      [{ role: 'owner' }, false],
    ];
    const ofServers: [As, boolean][] = [
      [tenant.admin, true],
      [{ ...tenant.admin, scopes: ['mcp.write'] }, true],
      [{ ...tenant.admin, scopes: ['agents.write', 'chat'] }, false],
      [tenant.user, false],
      [tenant.bound('ann'), false],
      [{ role: 'owner' }, false],
    ];
    const ofToolsets: [As, boolean][] = [
      [tenant.admin, true],
      [{ ...tenant.admin, scopes: ['tools.call'] }, route.method === 'GET'],
      [{ ...tenant.admin, scopes: ['mcp.write'] }, route.method !== 'GET'],
      [{ ...tenant.admin, scopes: ['agents.write', 'chat'] }, false],
      [tenant.user, route.method === 'GET'],
      [{ role: 'owner' }, false],
    ];
    const ofLinks: [As, boolean][] = [
      [tenant.admin, true],
      [tenant.bound('ann'), true],
      [{ ...tenant.admin, scopes: ['mcp.write', 'agents.write'] }, false],
      [{ role: 'owner' }, false],
    ];
    const ofAgents: [As, boolean][] = [
      [tenant.admin, true],
      [tenant.acting('ann'), true],
      [{ ...tenant.admin, scopes: ['agents.write'] }, true],
      [{ ...tenant.admin, scopes: ['agents.read'] }, !write],
      [{ ...tenant.admin, scopes: ['chat', 'mcp.write'] }, false],
      [tenant.user, !write],
      [tenant.bound('ann'), !write],
      [{ role: 'owner' }, false],
      [{ role: 'owner', scopes: ['agents.write'] }, false],
    ];
    const ofOthers = route.id.startsWith('mcp.') ? ofServers : ofAgents;
    const ofTools = route.id.startsWith('toolsets.') ? ofToolsets : ofOthers;
    const ofBrowsers = route.id.startsWith('browser.') ? ofCookies : ofTools;
    const ofOwn = route.id.startsWith('mcp.logins.') ? ofLogins : ofBrowsers;
    const callers = route.id === linkRoute ? ofLinks : ofOwn;
    // The server of the request wants no consent, and the user has no login there.
    const status = { [linkRoute]: 400, 'mcp.logins.delete': 404 }[route.id] ?? route.response.status;
    for (const [as, allowed] of callers) {
      const answer = await call(route, as);
      if (allowed) expect(answer.status).toBe(status);
      else {
        expect(answer.status).toBe(403);
        expect(['scope_missing', 'role_missing']).toContain(answer.body.error.code);
      }
    }
  });
});

describe('other paths', () => {
  it('answer 404, and known ones with another method 405', async () => {
    for (const path of ['/v1/api-keys', '/v1/agents/', '/v1/agents/a/b', '/v1/agents/a/memory/search']) {
      const answer = await agents.call('GET', path, { as: tenant.admin });
      expect(answer.status).toBe(404);
      expect(answer.body.error.code).toBe('route_not_found');
    }
    const list = await agents.call('PUT', '/v1/agents', { as: null });
    expect(list.status).toBe(405);
    expect(list.headers.get('allow')).toBe('GET, HEAD, POST');
    const one = await agents.call('POST', '/v1/agents/a', { as: null });
    expect(one.status).toBe(405);
    expect(one.headers.get('allow')).toBe('DELETE, GET, HEAD, PATCH');
  });
});

type Rpc = (peer: RpcClient<AgentServiceClient>, context: { assertion?: string }) => Promise<unknown>;

describe.each<[string, string[], Rpc]>([
  [
    'ResolveAgent',
    ['chat', 'memory', 'webhook'],
    (peer, context) => peer.call('resolveAgent', { idOrKey: 'x' }, { deadlineMs: 5_000, ...context }),
  ],
  [
    'ListVisibleAgents',
    ['chat'],
    (peer, context) => peer.call('listVisibleAgents', { before: '' }, { deadlineMs: 5_000, ...context }),
  ],
])('%s', (_name, callers, rpc) => {
  it('is refused to every service but those that need it', async () => {
    const assertion = await agents.identity.assertion(tenant.admin);
    const refused: string[] = [];
    const all = ['chat', 'edge', 'tenant', 'agent', 'memory', 'webhook', 'analytics'];
    for (const caller of all) {
      const code = await rpc(await agents.peer(caller), { assertion }).then(
        () => 'ok',
        (error: unknown) => (error as { code?: string }).code,
      );
      if (code === 'caller_not_allowed') refused.push(caller);
    }
    expect(refused).toEqual(all.filter((caller) => !callers.includes(caller)));
  });

  it('is refused to a service that asserts the principal itself', async () => {
    const memory = await agents.identity.signer('memory');
    const delegation = { tenantId: tenant.id, agentId: newId(), userId: null };
    for (const assertion of [await memory.delegation(delegation), await memory.assertion(makePrincipal())])
      for (const caller of callers)
        await expect(rpc(await agents.peer(caller), { assertion })).rejects.toMatchObject({
          code: 'bad_gateway',
        });
  });

  it('is refused without an assertion of the edge for a principal in a tenant', async () => {
    const chat = await agents.peer('chat');
    const stranger = await testIdentity();
    for (const context of [
      {},
      { assertion: 'nonsense' },
      { assertion: await stranger.assertion(tenant.admin) },
      { assertion: await agents.identity.assertion({ role: 'owner' }) },
      { assertion: await (await agents.identity.signer('chat')).serviceToken('agent') },
    ]) {
      // UNAUTHENTICATED means that the caller's own credentials were refused, never its client's.
      await expect(rpc(chat, context)).rejects.toMatchObject({ code: 'bad_gateway' });
    }
  });
});
