import type { McpAuth, McpAuthView } from '@gatehouse/contract/mcp-auth';
import type { McpTransport, WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { trimmed } from '../format/changes.ts';
import { headersIn } from './header-lines.ts';

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
  /** `Name: value`, one each; without a value where one is stored. */
  headers: readonly string[];
  /** Whether the gateway has a secret, which is never shown. */
  isSecretStored: boolean;
}

export const newServer: ServerDraft = {
  ...{ name: '', url: '', transport: 'auto', timeout_ms: '60000', trust: 'pin' },
  ...{ login: 'none', client: '', scope: '', secret: '', headers: [] },
  isSecretStored: false,
};

export function serverDraft({ name, url, transport, timeout_ms, trust, auth }: WireMcpServer): ServerDraft {
  const isOauth = auth.type === 'oauth' || auth.type === 'oauth_client_credentials';
  return {
    ...{ name, url, transport, trust, timeout_ms: String(timeout_ms), secret: '' },
    login: auth.type === 'oauth' && auth.per_user ? 'oauth_per_user' : auth.type,
    client: isOauth ? (auth.client_id ?? '') : '',
    scope: isOauth ? (auth.scope ?? '') : '',
    headers: auth.type === 'headers' ? auth.headers.map((header) => `${header.name}:`) : [],
    isSecretStored: isSecretStored(auth),
  };
}

function isSecretStored(auth: McpAuthView): boolean {
  if (auth.type === 'bearer') return auth.token_set;
  if (auth.type === 'headers') return auth.headers.some((header) => header.set);
  return auth.type !== 'none' && auth.client_secret_set;
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
      return { type: 'headers', headers: headersIn(headers, 'auth.headers') };
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

/**
 * Whether a change of a server has to send the authentication: the API stores it as a whole, and forgets the secrets with
 * another origin. Stored secrets stay otherwise.
 */
export function isAuthSent(before: ServerDraft, after: ServerDraft): boolean {
  const isMoved = before.isSecretStored && originOf(before.url) !== originOf(after.url);
  return isMoved || JSON.stringify(authFields(before)) !== JSON.stringify(authFields(after));
}

/** Whether a person has to type a stored secret again, since it would be lost by the change. */
export function isSecretRepeated(before: ServerDraft, after: ServerDraft): boolean {
  const isSame = typeOf(before.login) === typeOf(after.login) && before.client === after.client;
  return before.isSecretStored && isSame && isAuthSent(before, { ...after, secret: before.secret });
}

/** The fields that a login uses. */
function authFields({ login, client, scope, secret, headers }: ServerDraft) {
  if (login === 'none') return { login };
  if (login === 'bearer') return { login, secret };
  return login === 'headers' ? { login, headers: trimmed(headers) } : { login, client, scope, secret };
}

function typeOf(login: Login): McpAuth['type'] {
  return login === 'oauth_per_user' ? 'oauth' : login;
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : '';
}
