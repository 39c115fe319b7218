import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { oldTickets } from '@gatehouse/public-access/store/consent-system-store';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { AuthorizationServer, knownClient } from '@gatehouse/test/authorization-server';
import { eventually } from '@gatehouse/test/eventually';
import { longestBlock } from '@gatehouse/test/longest-block';
import fc from 'fast-check';
import { McpLoginsUnderTest } from './mcp-logins-under-test.ts';

let mcp: McpLoginsUnderTest;

beforeAll(async () => {
  mcp = await McpLoginsUnderTest.start();
});
beforeEach(() => mcp.begin());
afterEach(() => mcp.end());
afterAll(() => mcp.stop());

describe('a dry run of a registration', () => {
  const dryRun = (auth: object, url = mcp.server.url) =>
    mcp.agents.call('POST', '/v1/mcp/servers?dry_run=true', {
      as: mcp.tenant.admin,
      body: { name: 'mail', url, auth },
    });

  it('finds the authorization server, and registers no client there', async () => {
    const { requests } = mcp.server;
    expect(await dryRun({ type: 'oauth' })).toMatchObject({
      status: 201,
      body: { id: null, status: 'needs_auth' },
    });
    expect(requests.length).toBeGreaterThan(0);
    expect(mcp.login.registrations).toHaveLength(0);
    expect(
      await mcp.agents.rows('select id from agent.mcp_servers where tenant_id = $1', [mcp.tenant.id]),
    ).toEqual([]);
  });

  it.each([
    ['no registration', { registration_endpoint: undefined }],
    [
      'a registration endpoint that is not allowed',
      { registration_endpoint: 'https://169.254.169.254/register' },
    ],
    ['no PKCE', { code_challenge_methods_supported: ['plain'] }],
  ])('fails as the registration would with %s', async (_, metadata) => {
    mcp.login.metadata = metadata;
    for (const path of ['/v1/mcp/servers?dry_run=true', '/v1/mcp/servers']) {
      const body = { name: 'mail', url: mcp.server.url, auth: { type: 'oauth' } };
      expect(await mcp.agents.call('POST', path, { as: mcp.tenant.admin, body })).toMatchObject({
        status: 422,
        body: { error: { code: 'mcp_unreachable' } },
      });
    }
  });

  it('of a client with credentials lists the tools, and stores no token', async () => {
    const auth = { type: 'oauth_client_credentials', ...knownClient };
    expect(await dryRun(auth)).toMatchObject({
      status: 201,
      body: { id: null, status: 'connected', tools: [{ name: 'whoami' }] },
    });
    expect(
      await mcp.agents.rows('select id from agent.mcp_servers where tenant_id = $1', [mcp.tenant.id]),
    ).toEqual([]);
  });
});

describe('a consent for all users', () => {
  it('is possible until its link expires, which is then deleted', async () => {
    const id = await mcp.register({ type: 'oauth' });
    const [old, open] = [await mcp.makeLink(id), await mcp.makeLink(id)];
    const ticket = new URL(old, 'http://a').searchParams.get('ticket') ?? '';
    const sha256 = createHash('sha256').update(ticket).digest();
    expect(
      await mcp.agents.rows(
        'update agent.consent_tickets set expires_at = now() where ticket_sha256 = $1 returning id',
        [sha256],
      ),
    ).toHaveLength(1);
    expect((await mcp.browser.open(old, mcp.port)).status).toBe(410);
    const log = createLogger('test', 'silent');
    const system = createPool({ url: mcp.agents.database.url, role: 'agent_system', max: 1, log });
    await deleteOldRows(system, oldTickets('agent'));
    await system.end();
    const tickets = 'select id from agent.consent_tickets where ticket_sha256 = $1';
    expect(await mcp.agents.rows(tickets, [sha256])).toEqual([]);
    expect((await mcp.browser.open(old, mcp.port)).status).toBe(410);
    expect((await mcp.browser.open(open, mcp.port)).status).toBe(200);
  });

  it('begins on one replica, ends on another, and connects the server', async () => {
    const id = await mcp.register({ type: 'oauth', scope: 'mail.read' });
    expect(await mcp.getServer(id)).toMatchObject({
      status: 'needs_auth',
      status_reason: 'A user must open a consent link.',
      tools: [],
      auth: { type: 'oauth', per_user: false, client_id: null, client_secret_set: false, scope: 'mail.read' },
    });
    const link = await mcp.makeLink('mail');
    const page = await mcp.browser.open(link, mcp.replica.httpPort);
    const html = await page.text();
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(html).toContain(`<dd>${new URL(mcp.login.issuer).host}</dd>`);
    const { location, cookie } = await mcp.browser.press(link, mcp.port);
    const asked = new URL(location).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      ...{
        response_type: 'code',
        scope: 'mail.read',
        resource: mcp.server.url,
        code_challenge_method: 'S256',
      },
      redirect_uri: 'https://gateway.example.com/v1/mcp/oauth/callback',
    });
    const { pathname, search } = mcp.login.consent(location, 'ann');
    expect((await mcp.browser.comeBack(pathname + search, { port: mcp.replica.httpPort })).status).toBe(410);
    const end = await mcp.browser.comeBack(pathname + search, { port: mcp.replica.httpPort, cookie });
    expect([end.status, await end.text()]).toEqual([200, expect.stringContaining('Connected')]);
    const timed = await mcp.agents.call('PATCH', `/v1/mcp/servers/${id}`, {
      as: mcp.tenant.admin,
      body: { timeout_ms: 9_000 },
    });
    expect(timed.body.status).toBe('connected');
    expect(await mcp.getServer(id)).toMatchObject({ status: 'connected', tools: [{ name: 'whoami' }] });
    expect((await mcp.browser.open(link, mcp.port)).status).toBe(410);
    mcp.answerWithUsers();
    expect(await mcp.call(await mcp.makeAgent())).toEqual({ content: 'ann', outcome: 'ok' });
    // Registered once, for all links.
    await mcp.makeLink(id);
    expect(mcp.login.registrations).toHaveLength(1);
    await eventually(() => {
      const actions = mcp.agents.tenant.entries.filter(({ tenant_id }) => tenant_id === mcp.tenant.id);
      expect(actions.map(({ action }) => action)).toContain('mcp_server.connected');
    });
  });

  it('is refused with a code of another server, and the link is good again', async () => {
    await mcp.register({ type: 'oauth' });
    const link = await mcp.makeLink('mail');
    const { location, cookie } = await mcp.browser.press(link, mcp.port);
    const back = mcp.login.consent(location, 'ann');
    back.searchParams.set('iss', 'https://attacker.example.com');
    const mixedUp = await mcp.browser.comeBack(back.pathname + back.search, { port: mcp.port, cookie });
    expect([mixedUp.status, await mixedUp.text()]).toEqual([
      400,
      expect.stringContaining('not from the authorization server of this consent'),
    ]);
    expect(mcp.login.tokenRequests).toHaveLength(0);
    expect((await mcp.consent(link, 'ann')).status).toBe(200);
  });

  it('takes mcp.write, a server with OAuth, and one that can be found', async () => {
    await mcp.register({ type: 'oauth' });
    expect(await mcp.askLink('mail', mcp.tenant.user)).toMatchObject({
      status: 403,
      body: { error: { code: 'scope_missing' } },
    });
    await mcp.register({ type: 'bearer', token: 'x' }, { name: 'plain', verify: false });
    expect(await mcp.askLink('plain', mcp.tenant.admin)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value' } },
    });
    expect((await mcp.askLink('unknown', mcp.tenant.admin)).status).toBe(404);
    expect((await mcp.askLink('mail', mcp.agents.makeTenant().admin)).status).toBe(404);
    mcp.login.metadata = { issuer: 'https://attacker.example.com' };
    await mcp.register({ type: 'oauth' }, { name: 'other', verify: false });
    expect(await mcp.askLink('other', mcp.tenant.admin)).toMatchObject({
      status: 422,
      body: { error: { code: 'mcp_unreachable' } },
    });
    const body = { name: 'third', url: mcp.server.url, auth: { type: 'oauth' } };
    expect((await mcp.agents.call('POST', '/v1/mcp/servers', { as: mcp.tenant.admin, body })).status).toBe(
      422,
    );
  });

  it.each([
    ['an authorization endpoint', { authorization_endpoint: 'https://10.0.0.1/authorize' }],
    ['a script as one', { authorization_endpoint: 'javascript:alert(1)' }],
    ['a token endpoint', { token_endpoint: 'https://10.0.0.1/token' }],
    ['a registration endpoint', { registration_endpoint: 'https://169.254.169.254/register' }],
    ['an endpoint of 3,000 characters', { authorization_endpoint: `https://a.example/${'x'.repeat(3_000)}` }],
    ['no PKCE', { code_challenge_methods_supported: ['plain'] }],
  ])('is not asked for with %s that is not allowed', async (_, metadata) => {
    mcp.login.metadata = metadata;
    await mcp.register({ type: 'oauth' }, { verify: false });
    expect((await mcp.askLink('mail', mcp.tenant.admin)).status).toBe(422);
  });

  it('is not asked for while the metadata has a wrong value many thousand times', async () => {
    await mcp.register({ type: 'oauth' }, { verify: false });
    mcp.login.metadata = { scopes_supported: Array<number>(100_000).fill(1) };
    const blockedMs = await longestBlock(async () => {
      expect((await mcp.askLink('mail', mcp.tenant.admin)).status).toBe(422);
    });
    expect(blockedMs).toBeLessThan(500);
  });

  it('is not asked for with a client id of 250 kB', async () => {
    await mcp.register({ type: 'oauth' }, { verify: false });
    mcp.login.newClientId = () => 'x'.repeat(250_000);
    expect((await mcp.askLink('mail', mcp.tenant.admin)).status).toBe(422);
  });

  it('is not asked for tokens of another resource', async () => {
    const { intercept } = mcp.server;
    mcp.server.intercept = (request, response) => {
      if (!request.path.startsWith('/.well-known/')) return intercept(request, response);
      const resource = { resource: 'https://victim.example/mcp', authorization_servers: [mcp.login.issuer] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(resource));
      return true;
    };
    await mcp.register({ type: 'oauth' }, { verify: false });
    expect((await mcp.askLink('mail', mcp.tenant.admin)).status).toBe(422);
    expect(mcp.login.registrations).toHaveLength(0);
  });

  it('goes to the authorization server that the server names when the link is made', async () => {
    const id = await mcp.register({ type: 'oauth' });
    const moved = await AuthorizationServer.start();
    moved.protect(mcp.server);
    const { location } = await mcp.browser.press(await mcp.makeLink(id), mcp.port);
    expect(new URL(location).origin).toBe(moved.issuer);
    expect(moved.registrations).toHaveLength(1);
    await moved.stop();
  });

  it('is not asked for while the secret of the client is not set', async () => {
    const id = await mcp.register({ type: 'oauth', ...knownClient });
    const patched = await mcp.agents.call('PATCH', `/v1/mcp/servers/${id}`, {
      as: mcp.tenant.admin,
      body: { url: 'http://127.0.0.1:1/mcp' },
    });
    expect(patched.body).toMatchObject({
      status: 'needs_auth',
      status_reason: 'The secrets are not set.',
      auth: { client_secret_set: false },
    });
    expect((await mcp.askLink(id, mcp.tenant.admin)).status).toBe(400);
  });

  it('registers the gateway again when its client has been forgotten', async () => {
    await mcp.register({ type: 'oauth' });
    const pressed = await mcp.browser.press(await mcp.makeLink('mail'), mcp.port);
    const { pathname, search } = mcp.login.consent(pressed.location, 'ann');
    mcp.login.forgetClients();
    const end = await mcp.browser.comeBack(pathname + search, { port: mcp.port, cookie: pressed.cookie });
    expect(end.status).toBe(400);
    await mcp.connect('mail', 'ann');
    expect(mcp.login.registrations).toHaveLength(2);
  });

  it('uses the client that the tenant has, whose secret is never shown', async () => {
    const id = await mcp.register({ type: 'oauth', ...knownClient });
    await mcp.connect(id, 'ann');
    expect(mcp.login.registrations).toHaveLength(0);
    const shown = JSON.stringify(await mcp.getServer(id));
    expect(shown).toContain('"client_secret_set":true');
    expect(shown).not.toContain(knownClient.client_secret);
  });
});

describe('a consent for each user', () => {
  it('gives each user a login of their own; without one, the model learns what is missing', async () => {
    const id = await mcp.register({ type: 'oauth', per_user: true });
    expect(await mcp.askLink(id, mcp.tenant.user)).toMatchObject({
      status: 400,
      body: { error: { code: 'acting_user_required' } },
    });
    await mcp.connect('mail', 'ann at mail', mcp.tenant.bound('ann'));
    mcp.answerWithUsers();
    const agentId = await mcp.makeAgent();
    expect(await mcp.call(agentId, { as: mcp.tenant.bound('ann') })).toEqual({
      content: 'ann at mail',
      outcome: 'ok',
    });
    const missing = { outcome: 'needs_consent', content: expect.stringContaining('consent') };
    expect(await mcp.call(agentId, { as: mcp.tenant.bound('bob') })).toEqual(missing);
    expect(await mcp.call(agentId, { as: mcp.tenant.admin })).toEqual(missing);
    expect(await mcp.getServer(id)).toMatchObject({ status: 'connected' });
    await mcp.connect('mail', 'bob at mail', mcp.tenant.bound('bob'));
    expect((await mcp.call(agentId, { as: mcp.tenant.bound('bob') })).content).toBe('bob at mail');
    expect((await mcp.call(agentId, { as: mcp.tenant.bound('ann') })).content).toBe('ann at mail');
  });

  it('shows each user the tools that the server has for them', async () => {
    const { intercept } = mcp.server;
    mcp.server.intercept = (request, response) => {
      mcp.server.tools = [{ name: `of-${mcp.login.userOf(request) ?? 'none'}` }];
      return intercept(request, response);
    };
    const id = await mcp.register({ type: 'oauth', per_user: true });
    const agentId = await mcp.makeAgent();
    for (const user of ['ann', 'bob']) await mcp.connect('mail', user, mcp.tenant.bound(user));
    for (const user of ['ann', 'bob', 'ann'])
      expect(await mcp.toolsOf(agentId, mcp.tenant.bound(user))).toEqual([`mail__of-${user}`]);
    expect(await mcp.toolsOf(agentId, mcp.tenant.bound('eve'))).toEqual(['mail__connect']);
    expect(await mcp.toolsOf(agentId, mcp.tenant.admin)).toEqual(['mail__connect']);
    expect(await mcp.getServer(id)).toMatchObject({ status: 'connected', tools: [] });
    const own = await mcp.agents.call('GET', `/v1/mcp/servers/${id}`, { as: mcp.tenant.acting('bob') });
    expect(own.body.tools.map(({ name }) => name)).toEqual(['of-bob']);
    expect((await mcp.call(agentId, { as: mcp.tenant.bound('ann') })).outcome).toBe('ok');
  });

  it('never lets a user or a tenant use the login of another', async () => {
    mcp.answerWithUsers();
    const tenants = [mcp.agents.makeTenant(), mcp.agents.makeTenant()];
    const agentIds: string[] = [];
    for (const each of tenants) {
      mcp.tenant = each;
      await mcp.register({ type: 'oauth', per_user: true });
      agentIds.push(await mcp.makeAgent());
      // Then the tools are known.
      await mcp.connect('mail', 'first', mcp.tenant.bound('first'));
    }
    const step = fc.record({
      kind: fc.constantFrom('consent', 'call', 'call', 'expire'),
      of: fc.nat(1),
      user: fc.constantFrom('ann', 'bob', 'eve'),
      as: fc.nat(99),
    });
    const logins = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
        for (const { kind, of, user, as } of steps) {
          mcp.tenant = tenants[of] ?? mcp.tenant;
          const key = `${of}/${user}`;
          const known = logins.get(key);
          if (kind === 'consent') {
            logins.set(key, `account ${as} of ${key}`);
            await mcp.connect('mail', `account ${as} of ${key}`, mcp.tenant.bound(user));
          } else if (kind === 'expire') {
            if (known !== undefined) mcp.login.expire(known);
          } else {
            const result = await mcp.call(agentIds[of] ?? '', { as: mcp.tenant.bound(user) });
            if (known === undefined) expect(result.outcome).toBe('needs_consent');
            else expect(result).toEqual({ outcome: 'ok', content: known });
          }
        }
      }),
      { numRuns: 10 },
    );
  });

  it('is gone with the data of the user, also when the deletion arrives after the browser', async () => {
    await mcp.register({ type: 'oauth', per_user: true });
    const ann = mcp.tenant.bound('ann');
    const { location, cookie } = await mcp.browser.press(await mcp.makeLink('mail', ann), mcp.port);
    const requestedAtMs = BigInt(Date.now());
    const { pathname, search } = mcp.login.consent(location, 'ann');
    const end = await mcp.browser.comeBack(pathname + search, { port: mcp.port, cookie });
    expect(end.status).toBe(200);
    const tenantService = await mcp.agents.participant('tenant');
    const request = { tenantId: mcp.tenant.id, userId: 'ann', requestedAtMs, deletionId: newId() };
    const { counts } = await tenantService.call('forgetUser', request, { deadlineMs: 5_000 });
    expect(counts).toEqual({ cookies: 0n, mcp_logins: 1n });
  });

  it('is gone with the data of the user, also one that is under way', async () => {
    await mcp.register({ type: 'oauth', per_user: true });
    await mcp.connect('mail', 'ann', mcp.tenant.bound('ann'));
    const agentId = await mcp.makeAgent();
    expect((await mcp.call(agentId, { as: mcp.tenant.bound('ann') })).outcome).toBe('ok');
    const link = await mcp.makeLink('mail', mcp.tenant.bound('ann'));
    const { location, cookie } = await mcp.browser.press(link, mcp.port);
    const { pathname, search } = mcp.login.consent(location, 'ann');
    const tenantService = await mcp.agents.participant('tenant');
    const request = {
      tenantId: mcp.tenant.id,
      userId: 'ann',
      requestedAtMs: BigInt(Date.now() + 1_000),
      deletionId: newId(),
    };
    const { counts } = await tenantService.call('forgetUser', request, { deadlineMs: 5_000 });
    expect(counts).toEqual({ cookies: 0n, mcp_logins: 1n });
    expect((await mcp.browser.comeBack(pathname + search, { port: mcp.port, cookie })).status).toBe(410);
    expect((await mcp.call(agentId, { as: mcp.tenant.bound('ann') })).outcome).toBe('needs_consent');
  });
});
