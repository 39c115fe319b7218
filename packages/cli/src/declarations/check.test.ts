import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CommandLine, type Ran } from '@gatehouse/test/command-line';

interface Received {
  method: string;
  url: string;
  body: unknown;
}

let person: CommandLine;
let server: Server;
let received: Received[];
/** Answers lists, which are empty by default. */
let list: () => { status: number; body: unknown };
/** Answers everything else. */
let answer: (request: Received) => { status: number; body: unknown };
beforeEach(async () => {
  received = [];
  list = () => ({ status: 200, body: { data: [] } });
  server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '' } = request;
      const body: unknown = method === 'GET' ? null : await json(request);
      if (method !== 'GET') received.push({ method, url, body });
      const { status, body: reply } = method === 'GET' ? list() : answer({ method, url, body });
      response.writeHead(status).end(JSON.stringify(reply));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  person = await CommandLine.make();
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await person.remove();
});

const apply = (input: string): Promise<Ran> => run('apply', input);

function run(command: 'apply' | 'plan', input: string): Promise<Ran> {
  const { port } = server.address() as AddressInfo;
  const environment = { GATEHOUSE_URL: `http://127.0.0.1:${port}`, GATEHOUSE_API_KEY: 'one' };
  return person.run([command, '-f', '-'], { input, environment });
}

const refused = (code: string, param: string | null, status = 400) => ({
  status,
  body: { error: { code, message: 'No.', param } },
});

it('a gateway without dry runs is asked for nothing else', async () => {
  answer = () => refused('unknown_parameter', 'dry_run');
  const { code, error } = await apply('agents: [{ key: a, model: m }, { key: b, model: m }]');
  expect([code, error]).toEqual([2, expect.stringContaining('too old')]);
  expect(received.map(({ url }) => url)).toEqual(['/v1/agents?dry_run=true']);
});

it('tools of a new server are those that its check has listed', async () => {
  answer = ({ url }) => ({
    status: 201,
    body: url.startsWith('/v1/mcp/servers') ? { tools: [{ name: 'send' }] } : {},
  });
  const { code, error } = await apply(`mcp_servers: [{ name: mail, url: 'https://mail.example.com' }]
agents:
  - { key: a, model: m, tools: { mcp_servers: [mail, mail/send, other] } }
  - key: b
    model: m
    tools:
      mcp_servers:
        - mail/send
        - mail/sned
`);
  expect([code, error]).toEqual([
    1,
    'standard input:9: agents b: unknown_mcp_server: The MCP server "mail" has no tool "sned".\nNothing was changed.\n',
  ]);
  // The gateway checks what it has.
  expect(received.map(({ url, body }) => [url, (body as { tools?: unknown }).tools])).toEqual([
    ['/v1/mcp/servers?dry_run=true', undefined],
    ['/v1/agents?dry_run=true', { mcp_servers: ['other'] }],
    ['/v1/agents?dry_run=true', { mcp_servers: [] }],
  ]);
});

it('an agent that is still to be created is no mistake, and every other one is', async () => {
  answer = ({ url }) =>
    url.startsWith('/v1/agents') ? { status: 201, body: {} } : refused('invalid_value', 'agent_id');
  const declared = `agents: [{ key: a, model: m }]
channels: [{ name: Desk, agent: a, type: generic }]
`;
  const { error } = await apply(declared);
  expect(error).toContain('--secrets-file');
  answer = () => refused('invalid_value', 'type');
  expect((await apply(declared)).error).toContain('standard input:2: channels Desk: invalid_value: No.');
});

it('a channel that is still to be created is no mistake of deliver_to', async () => {
  answer = ({ body }) =>
    ((body as { deliver_to?: unknown }).deliver_to ?? null)
      ? refused('invalid_value', 'deliver_to.channel_instance_id')
      : { status: 201, body: {} };
  const { code, out, error } = await run(
    'plan',
    `agents: [{ key: a, model: m }]
channels: [{ name: Desk, agent: a, type: generic }]
endpoints: [{ name: Alerts, agent: a, scheme: standard, deliver_to: { channel: Desk, conversation: '1' } }]
`,
  );
  expect([code, error]).toEqual([3, '']);
  expect(out).toContain('+ create endpoints Alerts');
});

it('a list that the key may not read is named', async () => {
  list = () => ({ ...refused('scope_missing', null, 403) });
  const { code, error } = await run('plan', 'users: [{ user_id: ada }]\npolicies: [{ name: p }]');
  expect([code, error]).toEqual([1, "scope_missing: users can't be read. No.\n"]);
});

it.each([401, 500])('an error %i of one check ends the plan, with its declaration', async (status) => {
  answer = () => refused('internal_error', null, status);
  const { code, error } = await apply('agents:\n  - { key: a, model: m }\n  - { key: b, model: m }\n');
  expect([code, error]).toEqual([
    1,
    'standard input:2: agents a: internal_error: No.\nNothing was changed.\n',
  ]);
  expect(received).toHaveLength(1);
});

it('a check is repeated after a temporary error', async () => {
  const statuses = [503, 400];
  answer = () => refused('overloaded', null, statuses.shift());
  const { error } = await apply('agents: [{ key: a, model: m }]');
  expect(error).toContain('agents a: overloaded');
  expect(received).toHaveLength(2);
});
