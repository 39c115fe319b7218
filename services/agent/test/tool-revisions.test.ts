import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ListToolsResponse } from '@gatehouse/proto/agent/v1/agent';
import type { Service } from '@gatehouse/shell/service';
import { TestMcpServer } from '@gatehouse/test/mcp-server';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

const path = '/v1/mcp/servers';
let agents: AgentServiceUnderTest;
let replica: Service;
let tenant: TestTenant;
let server: TestMcpServer;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ settings: { EGRESS_ALLOW: '127.0.0.1' } });
  replica = await agents.startReplica();
});
beforeEach(async () => {
  tenant = agents.makeTenant();
  server = await TestMcpServer.start([
    { name: 'a', description: 'Reads.' },
    { name: 'b', description: 'Other.' },
  ]);
});
afterEach(() => server.stop());
afterAll(async () => {
  await replica.stop();
  await agents.stop();
});

async function register(name: string): Promise<string> {
  const made = await agents.call('POST', path, { as: tenant.admin, body: { name, url: server.url } });
  return made.body.id;
}
/** By the other replica, which shares nothing with the one that lists. */
const change = (id: string, body: object) =>
  agents.call('PATCH', `${path}/${id}`, { as: tenant.admin, body, port: replica.httpPort });
const refresh = (id: string) =>
  agents.call('POST', `${path}/${id}/refresh`, { as: tenant.admin, port: replica.httpPort });

async function list(agentId: string, revisionOnly = false): Promise<ListToolsResponse> {
  const chat = await agents.peer('chat');
  return chat.call('listTools', { agentId, revisionOnly }, await agents.actingFor(tenant.user));
}
const makeAgent = async (servers: string[]) =>
  (await agents.makeAgent(tenant.admin, { tools: { mcp_servers: servers } })).id;

describe('the revision of the tools of an agent', () => {
  it('comes without the tools, and stays while nothing changes, also when a server is listed again', async () => {
    const id = await register('s');
    const agentId = await makeAgent(['s']);
    const { revision, tools } = await list(agentId);
    expect(tools).toHaveLength(2);
    expect(await list(agentId, true)).toEqual({ revision, tools: [], missing: [] });
    expect((await refresh(id)).status).toBe(200);
    expect(await list(agentId, true)).toEqual({ revision, tools: [], missing: [] });
    expect((await list(await makeAgent(['s']))).revision).toBe(revision);
  });

  it('is another one right after each change, with the tools as they are then', async () => {
    const [id, other] = [await register('s'), await register('t')];
    const agentId = await makeAgent(['s', 't']);
    const seen = new Set<string>();
    const shown = async (): Promise<string[]> => {
      const { revision, tools } = await list(agentId);
      expect(seen).not.toContain(revision);
      expect((await list(agentId, true)).revision).toBe(revision);
      seen.add(revision);
      return tools.map(({ name, description, timeoutMs }) => `${name} ${description} ${timeoutMs}`);
    };
    const ofT = ['t__a Reads. 60000', 't__b Other. 60000'];
    expect(await shown()).toEqual(['s__a Reads. 60000', 's__b Other. 60000', ...ofT]);
    await change(id, { tool_filter: { deny: ['b'] } });
    expect(await shown()).toEqual(['s__a Reads. 60000', ...ofT]);
    await change(id, { timeout_ms: 7_000 });
    expect(await shown()).toEqual(['s__a Reads. 7000', ...ofT]);
    server.tools = [{ name: 'a', description: 'Deletes.' }, { name: 'c' }];
    await refresh(id);
    expect(await shown()).toEqual(['s__c  7000', ...ofT]);
    await change(id, { trust: 'follow' });
    expect(await shown()).toEqual(['s__a Deletes. 7000', 's__c  7000', ...ofT]);
    await change(id, { name: 'u' });
    expect(await shown()).toEqual(ofT);
    await change(other, { enabled: false });
    expect(await shown()).toEqual([]);
  });

  it('is another one after a change by a release that has none', async () => {
    await register('s');
    const agentId = await makeAgent(['s']);
    const before = await list(agentId);
    await agents.rows(
      `update agent.mcp_servers set trust = 'follow',
         tools = '[{"name":"old","description":"","inputSchema":{},"readOnly":false,"idempotent":false}]'
       where tenant_id = $1`,
      [tenant.id],
    );
    const after = await list(agentId);
    expect(after.tools.map(({ tool }) => tool)).toEqual(['old']);
    expect(after.revision).not.toBe(before.revision);
  });
});
