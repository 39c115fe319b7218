import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ToolsetTool, WireToolset } from '@gatehouse/contract/toolsets';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import { TestMcpServer, type TestTool } from '@gatehouse/test/mcp-server';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

/** Toolsets: who sees which, and the tools that each caller gets. */

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let server: TestMcpServer;

const listed: TestTool[] = [
  { name: 'search_tickets', description: 'Searches tickets by text.', annotations: { readOnlyHint: true } },
  { name: 'delete_ticket', description: 'Deletes a ticket.' },
];

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ settings: { EGRESS_ALLOW: '127.0.0.1' } });
});
beforeEach(async () => {
  tenant = agents.makeTenant();
  server = await TestMcpServer.start([...listed]);
});
afterEach(() => server.stop());
afterAll(() => agents.stop());

/** The answers of toolsets have members that those of agents have with other values. */
interface ToolsetAnswer {
  status: number;
  body: WireToolset & {
    error: { code: string; param: string | null };
    data: (WireToolset & ToolsetTool)[];
    has_more: boolean;
    next_cursor: string | null;
  };
  headers: Headers;
}

async function call(method: string, path: string, as: As, body?: object): Promise<ToolsetAnswer> {
  const answer = await agents.call(method, `/v1/toolsets${path}`, {
    as,
    ...(body !== undefined && { body }),
  });
  return answer as unknown as ToolsetAnswer;
}

const create = (fields: object, as = tenant.admin) => call('POST', '', as, { name: 'support', ...fields });

async function register(name: string, fields: object = {}): Promise<string> {
  const body = { name, url: server.url, auth: { type: 'none' }, ...fields };
  const made = await agents.call('POST', '/v1/mcp/servers', { as: tenant.admin, body });
  expect(made.status).toBe(201);
  return made.body.id;
}

async function tools(as: As, query = '', name = 'support'): Promise<string[]> {
  const { status, body } = await call('GET', `/${name}/tools${query}`, as);
  expect(status).toBe(200);
  return body.data.map((tool) => tool.name);
}

/** A key to call tools and manage nothing. */
const caller = (toolsets?: string[]): As => ({
  ...tenant.user,
  scopes: ['tools.call'],
  ...(toolsets !== undefined && { toolsets }),
});

describe('a toolset', () => {
  it('is created, read by id and name, changed and deleted, with entries of the audit log', async () => {
    const made = await create({ mcp_servers: ['tickets'] });
    expect([made.status, made.headers.get('location')]).toEqual([201, `/v1/toolsets/${made.body.id}`]);
    expect(made.body).toMatchObject({
      ...{ name: 'support', description: '', mcp_servers: ['tickets'], deny: [], agents: [], prefix: true },
      ...{ visibility: 'tenant', enabled: true, missing: ['tickets'] },
    });
    for (const ref of ['support', made.body.id])
      expect((await call('GET', `/${ref}`, tenant.admin)).body).toEqual(made.body);
    const changed = await call('PATCH', '/support', tenant.admin, { name: 'desk', enabled: false });
    expect(changed.body).toMatchObject({
      id: made.body.id,
      name: 'desk',
      enabled: false,
      mcp_servers: ['tickets'],
    });
    expect((await call('DELETE', '/desk', tenant.admin)).status).toBe(204);
    expect((await call('GET', `/${made.body.id}`, tenant.admin)).status).toBe(404);
    const recorded = () => agents.tenant.entries.filter((entry) => entry.tenant_id === tenant.id);
    await eventually(() => expect(recorded()).toHaveLength(3));
    const { missing: _, ...entry } = made.body;
    expect(recorded()).toMatchObject([
      { action: 'toolset.created', before: null, after: entry },
      { action: 'toolset.updated', resource: { type: 'toolset', id: entry.id }, before: entry },
      { action: 'toolset.deleted', after: null },
    ]);
    // It depends on other resources.
    expect(recorded()[0]?.after).not.toHaveProperty('missing');
  });

  it('has a name of its own in its tenant, and no more than 200 others', async () => {
    const first = await create({});
    expect((await create({}, agents.makeTenant().admin)).status).toBe(201);
    const taken = await create({});
    expect([taken.status, taken.body.error]).toMatchObject([
      409,
      { code: 'toolset_name_taken', param: 'name' },
    ]);
    await create({ name: 'other' });
    expect((await call('PATCH', '/other', tenant.admin, { name: 'support' })).status).toBe(409);
    await agents.rows(
      `insert into agent.toolsets (id, tenant_id, name, description, mcp_servers, deny, agents, prefix, visibility, enabled)
       select gen_random_uuid(), $1, 'many-' || n, '', '{}', '{}', '{}', true, 'named', true
       from generate_series(1, 198) as n`,
      [tenant.id],
    );
    const beyond = await create({ name: 'beyond' });
    expect([beyond.status, beyond.body.error.code]).toEqual([403, 'limit_reached']);
    await call('DELETE', `/${first.body.id}`, tenant.admin);
    expect((await create({ name: 'beyond' })).status).toBe(201);
  });

  it.each<[object, string]>([
    [{ name: 'Support' }, 'name'],
    [{ mcp_servers: Array.from({ length: 101 }, (_, n) => `s${n}`) }, 'mcp_servers'],
    [{ deny: ['tickets'] }, 'deny[0]'],
    [{ agents: ['clerk/delete_all'] }, 'agents[0]'],
    [{ visibility: 'private' }, 'visibility'],
    [{ prefix: false }, 'prefix'],
    [{ prefix: false, mcp_servers: ['one', 'two'] }, 'prefix'],
    [{ prefix: false, mcp_servers: ['one'], agents: ['clerk'] }, 'prefix'],
  ])('%j is refused', async (fields, param) => {
    const { status, body } = await create(fields);
    expect([status, body.error]).toMatchObject([400, { code: 'invalid_value', param }]);
  });

  it('keeps names without a prefix to one server, also in changes', async () => {
    expect((await create({ prefix: false, mcp_servers: ['one/a', 'one/b'] })).status).toBe(201);
    const { status, body } = await call('PATCH', '/support', tenant.admin, { agents: ['clerk'] });
    expect([status, body.error]).toMatchObject([400, { param: 'prefix' }]);
  });

  it('shows which servers, tools and agents are missing', async () => {
    await register('tickets');
    await agents.makeAgent(tenant.admin, { key: 'clerk' });
    await agents.makeAgent(tenant.acting('ann'), { key: 'own', visibility: 'private' });
    await create({
      mcp_servers: ['tickets', 'tickets/search_tickets', 'tickets/none', 'gone'],
      deny: ['tickets/delete_ticket', 'tickets/other'],
      agents: ['clerk', 'own', 'nobody/web_fetch'],
    });
    const missing = async (as: As) => (await call('GET', '/support', as)).body.missing;
    const always = ['tickets/none', 'gone', 'tickets/other'];
    expect(await missing(tenant.admin)).toEqual([...always, 'nobody/web_fetch']);
    expect(await missing(tenant.acting('ann'))).toEqual([...always, 'nobody/web_fetch']);
    expect(await missing(tenant.bound('bob'))).toEqual([...always, 'own', 'nobody/web_fetch']);
  });
});

describe('a caller', () => {
  it('sees the toolsets of its key, or those open to the tenant; with mcp.write all', async () => {
    await create({ name: 'open' });
    await create({ name: 'closed', visibility: 'named' });
    await create({ name: 'off', enabled: false });
    const names = async (as: As) => (await call('GET', '', as)).body.data.map(({ name }) => name);
    expect(await names(caller())).toEqual(['open']);
    expect(await names(caller(['closed', 'off', 'none']))).toEqual(['closed']);
    expect(await names(caller([]))).toEqual([]);
    expect(await names(tenant.admin)).toEqual(['off', 'closed', 'open']);
    for (const [as, name] of [
      [caller(), 'closed'],
      [caller(['closed']), 'open'],
      [caller(), 'off'],
      [agents.makeTenant().admin, 'open'],
    ] as const)
      for (const path of [`/${name}`, `/${name}/tools`])
        expect([path, (await call('GET', path, as)).status]).toEqual([path, 404]);
  });

  it('needs tools.call to read and mcp.write to write', async () => {
    await create({});
    const manager: As = { ...tenant.admin, scopes: ['mcp.write'] };
    const statuses = async (as: As) => [
      (await call('GET', '', as)).status,
      (await call('GET', '/support', as)).status,
      (await call('GET', '/support/tools', as)).status,
      (await call('PATCH', '/support', as, {})).status,
    ];
    expect(await statuses(caller())).toEqual([200, 200, 200, 403]);
    expect(await statuses(manager)).toEqual([403, 403, 403, 200]);
  });

  it('pages through its toolsets', async () => {
    for (const name of ['one', 'two', 'three']) await create({ name });
    const first = await call('GET', '?limit=2', caller());
    expect(first.body.data.map(({ name }) => name)).toEqual(['three', 'two']);
    const rest = await call('GET', `?limit=2&cursor=${first.body.next_cursor ?? ''}`, caller());
    expect([rest.body.data.map(({ name }) => name), rest.body.has_more]).toEqual([['one'], false]);
  });
});

describe('the tools of a toolset', () => {
  it('have the names of their server and schemas, in the order of their names', async () => {
    await register('tickets');
    await create({ mcp_servers: ['tickets'] });
    const { body } = await call('GET', '/support/tools', caller());
    expect(body.data).toEqual([
      {
        name: 'tickets__delete_ticket',
        description: 'Deletes a ticket.',
        input_schema: { type: 'object', properties: {} },
        read_only: false,
        source: { type: 'mcp_server', name: 'tickets' },
      },
      expect.objectContaining({ name: 'tickets__search_tickets', read_only: true }),
    ]);
  });

  it('are those that are named and not denied, by any reference', async () => {
    await register('tickets');
    await create({ mcp_servers: ['tickets', 'tickets/delete_ticket'], deny: ['tickets/delete_ticket'] });
    expect(await tools(caller())).toEqual(['tickets__search_tickets']);
    await call('PATCH', '/support', tenant.admin, { mcp_servers: ['tickets/delete_ticket'] });
    expect(await tools(caller())).toEqual([]);
    await call('PATCH', '/support', tenant.admin, { deny: [] });
    expect(await tools(caller())).toEqual(['tickets__delete_ticket']);
  });

  it('keep their plain names without a prefix', async () => {
    await register('tickets');
    await create({ mcp_servers: ['tickets'], prefix: false });
    expect(await tools(caller())).toEqual(['delete_ticket', 'search_tickets']);
  });

  it('are none of disabled servers, of the filter of a server, or in review', async () => {
    const id = await register('tickets', { tool_filter: { allow: [], deny: ['delete_ticket'] } });
    await create({ mcp_servers: ['tickets'] });
    expect(await tools(caller())).toEqual(['tickets__search_tickets']);
    server.tools.splice(0, 1, { name: 'search_tickets', description: 'Sends all tickets elsewhere.' });
    await agents.call('POST', `/v1/mcp/servers/${id}/refresh`, { as: tenant.admin });
    expect(await tools(caller())).toEqual([]);
    const body = { trust: 'follow' };
    await agents.call('PATCH', `/v1/mcp/servers/${id}`, { as: tenant.admin, body });
    expect(await tools(caller())).toEqual(['tickets__search_tickets']);
    await agents.call('PATCH', `/v1/mcp/servers/${id}`, { as: tenant.admin, body: { enabled: false } });
    expect(await tools(caller())).toEqual([]);
  });

  it('include agents that the caller sees, and tools of these', async () => {
    await agents.makeAgent(tenant.admin, { key: 'clerk', description: 'Knows all orders.' });
    await agents.makeAgent(tenant.admin, { key: 'resting', status: 'disabled' });
    await agents.makeAgent(tenant.acting('ann'), { key: 'own', visibility: 'private', name: 'Own one' });
    await create({ agents: ['clerk', 'clerk/memory_search', 'resting', 'own'] });
    expect(await tools(caller())).toEqual(['agent__clerk', 'agent__clerk__memory_search']);
    const { body } = await call('GET', '/support/tools', { ...tenant.bound('ann'), scopes: ['tools.call'] });
    expect(body.data.map(({ name, description, source }) => [name, description, source])).toEqual([
      ['agent__clerk', 'Knows all orders.', { type: 'agent', name: 'clerk' }],
      ['agent__clerk__memory_search', expect.stringContaining('memory'), { type: 'agent', name: 'clerk' }],
      ['agent__own', 'Own one', { type: 'agent', name: 'own' }],
    ]);
    expect(body.data[0]?.input_schema).toMatchObject({ required: ['input'], additionalProperties: false });
  });

  it('have names of their own where a server is called agent', async () => {
    server.tools.splice(0, 2, { name: 'clerk' });
    await register('agent');
    await agents.makeAgent(tenant.admin, { key: 'clerk' });
    await create({ mcp_servers: ['agent'], agents: ['clerk'] });
    const names = await tools(caller());
    expect(names).toEqual([
      expect.stringMatching(/^agent__clerk_[0-9a-f]{8}$/),
      expect.stringMatching(/^agent__clerk_[0-9a-f]{8}$/),
    ]);
    expect(new Set(names).size).toBe(2);
  });

  it('of a server with logins of users are those of the acting user', async () => {
    const auth = { type: 'oauth', per_user: true };
    await register('mail', { auth, verify: false });
    await create({ mcp_servers: ['mail'] });
    expect(await tools(tenant.bound('ann'))).toEqual(['mail__connect']);
  });

  it('come page by page, and are found by words, the best first', async () => {
    await register('tickets');
    await create({ mcp_servers: ['tickets'] });
    const first = await call('GET', '/support/tools?limit=1', caller());
    expect([first.body.data.map(({ name }) => name), first.body.has_more]).toEqual([
      ['tickets__delete_ticket'],
      true,
    ]);
    const cursor = first.body.next_cursor ?? '';
    expect(await tools(caller(), `?limit=1&cursor=${cursor}`)).toEqual(['tickets__search_tickets']);
    expect((await call('GET', '/support/tools?cursor=x', caller())).body.error.code).toBe('invalid_cursor');
    expect(await tools(caller(), '?q=search')).toEqual(['tickets__search_tickets']);
    expect(await tools(caller(), '?q=Delete+ticket')).toEqual([
      'tickets__delete_ticket',
      'tickets__search_tickets',
    ]);
    expect(await tools(caller(), '?q=weather')).toEqual([]);
  });
});

it('no toolset has an id of another tenant', async () => {
  const { body } = await create({});
  const other = agents.makeTenant().admin;
  for (const method of ['GET', 'PATCH', 'DELETE'])
    for (const ref of [body.id, 'support', newId()]) {
      const answer = await call(method, `/${ref}`, other, method === 'PATCH' ? {} : undefined);
      expect([method, answer.status]).toEqual([method, 404]);
    }
});
