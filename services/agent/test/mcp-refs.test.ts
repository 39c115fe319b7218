import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { TestMcpServer } from '@gatehouse/test/mcp-server';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

/** The servers and tools that agents name, and those that don't exist. */

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let server: TestMcpServer;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ settings: { EGRESS_ALLOW: '127.0.0.1' } });
});
beforeEach(async () => {
  tenant = agents.makeTenant();
  server = await TestMcpServer.start([{ name: 'search' }, { name: 'send' }]);
});
afterEach(() => server.stop());
afterAll(() => agents.stop());

async function register(name: string, fields: object = {}, as = tenant.admin): Promise<string> {
  const { status, body } = await agents.call('POST', '/v1/mcp/servers', {
    as,
    body: { name, url: server.url, auth: { type: 'none' }, ...fields },
  });
  expect(status).toBe(201);
  return body.id;
}

const create = (refs: string[], fields: object = {}, as = tenant.admin) =>
  agents.call('POST', '/v1/agents', {
    as,
    body: { key: 'clerk', model: 'small', tools: { mcp_servers: refs }, ...fields },
  });

/** The status, the name of the field, and the message up to the hint. */
const problemOf = ({ status, body: { error } }: Awaited<ReturnType<typeof create>>) => [
  status,
  error.code,
  error.param,
  error.message.replace(/ Send allow_missing.*/, ''),
];

const refused = (at: number, message: string) => [
  400,
  'unknown_mcp_server',
  `tools.mcp_servers[${at}]`,
  message,
];

describe('a new agent', () => {
  it('names servers and tools that exist', async () => {
    await register('mail');
    await register('later', { verify: false });
    expect((await create(['mail', 'mail/send', 'later', 'later/any'])).status).toBe(201);
  });

  it('is refused with the nearest names otherwise', async () => {
    await register('mail');
    await register('files', { verify: false });
    expect(problemOf(await create(['mail', 'mial']))).toEqual(
      refused(1, 'There is no MCP server "mial". The nearest names are "mail", "files".'),
    );
    expect(problemOf(await create(['mail/serch']))).toEqual(
      refused(0, 'The MCP server "mail" has no tool "serch". The nearest names are "search", "send".'),
    );
  });

  it('knows no server of another tenant, and names none', async () => {
    await register('mail', {}, agents.makeTenant().admin);
    expect(problemOf(await create(['mail']))).toEqual(refused(0, 'There is no MCP server "mail".'));
  });

  it('may name them with allow_missing, which is not stored', async () => {
    const made = await create(['none', 'none/tool'], { allow_missing: true });
    expect(made.status).toBe(201);
    expect(made.body.tools.mcp_servers).toEqual(['none', 'none/tool']);
    expect(made.body).not.toHaveProperty('allow_missing');
    expect(problemOf(await create(['none'], { key: 'other', allow_missing: false }))[0]).toBe(400);
  });
});

describe('a change', () => {
  it('keeps what is gone since, and is refused for what it adds', async () => {
    const id = await register('mail');
    await create(['mail/send']);
    await agents.call('DELETE', `/v1/mcp/servers/${id}`, { as: tenant.admin });
    const patch = (mcpServers: string[], fields: object = {}) =>
      agents.patch(tenant.admin, 'clerk', { tools: { mcp_servers: mcpServers }, ...fields });
    expect((await patch(['mail/send'])).status).toBe(200);
    expect(problemOf(await patch(['mail/send', 'mail']))).toEqual(
      refused(1, 'There is no MCP server "mail".'),
    );
    const { status, body } = await patch(['mail'], { allow_missing: true });
    expect([status, body.tools.mcp_servers]).toEqual([200, ['mail']]);
  });
});

describe('the list of tools', () => {
  async function listed() {
    const chat = await agents.peer('chat');
    const { body } = await agents.get(tenant.admin, 'clerk');
    const request = { agentId: body.id, revisionOnly: false };
    return chat.call('listTools', request, await agents.actingFor(tenant.user));
  }

  it('names the servers and tools that are gone, and neither disabled nor unlisted ones', async () => {
    const gone = await register('gone');
    const disabled = await register('disabled');
    await register('mail');
    await register('later', { verify: false, url: 'http://127.0.0.1:9/' });
    await create(['gone', 'gone/send', 'disabled', 'mail/send', 'mail/search', 'later/any']);
    const before = await listed();
    expect(before.missing).toEqual([]);
    await agents.call('DELETE', `/v1/mcp/servers/${gone}`, { as: tenant.admin });
    await agents.call('PATCH', `/v1/mcp/servers/${disabled}`, { as: tenant.admin, body: { enabled: false } });
    const { missing, revision } = await listed();
    expect(missing).toEqual(['gone', 'gone/send']);
    expect(revision).not.toBe(before.revision);
    await agents.rows(
      `update agent.mcp_servers set tools = '[]', tools_expire_at = now() + interval '1 hour' where tenant_id = $1 and name = 'mail'`,
      [tenant.id],
    );
    expect((await listed()).missing).toEqual(['gone', 'gone/send', 'mail/send', 'mail/search']);
  });
});
