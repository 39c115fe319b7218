import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AllowList } from '@gatehouse/egress/allow-list';
import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { eventually } from '@gatehouse/test/eventually';
import { longestBlock } from '@gatehouse/test/longest-block';
import { McpConnection } from './connection.ts';
import type { McpTool } from './mcp-tool.ts';
import { MessageReader } from './message-reader.ts';

/** Ten times as long as the event loop may be held up. */
const blockMs = 500;
const timeoutMs = 120_000;
const tool: McpTool = {
  ...{ name: 'a', description: '', inputSchema: { type: 'object' }, readOnly: false, idempotent: false },
};

interface Got {
  id?: unknown;
  method?: string;
}
type Answer = (response: ServerResponse, got: Got) => void;

let egress: Egress;
const servers: Server[] = [];
const connections: McpConnection[] = [];

beforeEach(() => {
  egress = new Egress({ guard: new Guard(new AllowList(['127.0.0.1'])) });
});
afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.close();
  await egress.stop();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const resultOf = (id: unknown, result: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
/** A body whose id is written when it is sent, since it may have megabytes. */
function json(result: string): Answer {
  const rest = Buffer.from(`,"result":${result}}`);
  return (response, { id }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)}`);
    response.end(rest);
  };
}
const events =
  (write: (got: Got) => string, end = true): Answer =>
  (response, got) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(write(got));
    if (end) response.end();
  };
const event = (data: string): string => `data: ${data}\n\n`;
const complete = (fields: string): string => `{"resultType":"complete",${fields}}`;
const listOf = (tools: string, more = ''): string =>
  complete(`"ttlMs":0,"cacheScope":"private",${more}"tools":${tools}`);
const repeated = (text: string, times: number): string => Array<string>(times).fill(text).join(',');

/** A list whose every page has another cursor. */
const endless =
  (page: string): Answer =>
  (response, got) =>
    json(listOf(page, `"nextCursor":"after ${JSON.stringify(got.id).replaceAll('"', '')}",`))(response, got);

/** A server of 2026 that answers methods of the protocol as given. */
async function connect(answers: Record<string, Answer>): Promise<{ connection: McpConnection; got: Got[] }> {
  const got: Got[] = [];
  const discover = json(
    complete(
      '"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"',
    ),
  );
  const all: Record<string, Answer> = { 'server/discover': discover, ...answers };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces).toString();
    const message = body === '' ? {} : (JSON.parse(body) as Got);
    got.push(message);
    const answer = all[message.method ?? (message.id === undefined ? 'stream' : 'answer')];
    if (answer === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end();
    else answer(response, message);
  };
  const server = createServer((request, response) => void serve(request, response));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const connection = await McpConnection.connect(
    {
      ...{ egress, reader: new MessageReader(), tenantId: 'tenant', url, transport: 'streamable_http' },
      ...{ access: { headers: {}, tokens: null }, timeoutMs },
    },
    AbortSignal.timeout(timeoutMs),
  );
  connections.push(connection);
  return { connection, got };
}

const never = new AbortController().signal;

/** The outcome of a call or a list, and the longest time for which it held up the event loop. */
async function outcomeOf(work: () => Promise<unknown>): Promise<{ outcome: unknown; blockedMs: number }> {
  let outcome: unknown;
  const blockedMs = await longestBlock(async () => {
    outcome = await work().then(
      () => 'ok',
      (error: unknown) => (error as { kind?: unknown }).kind,
    );
  });
  return { outcome, blockedMs };
}

const properties = (count: number): string =>
  `{${Array.from({ length: count }, (_, n) => `"property${n}":{"type":"string"}`).join(',')}}`;
const legalTools = `[${Array.from(
  { length: 100 },
  (_, n) => `{"name":"t${n}","inputSchema":{"type":"object","properties":${properties(300)}}}`,
).join(',')}]`;
const manyProperties = Array.from({ length: 26_000 }, (_, n) => `"p${n}":{"t":1}`).join(',');
const numbers = repeated('1', 79_000);
const toolWith = (fields: string): string => `{"name":"a",${fields}}`;
const differentObjects = Array.from({ length: 26_000 }, (_, n) => `{"a${n}":1,"b${n}":2}`).join(',');

const initialize = json(
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}',
);
/** These answers make it a server of 2025. */
const legacy: Record<string, Answer> = {
  'server/discover': (response) => response.writeHead(404).end(),
  initialize,
};

describe('the event loop goes on during', () => {
  it.each<[string, string, string]>([
    ['90 kB of wrong parts', `"content":[${repeated('{}', 30_000)}]`, 'invalid'],
    ['3.9 MB of wrong parts', `"content":[${repeated('{}', 1_300_000)}]`, 'too_large'],
    ['parts of a wrong kind', `"content":[${repeated('{"type":"text","text":1}', 20_000)}]`, 'invalid'],
    ['lists in lists', `"content":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`, 'too_large'],
    ['52,000 members', `"content":[],${differentObjects.slice(1, -1).replaceAll('},{', ',')}`, 'ok'],
    ['26,000 different objects', `"content":[],"structuredContent":[${differentObjects}]`, 'ok'],
    [
      'texts that differ from the structured content at their ends',
      `"content":[${repeated(`{"type":"text","text":"[${'{},'.repeat(39_000)}1]"}`, 30)}],"structuredContent":[${'{},'.repeat(39_000)}2]`,
      'ok',
    ],
    ['3 MB of escapes', `"content":[{"type":"text","text":"${'\\n\\"'.repeat(750_000)}"}]`, 'ok'],
  ])('a call that is answered with %s', async (_name, fields, expected) => {
    for (const answer of [
      json(complete(fields)),
      events(({ id }) => event(resultOf(id, complete(fields)))),
    ]) {
      const { connection } = await connect({ 'tools/call': answer });
      const { outcome, blockedMs } = await outcomeOf(() => connection.callTool(tool, {}, never));
      expect(outcome).toBe(expected);
      expect(blockedMs).toBeLessThan(blockMs);
    }
  });

  it.each([
    ['3.9 MB of wrong tools', repeated('{}', 1_300_000), 'too_large'],
    ['30,000 wrong tools', repeated('{}', 30_000), 'invalid'],
    ['100 tools of 300 properties', legalTools.slice(1, -1), 'ok'],
    [
      'a tool that requires 79,000 numbers',
      toolWith(`"inputSchema":{"type":"object","required":[${numbers}]}`),
      'ok',
    ],
    [
      'a tool of 26,000 properties',
      toolWith(`"inputSchema":{"type":"object","properties":{${manyProperties}}}`),
      'ok',
    ],
    [
      'a tool whose output requires 79,000 numbers',
      toolWith(`"inputSchema":{"type":"object"},"outputSchema":{"required":[${numbers}]}`),
      'ok',
    ],
    [
      'a tool of 79,000 wrong titles',
      toolWith(`"inputSchema":{"type":"object","$schema":{}},"annotations":{"title":[${numbers}]}`),
      'ok',
    ],
  ])('a list of %s', async (_name, tools, expected) => {
    for (const era of [{}, legacy]) {
      const { connection } = await connect({ ...era, 'tools/list': json(listOf(`[${tools}]`)) });
      const { outcome, blockedMs } = await outcomeOf(() => connection.listTools(never));
      expect(outcome).toBe(expected);
      expect(blockedMs).toBeLessThan(blockMs);
    }
  });

  it('large answers to many calls at once', async () => {
    const { connection } = await connect({
      'tools/call': json(complete(`"structuredContent":[${differentObjects}]`)),
    });
    const calls = Array.from({ length: 16 }, () => connection.callTool(tool, {}, never));
    const { outcome, blockedMs } = await outcomeOf(() => Promise.all(calls));
    expect(outcome).toBe('ok');
    expect(blockedMs).toBeLessThan(blockMs);
  });

  it('5,000 answers to nothing before the right one', async () => {
    const strange = event('{"jsonrpc":"2.0","id":-1,"result":{}}');
    const { connection } = await connect({
      'tools/call': events(({ id }) => strange.repeat(5_000) + event(resultOf(id, complete('"content":[]')))),
    });
    const { outcome, blockedMs } = await outcomeOf(() => connection.callTool(tool, {}, never));
    expect(outcome).toBe('ok');
    expect(blockedMs).toBeLessThan(blockMs);
    const other = await connect({ 'tools/call': events(() => strange.repeat(11_000)) });
    expect((await outcomeOf(() => other.connection.callTool(tool, {}, never))).outcome).toBe('too_large');
  });
});

describe('a list', () => {
  it('has schemas as they are, and names tools whose schema is above 64 KiB', async () => {
    const schema = {
      ...{ type: 'object', required: ['a'], additionalProperties: false },
      properties: { a: { $ref: '#/$defs/x' }, b: true },
      $defs: { x: { enum: ['"', '\\', null, 1] } },
    };
    const large = (times: number) => ({ type: 'object', description: 'x'.repeat(times) });
    const tools = [
      { name: 'first', inputSchema: schema },
      { name: 'large', inputSchema: large(65_000) },
      { name: 'too large', inputSchema: large(66_000) },
      { name: 'last', inputSchema: { type: 'object' } },
    ];
    for (const era of [{}, legacy]) {
      const { connection } = await connect({ ...era, 'tools/list': json(listOf(JSON.stringify(tools))) });
      const listed = (await connection.listTools(never)).tools;
      expect(listed.map(({ name, unusable }) => [name, unusable])).toEqual([
        ['first', null],
        ['large', null],
        ['too large', 'input_schema is larger than 64 KiB.'],
        ['last', null],
      ]);
      expect(listed[0]?.inputSchema).toEqual(schema);
      expect(listed[2]?.inputSchema).toEqual({ not: {} });
    }
  });

  it('leaves out elements that are no tools, and tools whose schemas are none fit nothing', async () => {
    const tools = [
      ...[null, 7, {}, { name: null, inputSchema: {} }],
      ...[{ name: 'without' }, { name: 'null', inputSchema: null, description: null, annotations: null }],
      ...[
        { name: 'empty', inputSchema: {} },
        { name: 'text', inputSchema: 'x' },
        { name: 'list', inputSchema: [] },
      ],
    ];
    const { connection } = await connect({
      'tools/list': json(listOf(JSON.stringify(tools), '"nextCursor":null,')),
    });
    const listed = (await connection.listTools(never)).tools;
    expect(listed.map(({ name, inputSchema }) => [name, inputSchema])).toEqual([
      ...[
        ['without', {}],
        ['null', {}],
        ['empty', {}],
      ],
      ...[
        ['text', { not: {} }],
        ['list', { not: {} }],
      ],
    ]);
    expect(listed.map(({ unusable }) => unusable).slice(3)).toEqual([
      'input_schema is not a schema.',
      'input_schema is not a schema.',
    ]);
    const none = await connect({ 'tools/list': json(listOf('[{},{}]')) });
    await expect(none.connection.listTools(never)).rejects.toThrow();
  });

  it.each(['""', 'null', '"more"'])('ends with the cursor %s, empty or as before', async (cursor) => {
    const page = '[{"name":"a","inputSchema":{"type":"object"}}]';
    const { connection, got } = await connect({
      'tools/list': json(listOf(page, `"nextCursor":${cursor},`)),
    });
    expect((await connection.listTools(never)).tools.map(({ name }) => name)).toEqual(['a']);
    const lists = got.filter(({ method }) => method === 'tools/list');
    expect(lists).toHaveLength(cursor === '"more"' ? 2 : 1);
  });

  it('counts what was read, not what was kept', async () => {
    const page = `[${repeated(JSON.stringify({ name: 'same', inputSchema: { type: 'object' }, _meta: { x: 'x'.repeat(30_000) } }), 50)}]`;
    const { connection, got } = await connect({ 'tools/list': endless(page) });
    expect((await connection.listTools(never)).tools.map(({ name }) => name)).toEqual(['same']);
    expect(got.filter(({ method }) => method === 'tools/list')).toHaveLength(3);
    const small = `[${repeated('{"name":"same","inputSchema":{"type":"object"}}', 100)}]`;
    const second = await connect({ 'tools/list': endless(small) });
    await second.connection.listTools(never);
    expect(second.got.filter(({ method }) => method === 'tools/list')).toHaveLength(5);
  });
});

describe('a result', () => {
  const data = { projects: [{ name: 'Aquila', id: 41 }] };
  it.each([
    ['structured content alone', { content: [], structuredContent: data }, JSON.stringify(data)],
    [
      'a text beside it',
      { content: [{ type: 'text', text: '1 item.' }], structuredContent: data },
      `1 item.\n${JSON.stringify(data)}`,
    ],
    [
      'its text, written otherwise',
      { content: [{ type: 'text', text: JSON.stringify(data, null, 2) }], structuredContent: data },
      JSON.stringify(data, null, 2),
    ],
    [
      'its text, with members in another order',
      {
        content: [{ type: 'text', text: '{ "b": [1, {"c": "\\u00fc"}], "a": 1.0 }' }],
        structuredContent: { a: 1, b: [1, { c: 'ü' }] },
      },
      '{ "b": [1, {"c": "\\u00fc"}], "a": 1.0 }',
    ],
    [
      'a text that is almost the same',
      { content: [{ type: 'text', text: '{"a":[1,2]}' }], structuredContent: { a: [1] } },
      '{"a":[1,2]}\n{"a":[1]}',
    ],
    [
      'a part of an unknown type',
      { content: [{ type: 'text', text: 'x' }, { type: 'hologram' }] },
      'x\n[hologram, left out]',
    ],
  ])('has %s', async (_what, result, text) => {
    const { connection } = await connect({ ...legacy, 'tools/call': json(JSON.stringify(result)) });
    expect((await connection.callTool(tool, {}, never)).text).toBe(text);
  });
});

it('a server of PHP, whose empty objects are lists, has tools', async () => {
  const discover = json(
    complete(
      '"supportedVersions":["2026-07-28"],"capabilities":{"tools":[]},"ttlMs":0,"cacheScope":"private"',
    ),
  );
  const tools = '[{"name":"a","inputSchema":{"type":"object","properties":[]}}]';
  const { connection } = await connect({ 'server/discover': discover, 'tools/list': json(listOf(tools)) });
  expect((await connection.listTools(never)).tools).toHaveLength(1);
});

describe('requests of a server', () => {
  const pings = Array.from({ length: 3_000 }, (_, id) =>
    event(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`),
  );
  const call = events(({ id }) => pings.join('') + event(resultOf(id, '{"content":[]}')));
  const isAnswer = ({ method, id }: Got): boolean => method === undefined && id !== undefined;

  it('are answered, a few of them', async () => {
    const { connection, got } = await connect({ ...legacy, 'tools/call': call });
    expect(await connection.callTool(tool, {}, never)).toEqual({ text: '', isError: false });
    await eventually(() => expect(got.filter(isAnswer).length).toBeGreaterThan(0));
    expect(got.filter(isAnswer).length).toBeLessThan(20);
  });

  it('whose answers hang hold up no more than a few', async () => {
    const { connection, got } = await connect({ ...legacy, 'tools/call': call, answer: () => undefined });
    for (let n = 0; n < 3; n += 1) await connection.callTool(tool, {}, never);
    await eventually(() => expect(got.filter(isAnswer).length).toBeGreaterThan(0));
    expect(got.filter(isAnswer).length).toBeLessThanOrEqual(4);
  });
});
