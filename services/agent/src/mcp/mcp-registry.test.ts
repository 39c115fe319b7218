import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AllowList } from '@gatehouse/egress/allow-list';
import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { said, TestMcpServer, type TestTool } from '@gatehouse/test/mcp-server';
import { McpRegistry } from './mcp-registry.ts';
import type { KnownServer } from './mcp-server.ts';
import type { McpTool } from './mcp-tool.ts';

const open = () => Promise.resolve({ loginId: null, headers: {}, tokens: null });
const never = new AbortController().signal;

let egress: Egress;
let registry: McpRegistry;
let noted: string[];
let expired: number;
const started: TestMcpServer[] = [];

beforeEach(() => {
  egress = new Egress({ guard: new Guard(new AllowList(['127.0.0.1'])) });
  noted = [];
  expired = 0;
  registry = new McpRegistry({
    egress,
    record: {
      setTools: (_server, { tools }) => Promise.resolve(tools),
      setConnected: () => Promise.resolve(),
      setFailure: (_server, { status }) => Promise.resolve(void noted.push(status)),
      expireTools: () => Promise.resolve(void (expired += 1)),
    },
    // Each server here is for all.
    accessOf: open,
    lists: { findList: () => Promise.resolve(null), setList: () => Promise.resolve([]) },
    log: createLogger('test', 'silent'),
  });
});
afterEach(async () => {
  await registry.stop();
  await egress.stop();
  for (const each of started.splice(0)) await each.stop();
});

async function serve(
  tools: TestTool[],
  fields: Partial<KnownServer> = {},
): Promise<[TestMcpServer, KnownServer]> {
  const server = await TestMcpServer.start(tools);
  started.push(server);
  const known: KnownServer = {
    ...{ id: newId(), tenantId: 'tenant', connectionId: newId(), name: 's', url: server.url },
    ...{
      transport: 'streamable_http',
      auth: { type: 'none' },
      secrets: null,
      enabled: true,
      timeoutMs: 3_000,
    },
    ...{
      toolFilter: { allow: [], deny: [] },
      status: 'connected',
      statusReason: null,
      ...{ clientIssuer: null, otherIssuer: null },
      protocolVersion: null,
    },
    ...{
      trust: 'pin',
      accepted: [],
      tools: [],
      toolsRevision: '',
      toolsUpdatedAt: null,
      isStale: false,
      retryInS: 0,
      createdAt: new Date(),
    },
    updatedAt: new Date(),
    ...fields,
  };
  return [server, known];
}

const toolOf = (name: string, readOnly = false): McpTool => ({
  ...{ name, description: '', inputSchema: { type: 'object' }, readOnly, idempotent: false },
});
/** Not a timer, which would hold up the end of the tests. */
const hang = (): Promise<never> => new Promise(() => undefined);
const call = (server: KnownServer, tool: McpTool) =>
  registry.call(server, { tool, args: {}, user: null }, never);

describe('a server', () => {
  it('that sends notices without end is heard once', async () => {
    const [server, known] = await serve([{ name: 'a' }]);
    await registry.refresh(known, null);
    for (let n = 0; n < 500; n += 1) server.announceTools();
    await eventually(() => expect(expired).toBe(1));
    await sleep(200);
    expect(expired).toBe(1);
  });

  it('that refuses one call keeps its others, and is not noted', async () => {
    const [server, known] = await serve([{ name: 'a' }, { name: 'b', run: () => said('fine') }]);
    await registry.refresh(known, null);
    server.intercept = ({ name }, response) => {
      if (name !== 'a') return false;
      response.writeHead(403).end();
      return true;
    };
    for (let n = 0; n < 5; n += 1)
      await expect(call(known, toolOf('a'))).rejects.toMatchObject({ kind: 'unauthorized' });
    expect((await call(known, toolOf('b'))).text).toBe('fine');
    expect(noted).toEqual([]);
  });

  it('that refuses the connection is noted', async () => {
    const [server, known] = await serve([]);
    server.intercept = (_, response) => {
      response.writeHead(401).end();
      return true;
    };
    await expect(call(known, toolOf('a'))).rejects.toMatchObject({ kind: 'unauthorized' });
    expect(noted).toEqual(['needs_auth']);
  });

  it.each([
    [400, false, 1],
    [400, true, 2],
    [404, false, 2],
  ])(
    'that answers a call with %d gets it again only if that does no harm',
    async (status, readOnly, times) => {
      const [server, known] = await serve([{ name: 'pay' }]);
      await registry.refresh(known, null);
      server.intercept = ({ method }, response) => {
        if (method !== 'tools/call') return false;
        response.writeHead(status).end();
        return true;
      };
      await expect(call(known, toolOf('pay', readOnly))).rejects.toThrow();
      expect(server.of('tools/call')).toHaveLength(times);
    },
  );

  it('that hangs holds up no other server of its tenant', async () => {
    const [, slow] = await serve([{ name: 'a', run: hang }]);
    const [, quick] = await serve([{ name: 'b', run: () => said('at once') }]);
    const waiting = Array.from({ length: 40 }, () => call(slow, toolOf('a')).catch(() => undefined));
    await sleep(300);
    const began = performance.now();
    expect((await call(quick, toolOf('b'))).text).toBe('at once');
    expect(performance.now() - began).toBeLessThan(1_500);
    await Promise.all(waiting);
  });

  it('that hangs is busy for calls that are too many to wait', async () => {
    const [, slow] = await serve([{ name: 'a', run: hang }]);
    const stop = new AbortController();
    const waiting = Array.from({ length: 16 + 1_000 }, () =>
      registry.call(slow, { tool: toolOf('a'), args: {}, user: null }, stop.signal).catch(String),
    );
    await expect(call(slow, toolOf('a'))).rejects.toMatchObject({ kind: 'busy' });
    stop.abort(new Error('stopped'));
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['Error: stopped']));
    expect(noted).toEqual([]);
  });

  it('with more tools than it may have is listed up to the limit', async () => {
    const [, known] = await serve(Array.from({ length: 600 }, (_, n) => ({ name: `t${n}` })));
    expect((await registry.refresh(known, null)).tools).toHaveLength(500);
  });
});
