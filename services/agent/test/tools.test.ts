import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallToolResponse, Tool } from '@gatehouse/proto/agent/v1/agent';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import { said, TestMcpServer, type McpEra, type TestTool } from '@gatehouse/test/mcp-server';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

const token = 'sk-secret';
let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let server: TestMcpServer;
const started: TestMcpServer[] = [];

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ settings: { EGRESS_ALLOW: '127.0.0.1' } });
});
beforeEach(async () => {
  tenant = agents.makeTenant();
  server = await start([{ name: 'b' }, { name: 'a' }, { name: 'c', annotations: { readOnlyHint: true } }]);
});
afterEach(async () => {
  for (const each of started.splice(0)) await each.stop();
});
afterAll(() => agents.stop());

async function start(tools: TestTool[], era?: McpEra): Promise<TestMcpServer> {
  const made = await TestMcpServer.start(tools, era);
  started.push(made);
  return made;
}

async function register(name: string, fields: object = {}, url = server.url): Promise<string> {
  const auth = { type: 'bearer', token };
  const body = { name, url, auth, ...fields };
  const made = await agents.call('POST', '/v1/mcp/servers', { as: tenant.admin, body });
  expect(made.status).toBe(201);
  return made.body.id;
}
const makeAgent = async (servers: string[]) =>
  (await agents.makeAgent(tenant.admin, { tools: { mcp_servers: servers } })).id;

async function listed(agentId: string, as: As = tenant.user): Promise<Tool[]> {
  const chat = await agents.peer('chat');
  return (await chat.call('listTools', { agentId, revisionOnly: false }, await agents.actingFor(as))).tools;
}
const names = async (agentId: string) => (await listed(agentId)).map(({ name }) => name);

interface Asked {
  args?: object;
  as?: As;
  signal?: AbortSignal;
}

async function call(agentId: string, name: string, asked: Asked = {}): Promise<CallToolResponse> {
  const { args = {}, as = tenant.user, signal } = asked;
  const tool = (await listed(agentId, as)).find((each) => each.name === name);
  const chat = await agents.peer('chat');
  return chat.call(
    'callTool',
    { agentId, serverId: tool?.serverId ?? '', tool: tool?.tool ?? '', argumentsJson: JSON.stringify(args) },
    { ...(await agents.actingFor(as)), deadlineMs: 10_000, signal },
  );
}

describe('the tools of an agent', () => {
  it('come in a stable order, with what a call needs', async () => {
    const [first, second] = [await register('first'), await register('second', { timeout_ms: 5_000 })];
    const id = await makeAgent(['second', 'first/c', 'first/a', 'unknown']);
    expect(await names(id)).toEqual(['second__a', 'second__b', 'second__c', 'first__a', 'first__c']);
    server.tools.reverse();
    for (const serverId of [first, second])
      await agents.call('POST', `/v1/mcp/servers/${serverId}/refresh`, { as: tenant.admin });
    const tools = await listed(id);
    expect(tools.map(({ name }) => name)).toEqual(await names(id));
    expect(tools[2]).toEqual({
      ...{ name: 'second__c', description: '', schemaJson: '{"type":"object","properties":{}}', tool: 'c' },
      ...{ serverId: second, serverName: 'second', repeatable: true, timeoutMs: 5_000, executor: 'agent' },
    });
  });

  it('end where they are larger than providers accept, whatever the number of servers', async () => {
    const large = { type: 'object' as const, properties: { text: { description: 'x'.repeat(60_000) } } };
    const { url } = await start(['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, inputSchema: large })));
    const ofServers = (indexes: number[]): string[] =>
      indexes.flatMap((index) => ['a', 'b', 'c', 'd', 'e'].map((name) => `server-${index}__${name}`));
    const all = Array.from({ length: 10 }, (_, index) => `server-${index}`);
    for (const name of all) await register(name, {}, url);
    const agent = await makeAgent(['first-unknown', ...all.toReversed()]);
    const offered = await names(agent);
    expect(offered).toEqual(ofServers([9, 8, 7, 6, 5, 4, 3]).slice(0, offered.length));
    expect(offered.length).toBe(34);
    const withLast = await makeAgent([...all.slice(0, 6), 'server-9/none', 'server-8', 'server-7/none']);
    expect(await names(withLast)).toHaveLength(34);
    const single = await makeAgent([...all.map((name) => `${name}/none`), 'server-3/c']);
    expect(await names(single)).toEqual(['server-3__c']);
  });

  it('are those that the server and its filter offer, of servers that are enabled', async () => {
    await register('filtered', { tool_filter: { allow: ['a', 'b'], deny: ['b'] } });
    await register('off', { enabled: false, verify: false });
    expect(await names(await makeAgent(['filtered', 'off']))).toEqual(['filtered__a']);
  });

  it('are listed again after the server said that they have changed', async () => {
    for (const era of ['current', 'sessions'] as const) {
      server = await start([{ name: 'a' }], era);
      await register(era);
      const id = await makeAgent([era]);
      await call(id, `${era}__a`);
      server.tools = [{ name: 'new' }];
      await eventually(async () => {
        server.announceTools();
        expect(await names(id)).toEqual([`${era}__new`]);
      });
    }
  });

  it('stay those from before while the server is away', async () => {
    await register('away');
    const id = await makeAgent(['away']);
    await agents.rows('update agent.mcp_servers set tools_expire_at = now() where tenant_id = $1', [
      tenant.id,
    ]);
    await server.stop();
    expect(await names(id)).toEqual(['away__a', 'away__b', 'away__c']);
  });
});

describe('a call of a tool', () => {
  it('reaches the server with the secret and its arguments unchanged', async () => {
    await register('mail');
    const id = await makeAgent(['mail']);
    const args = { text: 'Chào \u2028 "x"', n: 1.5, list: [null, { z: 1, a: 2 }] };
    expect(await call(id, 'mail__a', { args })).toEqual({
      content: `a ${JSON.stringify(args)}`,
      outcome: 'ok',
    });
    expect(server.of('tools/call').at(-1)?.headers.authorization).toBe(`Bearer ${token}`);
  });

  it('begins a session anew that the server does not know any more', async () => {
    server = await start([{ name: 'a' }], 'sessions');
    await register('old');
    const id = await makeAgent(['old']);
    expect((await call(id, 'old__a')).outcome).toBe('ok');
    expect((await call(id, 'old__a')).outcome).toBe('ok');
    const begun = server.of('initialize').length;
    await server.endSessions();
    expect((await call(id, 'old__a')).outcome).toBe('ok');
    expect(server.of('initialize')).toHaveLength(begun + 1);
  });

  it('says what the tool says, as text, cut where it is long', async () => {
    server.tools = [
      { name: 'a', run: () => ({ content: [{ type: 'text', text: 'no such file' }], isError: true }) },
      { name: 'b', run: () => said('x'.repeat(1_000_000)) },
      {
        name: 'c',
        run: () => ({
          content: [{ type: 'image', data: 'aaaa', mimeType: 'image/png' }, ...said('seen').content],
        }),
      },
      { name: 'd', run: () => said('x'.repeat(5_000_000)) },
    ];
    await register('says');
    const id = await makeAgent(['says']);
    expect(await call(id, 'says__a')).toEqual({ content: 'no such file', outcome: 'error' });
    const long = await call(id, 'says__b');
    expect([long.content.length <= 200_000, long.content.endsWith('[1000000 characters, cut]')]).toEqual([
      true,
      true,
    ]);
    expect((await call(id, 'says__c')).content).toBe(
      '[image image/png, 4 characters of base64, left out]\nseen',
    );
    expect((await call(id, 'says__d')).outcome).toBe('too_large');
  });

  it('ends when its time is over, or when its caller has gone', async () => {
    const ended: string[] = [];
    const hang = (name: string): TestTool => ({
      name,
      run: (_args, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            ended.push(name);
            resolve(said('too late'));
          });
        }),
    });
    server.tools = [hang('slow'), hang('left')];
    await register('hangs', { timeout_ms: 800 });
    const id = await makeAgent(['hangs']);
    expect(await call(id, 'hangs__slow')).toMatchObject({ outcome: 'timeout' });
    await eventually(() => expect(ended).toEqual(['slow']));
    const leaving = new AbortController();
    const left = call(id, 'hangs__left', { signal: leaving.signal });
    await eventually(() => expect(server.of('tools/call').at(-1)?.name).toBe('left'));
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await eventually(() => expect(ended).toEqual(['slow', 'left']));
  });

  it('is answered at once while a server is away, and works again afterwards', async () => {
    const { url } = server;
    const id = await register('flaky');
    const agentId = await makeAgent(['flaky']);
    server.intercept = (_request, response) => {
      response.writeHead(503).end();
      return true;
    };
    expect((await call(agentId, 'flaky__a')).outcome).toBe('unreachable');
    const asked = server.requests.length;
    expect((await call(agentId, 'flaky__a')).outcome).toBe('unreachable');
    expect(server.requests).toHaveLength(asked);
    server.intercept = () => false;
    await agents.rows('update agent.mcp_servers set retry_at = now() where id = $1', [id]);
    expect(server.url).toBe(url);
    expect((await call(agentId, 'flaky__a')).outcome).toBe('ok');
    expect(await agents.rows('select status, retry_at from agent.mcp_servers where id = $1', [id])).toEqual([
      { status: 'connected', retry_at: null },
    ]);
  });

  it('does not take the server away from others when it fails by itself', async () => {
    const id = await register('odd');
    const agentId = await makeAgent(['odd']);
    server.intercept = ({ name }, response) => {
      if (name === 'b') response.writeHead(500).end();
      return name === 'b';
    };
    expect((await call(agentId, 'odd__b')).outcome).toBe('invalid');
    expect((await call(agentId, 'odd__a')).outcome).toBe('ok');
    expect(await agents.rows('select failures from agent.mcp_servers where id = $1', [id])).toEqual([
      { failures: 0 },
    ]);
  });

  it('goes on while another call of the same server fails', async () => {
    server = await start(
      [
        {
          name: 'slow',
          run: async () => {
            await new Promise((resolve) => setTimeout(resolve, 500));
            return said('done');
          },
        },
        { name: 'b' },
      ],
      'sessions',
    );
    await register('shared');
    const agentId = await makeAgent(['shared']);
    server.intercept = ({ name }, response) => {
      if (name === 'b') response.writeHead(500).end();
      return name === 'b';
    };
    const slow = call(agentId, 'shared__slow');
    await eventually(() => expect(server.of('tools/call')).toHaveLength(1));
    expect((await call(agentId, 'shared__b')).outcome).toBe('invalid');
    expect(await slow).toEqual({ content: 'done', outcome: 'ok' });
  });

  it('is not harmed by a caller that left while it connected', async () => {
    await register('slow-start', { verify: false });
    await agents.rows(
      `update agent.mcp_servers set status = 'connected', tools_expire_at = now() + interval '1 hour',
         tools = '[{"name":"a","description":"","inputSchema":{"type":"object"},"readOnly":false,"idempotent":false}]'
       where tenant_id = $1`,
      [tenant.id],
    );
    const agentId = await makeAgent(['slow-start']);
    const waiting: (() => void)[] = [];
    const { promise: begun, resolve: begin } = Promise.withResolvers<undefined>();
    server.hold = () => {
      begin(undefined);
      return new Promise((resolve) => waiting.push(resolve));
    };
    const leaving = new AbortController();
    const left = call(agentId, 'slow-start__a', { signal: leaving.signal });
    await begun;
    const stays = call(agentId, 'slow-start__a');
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    server.hold = () => Promise.resolve();
    for (const go of waiting) go();
    expect((await stays).outcome).toBe('ok');
  });

  it('is refused for other agents, tenants and tools', async () => {
    const serverId = await register('own', { tool_filter: { deny: ['b'] } });
    const [with_, without] = [await makeAgent(['own/a', 'own/b']), await makeAgent([])];
    const chat = await agents.peer('chat');
    const foreign = agents.makeTenant();
    for (const [agentId, tool, as] of [
      [without, 'a', tenant.user],
      [with_, 'b', tenant.user],
      [with_, 'c', tenant.user],
      [with_, 'a', foreign.admin],
    ] as const)
      await expect(
        chat.call('callTool', { agentId, serverId, tool, argumentsJson: '{}' }, await agents.actingFor(as)),
      ).rejects.toMatchObject({ code: 'not_found' });
  });

  it('does not answer questions of the server', async () => {
    server.tools = [{ name: 'asks' }];
    await register('asks');
    const id = await makeAgent(['asks']);
    server.intercept = ({ method, id: requestId }, response) => {
      if (method !== 'tools/call') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const result = {
        resultType: 'input_required',
        inputRequests: { q: { method: 'sampling/createMessage', params: {} } },
      };
      response.end(JSON.stringify({ jsonrpc: '2.0', id: requestId, result }));
      return true;
    };
    expect((await call(id, 'asks__asks')).outcome).toBe('invalid');
  });
});
