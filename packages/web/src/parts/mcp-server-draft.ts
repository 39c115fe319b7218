import type { McpAuth } from '@gatehouse/contract/mcp-auth';
import type { McpTransport, WireMcpServer } from '@gatehouse/contract/mcp-servers';

export const logins: Record<McpAuth['type'] | 'oauth_per_user', string> = {
  none: 'None',
  bearer: 'Bearer token',
  headers: 'Headers',
  oauth_client_credentials: 'OAuth 2.0 client credentials',
  oauth: 'OAuth 2.0, one login for the tenant',
  oauth_per_user: 'OAuth 2.0, a login per user',
};
type Login = keyof typeof logins;

export const trusts = { pin: 'Require a review', follow: 'Accept' };
export const transports: Record<McpTransport, string> = {
  auto: 'Automatic',
  streamable_http: 'Streamable HTTP',
  sse: 'SSE',
};

/** The fields as text. */
export interface ServerDraft {
  name: string;
  url: string;
  transport: McpTransport;
  timeout_ms: string;
  trust: keyof typeof trusts;
  login: Login;
  client: string;
  scope: string;
  /** A token or client secret; empty where one is stored. */
  secret: string;
  /** `Name: value`, one each. */
  headers: readonly string[];
}

export const newServer: ServerDraft = {
  ...{ name: '', url: '', transport: 'auto', timeout_ms: '60000', trust: 'pin' },
  ...{ login: 'none', client: '', scope: '', secret: '', headers: [] },
};

export function serverDraft({ name, url, transport, timeout_ms, trust, auth }: WireMcpServer): ServerDraft {
  const isOauth = auth.type === 'oauth' || auth.type === 'oauth_client_credentials';
  return {
    ...{ name, url, transport, trust, timeout_ms: String(timeout_ms), secret: '', headers: [] },
    login: auth.type === 'oauth' && auth.per_user ? 'oauth_per_user' : auth.type,
    client: isOauth ? (auth.client_id ?? '') : '',
    scope: isOauth ? (auth.scope ?? '') : '',
  };
}

/** The settings of a draft as the API takes them, without authentication. */
export function serverBody({ name, url, transport, timeout_ms, trust }: ServerDraft) {
  return { name, url, transport, timeout_ms: Number(timeout_ms), trust };
}

/** The authentication of a draft. */
export function authOf({ login, client, scope, secret, headers }: ServerDraft): McpAuth {
  const scoped = scope !== '' && { scope };
  switch (login) {
    case 'bearer':
      return { type: 'bearer', token: secret };
    case 'headers':
      return { type: 'headers', headers: headersIn(headers) };
    case 'oauth_client_credentials':
      return { type: 'oauth_client_credentials', client_id: client, client_secret: secret, ...scoped };
    case 'oauth':
    case 'oauth_per_user':
      return {
        ...{ type: 'oauth', per_user: login === 'oauth_per_user', ...scoped },
        ...(client !== '' && { client_id: client, ...(secret !== '' && { client_secret: secret }) }),
      };
    default:
      return { type: 'none' };
  }
}

/** Whether a person has changed the authentication: stored secrets are not shown, so they are sent only then. */
export function isAuthChanged(before: ServerDraft, after: ServerDraft): boolean {
  return JSON.stringify(authOf(before)) !== JSON.stringify(authOf(after));
}

function headersIn(lines: readonly string[]): Record<string, string> {
  const pairs = lines.flatMap((line): [string, string][] => {
    const colon = line.indexOf(':');
    return colon < 1 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]];
  });
  return Object.fromEntries(pairs);
}
