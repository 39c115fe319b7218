import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { knownClient } from '@gatehouse/test/authorization-server';
import { eventually } from '@gatehouse/test/eventually';
import { McpLoginsUnderTest } from './mcp-logins-under-test.ts';

let mcp: McpLoginsUnderTest;

beforeAll(async () => {
  mcp = await McpLoginsUnderTest.start();
});
beforeEach(() => mcp.begin());
afterEach(() => mcp.end());
afterAll(() => mcp.stop());

/** An agent whose server has a login with tokens for so many seconds. */
async function connectedFor(seconds: number, user: string): Promise<string> {
  mcp.login.expiresIn = seconds;
  await mcp.connect('mail', user);
  return mcp.makeAgent();
}

describe('tokens', () => {
  it('are refreshed once, however many calls on two replicas meet an expired one', async () => {
    mcp.login.expiresIn = 2;
    const id = await mcp.register({ type: 'oauth' });
    await mcp.connect(id, 'ann');
    const agentId = await mcp.makeAgent();
    for (let round = 0; round < 3; round += 1) {
      mcp.login.expire('ann');
      const before = mcp.login.tokenRequests.length;
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          mcp.call(agentId, { at: n % 2 === 0 ? mcp.agents.service : mcp.replica }),
        ),
      );
      expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['ok']));
      // The time of the new token may be over before the last call.
      expect([1, 2]).toContain(mcp.login.tokenRequests.length - before);
    }
    expect(mcp.login.revoked).toBe(0);
  });

  it('are refreshed before they expire, and are used to their end where they cannot be', async () => {
    await mcp.register({ type: 'oauth' });
    const agentId = await connectedFor(10, 'ann');
    const age = (seconds: number) =>
      mcp.agents.rows(
        `update agent.mcp_logins set expires_at = expires_at - make_interval(secs => $2),
           refresh_due_at = refresh_due_at - make_interval(secs => $2) where tenant_id = $1`,
        [mcp.tenant.id, seconds],
      );
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    expect(mcp.login.tokenRequests).toHaveLength(1);
    await age(9.5);
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    expect(mcp.login.tokenRequests.map(({ grant }) => grant)).toEqual([
      'authorization_code',
      'refresh_token',
    ]);
    // The authorization server is away, and the token still counts.
    await age(9.5);
    mcp.login.intercept = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    mcp.login.intercept = () => false;
    mcp.login.gives.refresh = false;
    await mcp.connect('mail', 'ann');
    await age(9.5);
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    mcp.login.expire('ann');
    expect((await mcp.call(agentId)).outcome).toBe('needs_consent');
  });

  it('may say their time as a text, or not at all', async () => {
    mcp.login.expiresIn = '3600';
    await mcp.register({ type: 'oauth' });
    await mcp.connect('mail', 'ann');
    for (const forEver of [9_007_199_254_740_991, 1e300]) {
      mcp.login.expiresIn = forEver;
      await mcp.connect('mail', 'ann');
    }
    mcp.login.expiresIn = undefined;
    mcp.login.expire('ann');
    const agentId = await mcp.makeAgent();
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    mcp.login.expire('ann');
    expect((await mcp.call(agentId)).outcome).toBe('ok');
  });

  it.each([
    { refresh_token: null, id_token: null, scope: null },
    { token_type: undefined, expires_in: null },
    { token_type: null, expires_in: '' },
    { token_type: 'bearer', expires_in: 'soon' },
    { expires_in: 0 },
    { expires_in: '-1' },
    { expires_in: 3_599.9, refresh_expires_in: '0', extra: { nested: null } },
  ])('may be written as %j', async (members) => {
    mcp.login.tokenMembers = members;
    await mcp.register({ type: 'oauth' });
    await mcp.connect('mail', 'ann');
    const agentId = await mcp.makeAgent();
    const { tokenRequests } = mcp.login;
    expect([(await mcp.call(agentId)).outcome, (await mcp.call(agentId)).outcome]).toEqual(['ok', 'ok']);
    expect(tokenRequests).toHaveLength(1);
    if (members.refresh_token === null) return;
    // A refresh without another refresh token goes on with the one before.
    mcp.login.tokenMembers = { ...members };
    mcp.login.expire('ann');
    expect((await mcp.call(agentId)).outcome).toBe('ok');
  });

  it('that cannot be renewed need a new consent, which subscribers hear of once', async () => {
    const id = await mcp.register({ type: 'oauth' });
    await mcp.connect(id, 'ann');
    const agentId = await mcp.makeAgent();
    mcp.login.revoke('ann');
    expect((await mcp.call(agentId)).outcome).toBe('needs_consent');
    expect(await mcp.getServer(id)).toMatchObject({
      status: 'needs_auth',
      status_reason: expect.stringContaining('consent'),
    });
    expect((await mcp.call(agentId)).outcome).toBe('needs_consent');
    await eventually(() => {
      const alerts = mcp.agents.webhook.of(mcp.tenant.id, 'mcp.needs_auth');
      expect(alerts.map(({ data }) => data)).toEqual([
        expect.objectContaining({ mcp_server_id: id, name: 'mail', user_id: null }),
      ]);
    });
    await mcp.connect(id, 'ann again');
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    expect(await mcp.getServer(id)).toMatchObject({ status: 'connected' });
  });

  it('of a client that the authorization server has forgotten lead to a new client', async () => {
    await mcp.register({ type: 'oauth' });
    await mcp.connect('mail', 'ann');
    const agentId = await mcp.makeAgent();
    mcp.login.forgetClients();
    mcp.login.expire('ann');
    expect((await mcp.call(agentId)).outcome).toBe('needs_consent');
    await mcp.connect('mail', 'ann');
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    expect(mcp.login.registrations).toHaveLength(2);
  });

  it('of one user that cannot be renewed keep no other from the server', async () => {
    const id = await mcp.register({ type: 'oauth', per_user: true });
    await mcp.connect(id, 'ann', mcp.tenant.bound('ann'));
    await mcp.connect(id, 'bob', mcp.tenant.bound('bob'));
    const agentId = await mcp.makeAgent();
    mcp.login.revoke('ann');
    expect((await mcp.call(agentId, { as: mcp.tenant.bound('ann') })).outcome).toBe('needs_consent');
    expect((await mcp.call(agentId, { as: mcp.tenant.bound('bob') })).outcome).toBe('ok');
    await eventually(() => {
      const alerts = mcp.agents.webhook.of(mcp.tenant.id, 'mcp.needs_auth');
      expect(alerts.map(({ data }) => data['user_id'])).toEqual(['ann']);
    });
  });

  it('stay when the authorization server is away for a while', async () => {
    await mcp.register({ type: 'oauth' });
    await mcp.connect('mail', 'ann');
    const agentId = await mcp.makeAgent();
    mcp.login.expire('ann');
    mcp.login.intercept = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    expect((await mcp.call(agentId)).outcome).not.toBe('needs_consent');
    mcp.login.intercept = () => false;
    await eventually(async () => expect((await mcp.call(agentId)).outcome).toBe('ok'), 30_000);
  });

  it('are for one connection: another address needs another consent', async () => {
    const id = await mcp.register({ type: 'oauth' });
    await mcp.connect(id, 'ann');
    const agentId = await mcp.makeAgent();
    const patched = await mcp.agents.call('PATCH', `/v1/mcp/servers/${id}`, {
      as: mcp.tenant.admin,
      body: { url: `${mcp.server.url}?other` },
    });
    expect(patched).toMatchObject({ status: 200, body: { status: 'needs_auth' } });
    expect((await mcp.call(agentId)).outcome).toBe('needs_consent');
    expect(await mcp.agents.rows('select 1 as one from agent.mcp_logins where server_id = $1', [id])).toEqual(
      [],
    );
  });
});

describe('client credentials', () => {
  const auth = { type: 'oauth_client_credentials', ...knownClient };

  it('connect at once, and get another token when one is refused', async () => {
    mcp.login.gives.refresh = false;
    const id = await mcp.register({ ...auth, scope: 'all' });
    expect(await mcp.getServer(id)).toMatchObject({
      status: 'connected',
      auth: { client_id: knownClient.client_id, client_secret_set: true, scope: 'all' },
    });
    const agentId = await mcp.makeAgent();
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    mcp.login.expire(`client ${knownClient.client_id}`);
    expect((await mcp.call(agentId)).outcome).toBe('ok');
    const grants = mcp.login.tokenRequests.map(({ grant, form }) => [grant, form.get('scope')]);
    expect(grants).toEqual(Array.from({ length: 3 }, () => ['client_credentials', 'all']));
  });

  it('log in once, however many first calls two replicas get', async () => {
    const id = await mcp.register(auth);
    const agentId = await mcp.makeAgent();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        mcp.call(agentId, { at: n % 2 === 0 ? mcp.agents.service : mcp.replica }),
      ),
    );
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['ok']));
    expect(await mcp.getServer(id)).toMatchObject({ status: 'connected' });
    expect(mcp.agents.webhook.of(mcp.tenant.id, 'mcp.needs_auth')).toEqual([]);
  });

  it('that are wrong are refused at the registration', async () => {
    const body = { name: 'mail', url: mcp.server.url, auth: { ...auth, client_secret: 'wrong' } };
    const refused = await mcp.agents.call('POST', '/v1/mcp/servers', { as: mcp.tenant.admin, body });
    expect(refused).toMatchObject({ status: 422, body: { error: { code: 'mcp_unreachable' } } });
    expect(JSON.stringify(refused.body)).not.toContain('wrong');
  });
});

it('what is stored of logins and links shows no token', async () => {
  await mcp.register({ type: 'oauth', ...knownClient });
  await mcp.connect('mail', 'ann');
  const tables = ['mcp_servers', 'mcp_logins', 'consent_tickets', 'consent_states'];
  const rows = await Promise.all(
    tables.map((table) =>
      mcp.agents.rows(`select * from agent.${table} where tenant_id = $1`, [mcp.tenant.id]),
    ),
  );
  const secrets = [knownClient.client_secret, ...mcp.login.tokens];
  const text = rows
    .flat()
    .flatMap((row) => Object.values(row))
    .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)))
    .join('\n');
  for (const secret of secrets) expect(text).not.toContain(secret);
});
