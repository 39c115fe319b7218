import { McpFailure } from '../mcp/failure.ts';
import type { BearerTokens } from '../mcp/bearer-fetch.ts';
import type { Logins } from './logins.ts';
import {
  hasAuth,
  isPerUser,
  loginUserOf,
  type AuthSecrets,
  type McpServerHead,
  type OpenSecrets,
} from '../mcp/mcp-server.ts';

/** How the requests of one connection are authenticated. */
export interface ServerAccess {
  /** Null if it is the same for all users. */
  loginId: string | null;
  headers: Readonly<Record<string, string>>;
  /** For tokens that change. */
  tokens: BearerTokens | null;
}

/** Finds out how requests to a server are authenticated. */
export class ServerAccesses {
  readonly #logins: Logins;
  readonly #openSecrets: OpenSecrets;

  constructor(logins: Logins, openSecrets: OpenSecrets) {
    this.#logins = logins;
    this.#openSecrets = openSecrets;
  }

  /** For calls as a user, or as the tenant. Throws `McpFailure`: `unauthorized`, `needs_consent`. */
  async of(server: McpServerHead, user: string | null): Promise<ServerAccess> {
    const { auth, secrets } = server;
    if (!hasAuth(server)) throw new McpFailure('unauthorized');
    if (auth.type === 'oauth' || auth.type === 'oauth_client_credentials') {
      if (isPerUser(server) && user === null) throw new McpFailure('needs_consent');
      const { tenantId, id } = await this.#logins.of(server, loginUserOf(server, user));
      return { loginId: id, headers: {}, tokens: this.#tokensOf({ tenantId, id }) };
    }
    return {
      loginId: null,
      headers: headersOf(secrets === null ? null : this.#openSecrets(server, secrets)),
      tokens: null,
    };
  }

  #tokensOf(login: { tenantId: string; id: string }): BearerTokens {
    return {
      current: () => this.#logins.token(login),
      renew: (refused) => this.#logins.renew(login, refused),
    };
  }
}

/** The headers that these secrets stand for. */
export function headersOf(secrets: AuthSecrets | null): Record<string, string> {
  if (secrets === null) return {};
  if ('token' in secrets) return { authorization: `Bearer ${secrets.token}` };
  return 'headers' in secrets ? secrets.headers : {};
}
