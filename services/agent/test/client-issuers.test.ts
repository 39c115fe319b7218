import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AuthorizationServer, knownClient } from '@gatehouse/test/authorization-server';
import { eventually } from '@gatehouse/test/eventually';
import { McpLoginsUnderTest } from './mcp-logins-under-test.ts';

/** MCP servers that name another authorization server than the one of their tenant's client. */

let mcp: McpLoginsUnderTest;
/** The other authorization server, which has a client of the same name. */
let other: AuthorizationServer;

beforeAll(async () => {
  mcp = await McpLoginsUnderTest.start();
});
beforeEach(async () => {
  await mcp.begin();
  other = await AuthorizationServer.start();
});
afterEach(async () => {
  await other.stop();
  await mcp.end();
});
afterAll(() => mcp.stop());

const patch = (id: string, body: object) =>
  mcp.agents.call('PATCH', `/v1/mcp/servers/${id}`, { as: mcp.tenant.admin, body });

/** The other server has got nothing, and the server needs `auth` again, which subscribers hear of once. */
async function expectNothingSent(id: string): Promise<void> {
  expect([other.tokenRequests, other.registrations, other.revocations]).toEqual([[], [], []]);
  expect(await mcp.getServer(id)).toMatchObject({
    status: 'needs_auth',
    status_reason: expect.stringContaining('another authorization server'),
  });
  await eventually(() => {
    const alerts = mcp.agents.webhook.of(mcp.tenant.id, 'mcp.needs_auth');
    expect(alerts.map(({ data }) => data)).toEqual([
      expect.objectContaining({ mcp_server_id: id, user_id: null }),
    ]);
  });
}

describe('a client of the tenant', () => {
  const { client_id } = knownClient;
  it.each([
    ['with a secret', knownClient, true],
    ['with a secret', knownClient, false],
    ['without a secret', { client_id }, true],
    ['of each user', { ...knownClient, per_user: true }, true],
  ])('%s is for its first issuer until auth is sent again: %j, verified %s', async (_, client, verify) => {
    const auth = { type: 'oauth', ...client };
    const id = await mcp.register(auth, { verify });
    const as = 'per_user' in client ? mcp.tenant.acting('ann') : mcp.tenant.admin;
    if (!verify) await mcp.makeLink(id, as);
    other.protect(mcp.server);
    expect(await mcp.askLink(id, as)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', message: expect.stringContaining('send its auth again') } },
    });
    await expectNothingSent(id);
    // Another answer of the MCP server, or another change of its settings, is no word of an admin.
    mcp.login.protect(mcp.server);
    expect((await patch(id, { timeout_ms: 9_000 })).body.status).toBe('needs_auth');
    expect((await mcp.askLink(id, as)).status).toBe(400);
    await expectNothingSent(id);

    other.protect(mcp.server);
    expect((await patch(id, { auth })).status).toBe(200);
    const { location } = await mcp.browser.press(await mcp.makeLink(id, as), mcp.port);
    expect(new URL(location).origin).toBe(other.issuer);
  });

  it('keeps its issuer when the address of the server changes', async () => {
    const id = await mcp.register({ type: 'oauth', client_id });
    other.protect(mcp.server);
    expect((await patch(id, { url: `${mcp.server.url}?moved` })).status).toBe(200);
    expect((await mcp.askLink(id, mcp.tenant.admin)).status).toBe(400);
    await expectNothingSent(id);
  });

  it('calls no tool by a login from before', async () => {
    const id = await mcp.register({ type: 'oauth', ...knownClient });
    await mcp.connect(id, 'ann');
    const agentId = await mcp.makeAgent();
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    const { intercept } = mcp.server;
    other.protect(mcp.server);
    expect((await mcp.askLink(id, mcp.tenant.admin)).status).toBe(400);
    mcp.server.intercept = intercept;
    expect(await mcp.call(agentId)).toMatchObject({ outcome: 'other_issuer' });
    await expectNothingSent(id);
  });

  it('that logs in itself sends its secret to no other issuer', async () => {
    const auth = { type: 'oauth_client_credentials', ...knownClient };
    const id = await mcp.register(auth);
    other.protect(mcp.server);
    const changed = await patch(id, { url: `${mcp.server.url}?changed` });
    expect(changed.body.status).toBe('needs_auth');
    await expectNothingSent(id);
    expect((await patch(id, { auth })).body.status).toBe('connected');
    expect(other.tokenRequests).toHaveLength(1);
  });
});

it('the page of a consent names the host of each endpoint', async () => {
  const hosts = await Promise.all([1, 2].map(() => AuthorizationServer.start()));
  const [tokens = other, clients = other] = hosts;
  mcp.login.metadata = {
    token_endpoint: `${tokens.issuer}/token`,
    revocation_endpoint: `${tokens.issuer}/revoke`,
    registration_endpoint: `${clients.issuer}/register`,
  };
  await mcp.register({ type: 'oauth' });
  const page = await mcp.browser.open(await mcp.makeLink('mail'), mcp.port);
  const facts = [...(await page.text()).matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(
    ([, ...fact]) => fact,
  );
  const host = ({ issuer }: AuthorizationServer): string => new URL(issuer).host;
  expect(facts.slice(2, -1)).toEqual([
    ['You log in at', host(mcp.login)],
    ['The gateway gets tokens at', host(tokens)],
    ['It is registered at', host(clients)],
    ['It revokes tokens at', host(tokens)],
  ]);
  await Promise.all(hosts.map((each) => each.stop()));
});
