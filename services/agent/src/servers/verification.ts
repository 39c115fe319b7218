import type { Listed, McpRegistry } from '../mcp/mcp-registry.ts';
import type { AuthSecrets, McpSettings } from '../mcp/mcp-server.ts';
import { clientSecretOf, type OAuthClient } from '../mcp/mcp-oauth.ts';
import { headersOf } from '../mcp/server-access.ts';

/** The result of a verification, before a server is stored. */
export interface VerifiedServer {
  /** Null while a consent is missing. */
  listed: Listed | null;
  secrets: AuthSecrets | null;
  /** The issuer of the tenant's client; null if it was not looked for, and without such a client. */
  clientIssuer: string | null;
}

/** Tries settings of a server that are not stored yet. */
export class Verification {
  readonly #registry: McpRegistry;
  readonly #oauth: OAuthClient;

  constructor(registry: McpRegistry, oauth: OAuthClient) {
    this.#registry = registry;
    this.#oauth = oauth;
  }

  /** Lists the tools, or finds the authorization server if a user must consent first. Throws `McpFailure`. */
  async verify(
    tenantId: string,
    settings: McpSettings,
    secrets: AuthSecrets | null,
  ): Promise<VerifiedServer> {
    const { url, auth } = settings;
    const list = (headers: Readonly<Record<string, string>>): Promise<Listed> =>
      this.#registry.verify(tenantId, settings, headers);
    const untried = { listed: null, secrets, clientIssuer: null };
    switch (auth.type) {
      case 'none':
      case 'bearer':
      case 'headers':
        return { ...untried, listed: await list(headersOf(secrets)) };
      case 'oauth_client_credentials': {
        const binding = await this.#oauth.bind(url, auth, {
          tenantId,
          secret: clientSecretOf(secrets),
          known: null,
        });
        const { accessToken } = await this.#oauth.clientCredentials(tenantId, binding);
        const listed = await list({ authorization: `Bearer ${accessToken}` });
        return { listed, secrets, clientIssuer: binding.metadata.issuer };
      }
      case 'oauth': {
        if (!this.#oauth.canConsent) return untried;
        const binding = await this.#oauth.bind(url, auth, {
          tenantId,
          secret: clientSecretOf(secrets),
          known: null,
        });
        return auth.clientId === null
          ? { ...untried, secrets: { binding } }
          : { ...untried, clientIssuer: binding.metadata.issuer };
      }
    }
  }
}
