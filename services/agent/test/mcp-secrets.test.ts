import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { TestMcpServer } from '@gatehouse/test/mcp-server';
import { pino } from 'pino';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

const servers = 200;
const path = '/v1/mcp/servers';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let server: TestMcpServer;
/** Everything that the service says to anyone. */
const said: string[] = [];
const secrets: string[] = [];

beforeAll(async () => {
  const lines = new Writable({
    write(chunk: Buffer, _encoding, done) {
      said.push(chunk.toString());
      done();
    },
  });
  agents = await AgentServiceUnderTest.start({
    settings: { EGRESS_ALLOW: '127.0.0.1', PUBLIC_URL: 'https://gateway.example.com' },
    log: pino({ level: 'trace' }, lines),
  });
  tenant = agents.makeTenant();
  server = await TestMcpServer.start([]);
  // It answers with what it got, in every place.
  server.intercept = ({ headers }, response) => {
    const got = JSON.stringify(headers);
    const shown = {
      'content-type': 'application/json',
      'www-authenticate': `Bearer error="${encodeURI(got)}"`,
    };
    response.writeHead(401, shown).end(JSON.stringify({ error: 'invalid_token', error_description: got }));
    return true;
  };
});
afterAll(async () => {
  await server.stop();
  await agents.stop();
});

function secret(): string {
  const made = randomBytes(18).toString('base64url');
  secrets.push(made);
  return made;
}

const kinds = [
  () => ({ type: 'bearer', token: secret() }),
  () => ({ type: 'headers', headers: { 'x-api-key': secret(), authorization: `Basic ${secret()}` } }),
  () => ({ type: 'oauth_client_credentials', client_id: 'one', client_secret: secret() }),
  () => ({ type: 'oauth', client_id: 'one', client_secret: secret() }),
];

async function call(method: string, at: string, body?: object): Promise<string> {
  const answer = await agents.call(method, path + at, { as: tenant.admin, ...(body && { body }) });
  said.push(JSON.stringify([answer.status, answer.body, [...answer.headers]]));
  return answer.body.id;
}

it(`nothing that the service says has a secret of ${servers} servers`, async () => {
  const { url } = server;
  const agentId = (await agents.makeAgent(tenant.admin, { tools: { mcp_servers: ['s0', 's1'] } })).id;
  for (let n = 0; n < servers; n += 1) {
    const auth = kinds[n % kinds.length] ?? kinds[0];
    const id = await call('POST', '', { name: `s${n}`, url, auth: auth?.(), verify: false });
    if (n < 20) {
      await call('POST', '', { name: `t${n}`, url, auth: auth?.() });
      await call('POST', `/${id}/refresh`);
      await call('PATCH', `/${id}`, { auth: auth?.() });
      await call('POST', `/${id}/consent-links`);
      await call('PATCH', `/${id}`, { auth: { type: 'bearer', token: ` ${secret()}\n` } });
      await call('POST', '', { name: 'x', url: `https://user:${secret()}@127.0.0.1/`, auth: auth?.() });
      await call('GET', `/${id}`);
    }
  }
  await call('GET', '?limit=200');
  const chat = await agents.peer('chat');
  const context = await agents.actingFor(tenant.user);
  said.push(JSON.stringify(await chat.call('listTools', { agentId, revisionOnly: false }, context)));
  await eventually(() => expect(agents.webhook.of(tenant.id, 'mcp.needs_auth').length).toBeGreaterThan(3));
  await eventually(() => expect(agents.tenant.entries.length).toBeGreaterThan(servers));
  said.push(JSON.stringify(agents.webhook.alerts), JSON.stringify(agents.tenant.entries));
  said.push(await agents.metrics());
  const text = said.join('\n');
  expect(secrets.length).toBeGreaterThan(servers);
  expect(text).toContain('an MCP server failed');
  expect(secrets.filter((each) => text.includes(each) || text.includes(encodeURIComponent(each)))).toEqual(
    [],
  );
});
