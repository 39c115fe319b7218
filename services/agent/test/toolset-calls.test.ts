import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type {
  CallToolsetToolRequest,
  CallToolsetToolResponse,
  ListToolsetToolsRequest,
  ListToolsetToolsResponse,
  ToolsetTool,
} from '@gatehouse/proto/agent/v1/agent';
import { eventually } from '@gatehouse/test/eventually';
import { TestMcpServer } from '@gatehouse/test/mcp-server';
import type { As } from '@gatehouse/test/service-under-test';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

/** Tools of toolsets as chat lists and calls them for programs. */

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let tickets: TestMcpServer;
let files: TestMcpServer;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ settings: { EGRESS_ALLOW: '127.0.0.1' } });
});
beforeEach(async () => {
  tenant = agents.makeTenant();
  tickets = await TestMcpServer.start([
    { name: 'search', description: 'Searches.', annotations: { readOnlyHint: true } },
    { name: 'delete' },
  ]);
  files = await TestMcpServer.start([{ name: 'list' }]);
  await register('tickets', tickets.url);
  await register('files', files.url);
});
afterEach(async () => {
  await tickets.stop();
  await files.stop();
});
afterAll(() => agents.stop());

async function register(name: string, url: string): Promise<string> {
  const body = { name, url, auth: { type: 'none' } };
  const made = await agents.call('POST', '/v1/mcp/servers', { as: tenant.admin, body });
  expect(made.status).toBe(201);
  return made.body.id;
}

async function create(name: string, fields: object): Promise<void> {
  const made = await agents.call('POST', '/v1/toolsets', { as: tenant.admin, body: { name, ...fields } });
  expect(made.status).toBe(201);
}

/** A key to call tools and manage nothing. */
const caller = (toolsets?: string[]): As => ({
  ...tenant.user,
  scopes: ['tools.call'],
  ...(toolsets !== undefined && { toolsets }),
});

async function list(
  request: Partial<ListToolsetToolsRequest> = {},
  as: As = caller(),
): Promise<ListToolsetToolsResponse> {
  const chat = await agents.peer('chat');
  const wanted = { after: '', limit: 200, ...request };
  return chat.call('listToolsetTools', wanted, await agents.actingFor(as));
}

const names = async (...asked: Parameters<typeof list>) =>
  (await list(...asked)).tools.map(({ name }) => name);

async function find(name: string, toolset?: string): Promise<ToolsetTool> {
  const [tool] = (await list({ name, ...(toolset !== undefined && { toolset }) })).tools;
  if (tool === undefined) throw new Error(`there is no ${name}`);
  return tool;
}

async function call(
  { serverId, tool }: Pick<ToolsetTool, 'serverId' | 'tool'>,
  request: Partial<CallToolsetToolRequest> = {},
  { as = caller(), signal }: { as?: As; signal?: AbortSignal } = {},
): Promise<CallToolsetToolResponse> {
  const chat = await agents.peer('chat');
  return chat.call(
    'callToolsetTool',
    { serverId, tool, argumentsJson: '{}', ...request },
    { ...(await agents.actingFor(as)), deadlineMs: 10_000, ...(signal !== undefined && { signal }) },
  );
}

it('a toolset is listed with what a call of each tool needs', async () => {
  await create('support', { description: 'For tickets.', mcp_servers: ['tickets'] });
  const { tools, ...rest } = await list({ toolset: 'support' });
  expect(rest).toEqual({ hasMore: false, leftOut: 0, description: 'For tickets.' });
  expect(tools).toEqual([
    expect.objectContaining({ name: 'tickets__delete', tool: 'delete', readOnly: false, idempotent: false }),
    {
      ...{ name: 'tickets__search', description: 'Searches.', tool: 'search', serverName: 'tickets' },
      ...{ schemaJson: '{"type":"object","properties":{}}', timeoutMs: 60_000 },
      ...{ serverId: tools[0]?.serverId, readOnly: true, idempotent: false },
    },
  ]);
});

it('pages go on behind a name, also one that is no more', async () => {
  await create('all', { mcp_servers: ['tickets', 'files'] });
  const first = await list({ limit: 2 });
  expect([first.tools.map(({ name }) => name), first.hasMore]).toEqual([
    ['files__list', 'tickets__delete'],
    true,
  ]);
  expect(await names({ limit: 2, after: 'tickets__delete' })).toEqual(['tickets__search']);
  expect(await names({ after: 'tickets__deleted' })).toEqual(['tickets__search']);
});

it('all toolsets together have each tool once, always with a prefix, and what one leaves out another has', async () => {
  await create('reading', { mcp_servers: ['tickets'], deny: ['tickets/delete'], prefix: false });
  await create('more', { mcp_servers: ['tickets/search', 'files'] });
  expect(await names({ toolset: 'reading' })).toEqual(['search']);
  expect(await names()).toEqual(['files__list', 'tickets__search']);
  await create('removing', { mcp_servers: ['tickets/delete'] });
  expect(await names()).toEqual(['files__list', 'tickets__delete', 'tickets__search']);
  expect(await call(await find('tickets__delete'))).toEqual({ content: 'delete {}', outcome: 'ok' });
});

it('agents of a toolset are not on the list, and change no names that /v1/toolsets shows', async () => {
  const server = await TestMcpServer.start([{ name: 'clerk' }]);
  await register('agent', server.url);
  await agents.makeAgent(tenant.admin, { key: 'clerk' });
  await create('support', { mcp_servers: ['agent'], agents: ['clerk'] });
  const shown = await agents.call('GET', '/v1/toolsets/support/tools', { as: caller() });
  const ofServer = (shown.body.data as unknown as { name: string; source: { type: string } }[]).filter(
    ({ source }) => source.type === 'mcp_server',
  );
  expect(await names({ toolset: 'support' })).toEqual(ofServer.map(({ name }) => name));
  await server.stop();
});

it('a call gets its arguments through, and its own outcome', async () => {
  await create('support', { mcp_servers: ['tickets'] });
  const tool = await find('tickets__search', 'support');
  const argumentsJson = JSON.stringify({ text: 'Chào "x"', n: 1.5 });
  expect(await call(tool, { toolset: 'support', argumentsJson })).toEqual({
    content: `search ${argumentsJson}`,
    outcome: 'ok',
  });
  await tickets.stop();
  expect(await call(tool, { toolset: 'support' })).toMatchObject({ outcome: 'unreachable' });
});

it('no toolset of others is listed or called, disabled ones neither, also not by those who manage them', async () => {
  await create('named', { mcp_servers: ['tickets'], visibility: 'named' });
  await create('off', { mcp_servers: ['tickets'], enabled: false });
  await create('open', { mcp_servers: ['files'] });
  const { serverId } = await list({ toolset: 'named' }, caller(['named'])).then(({ tools }) => ({
    serverId: tools[0]?.serverId ?? '',
  }));
  const search = { serverId, tool: 'search' };
  const foreign = agents.makeTenant().admin;
  for (const as of [caller(), caller(['open']), caller([]), tenant.admin, foreign]) {
    for (const toolset of ['named', 'off', 'none']) {
      await expect(list({ toolset }, as)).rejects.toMatchObject({ code: 'not_found' });
      await expect(call(search, { toolset }, { as })).rejects.toMatchObject({ code: 'not_found' });
    }
    await expect(call(search, {}, { as })).rejects.toMatchObject({ code: 'not_found' });
    expect(await names({}, as)).not.toContain('tickets__search');
  }
  expect(await names({}, caller([]))).toEqual([]);
  expect(await names({}, caller(['named', 'off']))).toEqual(['tickets__delete', 'tickets__search']);
  expect(tickets.of('tools/call')).toEqual([]);
});

it('a tool that was denied meanwhile is not called', async () => {
  await create('support', { mcp_servers: ['tickets'] });
  const tool = await find('tickets__delete', 'support');
  const body = { deny: ['tickets/delete'] };
  await agents.call('PATCH', '/v1/toolsets/support', { as: tenant.admin, body });
  await expect(call(tool, { toolset: 'support' })).rejects.toMatchObject({ code: 'not_found' });
  expect(tickets.of('tools/call')).toEqual([]);
});

it('a call that is cancelled ends at its server', async () => {
  await create('support', { mcp_servers: ['tickets'] });
  const tool = await find('tickets__search', 'support');
  let ended = false;
  tickets.tools = [
    {
      name: 'search',
      description: 'Searches.',
      annotations: { readOnlyHint: true },
      run: (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            ended = true;
            resolve({ content: [] });
          });
        }),
    },
  ];
  const cancel = new AbortController();
  const calling = call(tool, { toolset: 'support' }, { signal: cancel.signal });
  await eventually(() => expect(tickets.of('tools/call')).toHaveLength(1));
  cancel.abort(new Error('gone'));
  await expect(calling).rejects.toThrow();
  await eventually(() => expect(ended).toBe(true));
});

it('tools beyond the bounds are counted', async () => {
  const many = Array.from({ length: 500 }, (_, index) => ({ name: `tool_${index}` }));
  const large = await TestMcpServer.start(many);
  const servers = Array.from({ length: 11 }, (_, index) => `many-${index}`);
  for (const name of servers) await register(name, large.url);
  await create('large', { mcp_servers: servers });
  expect(await list({ toolset: 'large', limit: 1 })).toMatchObject({ hasMore: true, leftOut: 500 });
  await large.stop();
}, 60_000);
