import type { LocalCredentials } from '@gatehouse/local/credentials';
import type { AuthorizationServer } from '@gatehouse/test/authorization-server';
import { personConsents } from '@gatehouse/test/person-consent';
import { actingUser } from './openapi-replay.ts';

/** Registers an MCP server where each user has a login; returns its id. */
export async function registerLoginServer(
  { url: gateway, admin_key: key }: LocalCredentials,
  url: string,
): Promise<string> {
  const response = await fetch(`${gateway}/v1/mcp/servers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'login', url, auth: { type: 'oauth', per_user: true } }),
  });
  return ((await response.json()) as { id: string }).id;
}

/** The acting user of the replay logs in there. */
export async function logInAtServer(
  { url, user_key: key }: LocalCredentials,
  login: AuthorizationServer,
): Promise<void> {
  const made = await fetch(`${url}/v1/mcp/servers/login/consent-links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...actingUser.headers },
  });
  const { url: link } = (await made.json()) as { url: string };
  await personConsents({ url, link, login, user: 'ada' });
}
