import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { TestMcpServer } from '@gatehouse/test/mcp-server';
import { insideUrls, refusedUrls } from '@gatehouse/test/ssrf-urls';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

/** Nothing inside sees a connection, wherever the URL of an MCP server is given or used. */

const path = '/v1/mcp/servers';
let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let inside: Server;
let connections = 0;
let port = 0;

beforeAll(async () => {
  inside = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => inside.listen(0, '::', resolve));
  ({ port } = inside.address() as AddressInfo);
  const settings = { EGRESS_ALLOW: '127.0.0.2', PUBLIC_URL: 'https://gateway.example.com' };
  agents = await AgentServiceUnderTest.start({ settings });
  tenant = agents.makeTenant();
});
afterAll(async () => {
  await agents.stop();
  await new Promise((resolve) => inside.close(resolve));
});

const withPort = (url: string): string => url.replaceAll('PORT', String(port));
/** As if a minute had passed since the last one. */
const call = async (method: 'POST' | 'PATCH', at: string, body?: object) => {
  await agents.rows('delete from agent.minute_counts');
  return agents.call(method, path + at, { as: tenant.admin, ...(body !== undefined && { body }) });
};
const stored = async () => {
  const { body } = await call('POST', '', {
    ...{
      name: `s-${newId().slice(0, 8)}-${newId().slice(-8)}`,
      url: 'https://93.184.215.14/mcp',
      verify: false,
    },
  });
  return body.id;
};

describe.each(refusedUrls.map((url): [string] => [url]))('%s', (template) => {
  it('is refused wherever a URL is given', async () => {
    const url = withPort(template);
    for (const transport of ['auto', 'sse'] as const) {
      const made = await call('POST', '', { name: 'inside', url, transport });
      expect([made.status, made.body.error.code, made.body.error.param]).toEqual([
        400,
        'url_not_allowed',
        'url',
      ]);
    }
    const patched = await call('PATCH', `/${await stored()}`, { url });
    expect([patched.status, patched.body.error.code]).toEqual([400, 'url_not_allowed']);
    expect(connections).toBe(0);
  });
});

it.each(insideUrls.map((url): [string] => [url]))(
  '%s is checked again when it is called',
  async (template) => {
    const url = URL.parse(withPort(template));
    if (url === null) return;
    const id = await stored();
    // As if it had been allowed, or had meant another address, when it was given.
    await agents.rows('update agent.mcp_servers set url = $1 where id = $2', [url.href, id]);
    const { status, body } = await call('POST', `/${id}/refresh`);
    expect([status, body.error.code]).toEqual([422, 'mcp_unreachable']);
    expect(connections).toBe(0);
  },
);

it.each([301, 302, 303, 307, 308])('a redirect by %d leads nowhere else', async (status) => {
  const server = await TestMcpServer.start([], 'current', '127.0.0.2');
  server.intercept = (_request, response) => {
    response.writeHead(status, { location: `http://127.0.0.1:${port}/` }).end();
    return true;
  };
  for (const transport of ['streamable_http', 'sse'] as const) {
    const { body } = await call('POST', '', { name: 'redirects', url: server.url, transport });
    expect(body.error.code).toBe('mcp_unreachable');
  }
  expect(server.requests.length).toBeGreaterThan(0);
  expect(connections).toBe(0);
  await server.stop();
});

it('an event stream that names another host to post to is not followed', async () => {
  const server = await TestMcpServer.start([], 'sse', '127.0.0.2');
  server.intercept = ({ httpMethod }, response) => {
    if (httpMethod !== 'GET') return false;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`event: endpoint\ndata: http://127.0.0.1:${port}/messages\n\n`);
    return true;
  };
  const { body } = await call('POST', '', { name: 'elsewhere', url: server.url, transport: 'sse' });
  expect(body.error.code).toBe('mcp_unreachable');
  expect(connections).toBe(0);
  await server.stop();
});

/** Places at which a server names URLs of its login. `at` puts one there. */
const loginPlaces: [
  place: string,
  at: (url: string) => { challenge?: string; resource?: object; issuer?: object },
][] = [
  ['the metadata of the server', (url) => ({ challenge: url })],
  ['its authorization server', (url) => ({ resource: { authorization_servers: [url] } })],
  ['the authorization endpoint', (url) => ({ issuer: { authorization_endpoint: url } })],
  ['the token endpoint', (url) => ({ issuer: { token_endpoint: url } })],
  ['the registration endpoint', (url) => ({ issuer: { registration_endpoint: url } })],
];

it.each(loginPlaces)(
  '%s leads nowhere inside',
  async (_, at) => {
    const server = await TestMcpServer.start([], 'current', '127.0.0.2');
    const { origin } = new URL(server.url);
    for (const template of insideUrls) {
      const { challenge, resource, issuer } = at(withPort(template));
      const documents: Record<string, object> = {
        '/.well-known/oauth-protected-resource/mcp': {
          ...{ resource: server.url, authorization_servers: [origin], ...resource },
        },
        '/.well-known/oauth-authorization-server': {
          ...{ issuer: origin, response_types_supported: ['code'] },
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          ...issuer,
        },
      };
      server.intercept = ({ path: asked }, response) => {
        const document = documents[asked];
        if (document === undefined) {
          const named = challenge === undefined ? '' : ` resource_metadata="${encodeURI(challenge)}"`;
          response.writeHead(asked === '/mcp' ? 401 : 404, { 'www-authenticate': `Bearer${named}` }).end();
        } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
        return true;
      };
      for (const auth of [
        { type: 'oauth' },
        { type: 'oauth_client_credentials', client_id: 'one', client_secret: 'two' },
      ]) {
        const { status } = await call('POST', '', { name: 'login', url: server.url, auth });
        expect([template, status]).toEqual([template, 422]);
      }
    }
    expect(connections).toBe(0);
    await server.stop();
  },
  60_000,
);
