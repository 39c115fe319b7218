import { randomBytes } from 'node:crypto';
import { call } from './gateway.ts';

/**
 * The program that the conformance tests run as an MCP client: registers the server of its last argument with the
 * gateway, consents where it wants a login, and has an agent call its tool.
 */

interface Context {
  client_id?: string;
  client_secret?: string;
}

const url = process.argv.at(-1) ?? '';
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Context;
const name = `conformance-${randomBytes(4).toString('hex')}`;

function authOf(): object {
  if (!scenario.startsWith('auth/')) return { type: 'none' };
  const { client_id, client_secret } = context;
  const client = {
    ...(client_id !== undefined && { client_id }),
    ...(client_secret !== undefined && { client_secret }),
  };
  return scenario.startsWith('auth/client-credentials')
    ? { type: 'oauth_client_credentials', ...client }
    : { type: 'oauth', ...client };
}

/** As a browser whose user consents: the page's button, the authorization server, and back. */
async function consent(link: string): Promise<void> {
  const pressed = await fetch(link, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
  });
  const cookie = pressed.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const authorized = await fetch(pressed.headers.get('location') ?? '', { redirect: 'manual' });
  const back = await fetch(authorized.headers.get('location') ?? '', { headers: { cookie } });
  if (back.status !== 200) throw new Error(`the consent ended with ${back.status}: ${await back.text()}`);
}

interface Server {
  id: string;
  status: string;
  tools: { name: string }[];
}

const auth = authOf() as { type: string };
const { id } = await call<Server>('/v1/mcp/servers', { name, url, auth });
if (auth.type === 'oauth')
  await consent((await call(`/v1/mcp/servers/${id}/consent-links`, {}))['url'] ?? '');
const { tools } = await call<Server>(`/v1/mcp/servers/${id}`);
const [tool] = tools;
if (tool !== undefined) {
  const agent = { key: name, model: 'gpt-4.1-mini', tools: { mcp_servers: [name] } };
  await call('/v1/agents', agent);
  await call('/v1/chat/completions', {
    model: `agent:${name}`,
    messages: [{ role: 'user', content: 'Use the tool.' }],
    x_simulator: { tool_calls: [{ name: `${name}__${tool.name}`, arguments: { a: 5, b: 3 } }] },
  });
}
// The conformance test waits for the end of the connection.
await call(`/v1/mcp/servers/${id}`, undefined, 'DELETE');
