import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId, randomBase62 } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { longestBlock } from '@gatehouse/test/longest-block';
import { TestMcpServer, type McpEra, type TestTool } from '@gatehouse/test/mcp-server';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

const path = '/v1/mcp/servers';
const tools: TestTool[] = [
  { name: 'search', description: 'Searches.', annotations: { readOnlyHint: true } },
  {
    name: 'send mail!',
    inputSchema: { type: 'object', properties: { z: { type: 'string' }, a: { enum: [1, 'x'] } } },
    annotations: { idempotentHint: true },
  },
];

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let server: TestMcpServer;
const started: TestMcpServer[] = [];

async function start(era: McpEra = 'current'): Promise<TestMcpServer> {
  const made = await TestMcpServer.start([...tools], era);
  started.push(made);
  return made;
}

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ settings: { EGRESS_ALLOW: '127.0.0.1' } });
});
beforeEach(async () => {
  tenant = agents.makeTenant();
  server = await start();
});
afterEach(async () => {
  for (const each of started.splice(0)) await each.stop();
});
afterAll(() => agents.stop());

const newName = () => `server-${randomBase62(8).toLowerCase()}`;
const create = (fields: object = {}, as = tenant.admin) =>
  agents.call('POST', path, { as, body: { name: newName(), url: server.url, ...fields } });
const get = async (id: string) => (await agents.call('GET', `${path}/${id}`, { as: tenant.admin })).body;
const patch = (id: string, body: object) => agents.call('PATCH', `${path}/${id}`, { as: tenant.admin, body });
const refresh = (id: string) => agents.call('POST', `${path}/${id}/refresh`, { as: tenant.admin });

describe('registration', () => {
  it.each(['current', 'sessions', 'sse'] as const)(
    'connects and lists the tools of a server of the era %s',
    async (era) => {
      const other = await start(era);
      const { status, body, headers } = await create({ name: 'mail', url: other.url });
      expect([status, body.status, body.status_reason]).toEqual([201, 'connected', null]);
      expect(headers.get('location')).toBe(`${path}/${body.id}`);
      expect(body.protocol_version).toBe(
        { current: '2026-07-28', sessions: '2025-11-25', sse: '2024-11-05' }[era],
      );
      expect(body.tools).toEqual([
        {
          ...{ name: 'search', model_name: 'mail__search', description: 'Searches.' },
          ...{ input_schema: { type: 'object' }, read_only: true, idempotent: false, enabled: true },
          ...{ usable: true, reason: null },
          ...{ digest: expect.stringMatching(/^[0-9a-f]{64}$/), status: 'accepted', accepted: null },
        },
        {
          ...{ name: 'send mail!', description: '' },
          model_name: expect.stringMatching(/^mail__send_mail__[0-9a-f]{8}$/),
          input_schema: tools[1]?.inputSchema,
          ...{ read_only: false, idempotent: true, enabled: true, usable: true, reason: null },
          ...{ digest: expect.stringMatching(/^[0-9a-f]{64}$/), status: 'accepted', accepted: null },
        },
      ]);
      expect(JSON.stringify(body.tools[1]?.input_schema)).toBe(JSON.stringify(tools[1]?.inputSchema));
      expect(await get(body.id)).toEqual(body);
    },
  );

  it('sends the secrets to the server and never shows them', async () => {
    const secrets = { bearer: 'sk-bearer-secret', header: 'sk-header-secret' };
    const bearer = await create({ auth: { type: 'bearer', token: secrets.bearer } });
    const headers = await create({ auth: { type: 'headers', headers: { 'X-Api-Key': secrets.header } } });
    expect(bearer.body.auth).toEqual({ type: 'bearer', token_set: true });
    expect(headers.body.auth).toEqual({ type: 'headers', headers: [{ name: 'X-Api-Key', set: true }] });
    expect(server.requests.some((each) => each.headers.authorization === `Bearer ${secrets.bearer}`)).toBe(
      true,
    );
    expect(server.requests.some((each) => each.headers['x-api-key'] === secrets.header)).toBe(true);
    const list = await agents.call('GET', path, { as: tenant.admin });
    const rows = await agents.rows('select * from agent.mcp_servers where tenant_id = $1', [tenant.id]);
    const audit = await agents.rows('select * from agent.audit_outbox');
    for (const shown of [bearer.body, headers.body, list.body, rows, audit])
      for (const secret of Object.values(secrets)) expect(JSON.stringify(shown)).not.toContain(secret);
  });

  it('is refused for a server that cannot be reached, with no word of what answered', async () => {
    const gone = await start();
    const { url } = gone;
    await gone.stop();
    server.intercept = (_request, response) => {
      response.writeHead(500, { 'x-inside': 'yes' }).end('inside secret');
      return true;
    };
    const answers = [await create({ url }), await create()];
    for (const { status, body } of answers) {
      expect([status, body.error.code, body.error.param]).toEqual([422, 'mcp_unreachable', 'url']);
      expect(body.error.message).toBe('The gateway could not list the tools of the MCP server.');
    }
    expect((await agents.call('GET', path, { as: tenant.admin })).body.data).toEqual([]);
  });

  it('is refused for a server that hangs, floods or speaks something else', async () => {
    for (const answer of ['nothing', 'flood', 'html'] as const) {
      server.intercept = (_request, response) => {
        if (answer === 'html') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
        if (answer === 'flood') {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(`{"jsonrpc":"2.0","id":0,"result":{"x":"${'x'.repeat(50_000_000)}"}}`);
        }
        return true;
      };
      expect((await create({ timeout_ms: 500 })).body.error.code).toBe('mcp_unreachable');
    }
  });

  it('of 100 tools with 300 properties each holds the event loop for no longer than 50 ms at a time', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 300 }, (_, n) => [`property${n}`, { type: 'string' as const }]),
    );
    const inputSchema = { type: 'object' as const, properties };
    server.tools = Array.from({ length: 100 }, (_, n) => ({ name: `t${n}`, inputSchema }));
    const blockedMs = await longestBlock(async () => {
      expect((await create()).body.tools).toHaveLength(100);
    });
    // Ten times that.
    expect(blockedMs).toBeLessThan(500);
  });

  it('judges each tool by itself: one that can’t be used is named, and the others work', async () => {
    const odd = { type: 'object', properties: { a: { $ref: '#/$defs/none' } } } as const;
    server.tools = [
      { name: 'good', inputSchema: { type: 'object', properties: {} } },
      { name: 'odd', inputSchema: odd },
      { name: 'large', inputSchema: { type: 'object', description: 'x'.repeat(70_000) } },
      { name: 'mended', inputSchema: { properties: { coin: { type: 'str' }, required: ['coin'] } } as never },
    ];
    const { status, body } = await create();
    expect([status, body.status]).toEqual([201, 'connected']);
    expect(body.tools.map(({ name, usable, reason }) => [name, usable, reason])).toEqual([
      ['good', true, null],
      ['odd', false, 'input_schema.properties.a has a reference that leads nowhere.'],
      ['large', false, 'input_schema is larger than 64 KiB.'],
      ['mended', true, null],
    ]);
    expect(body.tools[1]?.input_schema).toEqual(odd);
  });

  it('stores without a connection if `verify` is false', async () => {
    const { status, body } = await create({ verify: false, url: 'https://mcp.example.com/mcp' });
    expect([status, body.status, body.tools, body.tools_updated_at]).toEqual([201, 'pending', [], null]);
    expect(server.requests).toEqual([]);
  });

  it('takes each name once a tenant', async () => {
    const name = newName();
    expect((await create({ name })).status).toBe(201);
    const again = await create({ name });
    expect([again.status, again.body.error.code, again.body.error.param]).toEqual([
      409,
      'mcp_name_taken',
      'name',
    ]);
    const other = agents.makeTenant();
    expect((await create({ name }, other.admin)).status).toBe(201);
  });

  it.each([
    [{ transport: 'stdio' }, 'transport_not_allowed', 'transport'],
    [
      { transport: 'stdio', url: undefined, command: 'npx', args: ['x'] },
      'transport_not_allowed',
      'transport',
    ],
    [{ transport: 'websocket' }, 'invalid_value', 'transport'],
    [{ name: 'Not a slug' }, 'invalid_value', 'name'],
    [{ url: 'not a url' }, 'url_not_allowed', 'url'],
    [{ url: 'https://10.0.0.1/mcp' }, 'url_not_allowed', 'url'],
    [{ auth: { type: 'bearer' } }, 'missing_required_parameter', 'auth.token'],
    [{ auth: { type: 'bearer', token: 'a\nb' } }, 'invalid_value', 'auth.token'],
    [{ auth: { type: 'basic' } }, 'invalid_value', 'auth.type'],
    [{ auth: { type: 'headers', headers: { Host: 'x' } } }, 'invalid_value', 'auth.headers.Host'],
    [{ auth: { type: 'headers', headers: { 'x-a': '1', 'X-A': '2' } } }, 'invalid_value', 'auth.headers'],
    [{ timeout_ms: 1 }, 'invalid_value', 'timeout_ms'],
    [{ surprise: 1 }, 'unknown_parameter', 'surprise'],
  ])('refuses %j', async (fields, code, param) => {
    const { status, body } = await create(fields);
    expect([status, body.error.code, body.error.param]).toEqual([400, code, param]);
  });
});

it('a tenant makes the gateway connect 60 times a minute at most, however it asks', async () => {
  const { body } = await create();
  const hasConnected = (times: number) =>
    agents.rows(
      `update agent.minute_counts set minute = date_trunc('minute', now()) + interval '1 minute', count = $2
       where tenant_id = $1`,
      [tenant.id, times],
    );
  const urls = [(await start()).url, server.url];
  const limited = { status: 429, body: { error: { code: 'rate_limit_exceeded' } } };
  for (const connect of [
    () => create(),
    () => refresh(body.id),
    () => patch(body.id, { url: urls.shift() }),
  ]) {
    await hasConnected(59);
    expect((await connect()).status).toBeLessThan(300);
    expect(await connect()).toMatchObject(limited);
  }
  // Neither connects.
  expect((await create({ verify: false })).status).toBe(201);
  expect((await patch(body.id, { timeout_ms: 6_000 })).status).toBe(200);
  expect((await create({}, agents.makeTenant().admin)).status).toBe(201);
});

describe('a registered server', () => {
  it('belongs to its tenant alone', async () => {
    const { body } = await create();
    const as = agents.makeTenant().admin;
    for (const [method, rest] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/refresh'],
    ] as const) {
      const answer = await agents.call(method, `${path}/${body.id}${rest}`, {
        as,
        ...(method === 'PATCH' && { body: {} }),
      });
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found']);
    }
    expect((await agents.call('GET', path, { as })).body.data).toEqual([]);
  });

  it('lists its tools again on request, and keeps the old ones while it is away', async () => {
    const { body } = await create();
    server.tools = [{ name: 'other' }];
    const refreshed = await refresh(body.id);
    expect([refreshed.status, refreshed.body.tools.map(({ name }) => name)]).toEqual([200, ['other']]);
    server.intercept = (_request, response) => {
      response.writeHead(503).end();
      return true;
    };
    const failed = await refresh(body.id);
    expect([failed.status, failed.body.error.code]).toEqual([422, 'mcp_unreachable']);
    expect(await get(body.id)).toMatchObject({
      ...{ status: 'error', status_reason: 'The server could not be reached.' },
      tools: [{ name: 'other' }],
    });
    server.intercept = () => false;
    expect((await refresh(body.id)).body).toMatchObject({ status: 'connected', status_reason: null });
  });

  it('that hangs is an error, and works again', async () => {
    const { body } = await create({ timeout_ms: 500 });
    server.intercept = () => true;
    expect((await refresh(body.id)).body.error.code).toBe('mcp_unreachable');
    expect(await get(body.id)).toMatchObject({
      ...{ status: 'error', status_reason: 'The server did not respond in time.' },
    });
    server.intercept = () => false;
    expect((await refresh(body.id)).body.status).toBe('connected');
  });

  it('loses its secrets with another origin, unless they are sent again', async () => {
    const auth = { type: 'bearer', token: 'sk-of-the-first' };
    const { body } = await create({ auth });
    const elsewhere = await start();
    const moved = await patch(body.id, { url: elsewhere.url });
    expect(moved.body).toMatchObject({
      ...{ status: 'needs_auth', status_reason: 'The secrets are not set.', url: elsewhere.url },
      auth: { type: 'bearer', token_set: false },
    });
    expect(elsewhere.requests).toEqual([]);
    const given = await patch(body.id, { auth: { ...auth, token: 'sk-of-the-second' } });
    expect(given.body).toMatchObject({ status: 'connected', auth: { token_set: true } });
    const sent = new Set(elsewhere.requests.map(({ headers }) => headers.authorization));
    expect([...sent]).toEqual(['Bearer sk-of-the-second']);
    // The same origin keeps them.
    const kept = await patch(body.id, { url: `${elsewhere.url}?x=1` });
    expect(kept.body).toMatchObject({ status: 'connected', auth: { token_set: true } });
    const both = await patch(body.id, { url: server.url, auth });
    expect(both.body).toMatchObject({ status: 'connected', auth: { token_set: true } });
  });

  it('says in its status how a change went', async () => {
    const { body } = await create();
    server.intercept = ({ headers }, response) => {
      if (headers.authorization === 'Bearer right') return false;
      response.writeHead(401).end();
      return true;
    };
    expect((await patch(body.id, { auth: { type: 'bearer', token: 'wrong' } })).body).toMatchObject({
      ...{ status: 'needs_auth', status_reason: 'The server did not accept the credentials.' },
    });
    expect((await patch(body.id, { auth: { type: 'bearer', token: 'right' } })).body.status).toBe(
      'connected',
    );
    expect((await patch(body.id, { enabled: false })).body.status).toBe('disabled');
    expect((await patch(body.id, { timeout_ms: 5_000 })).body).toMatchObject({ status: 'disabled' });
    expect((await patch(body.id, { enabled: true })).body.status).toBe('connected');
    const filtered = await patch(body.id, { tool_filter: { deny: ['search'] } });
    expect(filtered.body.tools.map(({ enabled }) => enabled)).toEqual([false, true]);
    expect(filtered.body).toMatchObject({
      status: 'connected',
      tool_filter: { allow: [], deny: ['search'] },
    });
  });

  it('is deleted with its secrets', async () => {
    const { body } = await create({ auth: { type: 'bearer', token: 'sk' } });
    expect((await agents.call('DELETE', `${path}/${body.id}`, { as: tenant.admin })).status).toBe(204);
    expect((await agents.call('GET', `${path}/${body.id}`, { as: tenant.admin })).status).toBe(404);
    expect((await agents.call('GET', `${path}/${newId()}`, { as: tenant.admin })).status).toBe(404);
    expect(await agents.rows('select 1 from agent.mcp_servers where tenant_id = $1', [tenant.id])).toEqual(
      [],
    );
  });

  it('is recorded in the audit log', async () => {
    const { body } = await create();
    await patch(body.id, { timeout_ms: 5_000 });
    await agents.call('DELETE', `${path}/${body.id}`, { as: tenant.admin });
    await eventually(() => {
      const actions = agents.tenant.entries.filter(({ tenant_id: id }) => id === tenant.id);
      expect(actions.map(({ action }) => action)).toEqual([
        'mcp_server.created',
        'mcp_server.updated',
        'mcp_server.deleted',
      ]);
    });
  });
});

it('keeps 200 secrets to itself', async () => {
  const secretOf = (index: number) => `s3cret-${String(index).padStart(3, '0')}-${newId()}`;
  const secrets = Array.from({ length: 200 }, (_, index) => secretOf(index));
  for (const [index, secret] of secrets.entries())
    await create({
      verify: index % 20 === 0,
      auth:
        index % 2 === 0
          ? { type: 'bearer', token: secret }
          : { type: 'headers', headers: { 'x-api-key': secret } },
    });
  const pages: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await agents.call('GET', `${path}?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`, {
      as: tenant.admin,
    });
    pages.push(page.body);
    cursor = page.body.next_cursor;
  }
  const stored = await agents.rows('select tenant_id, secrets, * from agent.mcp_servers');
  const outbox = await agents.rows('select * from agent.audit_outbox');
  const shown = JSON.stringify([pages, outbox, agents.tenant.entries]);
  const kept = stored.map((row) =>
    Object.values(row)
      .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)))
      .join(),
  );
  for (const secret of secrets) {
    expect(shown).not.toContain(secret);
    expect(kept.some((row) => row.includes(secret))).toBe(false);
  }
  expect(pages.length).toBeGreaterThan(1);
});
