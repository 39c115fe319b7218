import type { Listed, McpRegistry } from '../mcp/mcp-registry.ts';
import type { AuthSecrets, McpSettings } from '../mcp/mcp-server.ts';
import { clientSecretOf, type OAuthClient } from '../mcp/mcp-oauth.ts';
import { headersOf } from '../mcp/server-access.ts';

/** The result of a verification, before a server is stored. */
export interface VerifiedServer {
  /** Null while a consent is missing. */
  listed: Listed | null;
  secrets: AuthSecrets | null;
  /** The issuer of the tenant's client; null unless it was looked for, and without a client of the tenant. */
  clientIssuer: string | null;
}

/**
 * Tries settings of a server before they are stored: lists the tools, or finds the authorization server if a user must
 * consent first. Throws `McpFailure`. A dry run makes the same checks, but registers no client at an authorization server.
 */
export async function verifyServer(
  { registry, oauth }: { registry: McpRegistry; oauth: OAuthClient },
  { tenantId, dryRun }: { tenantId: string; dryRun: boolean },
  settings: McpSettings,
  secrets: AuthSecrets | null,
): Promise<VerifiedServer> {
  const { url, auth } = settings;
  const list = (headers: Readonly<Record<string, string>>): Promise<Listed> =>
    registry.verify(tenantId, settings, headers);
  const untried = { listed: null, secrets, clientIssuer: null };
  if (auth.type !== 'oauth' && auth.type !== 'oauth_client_credentials')
    return { ...untried, listed: await list(headersOf(secrets)) };
  if (auth.type === 'oauth' && !oauth.canConsent) return untried;
  if (auth.type === 'oauth' && dryRun) {
    await oauth.check(url, auth, tenantId);
    return untried;
  }
  const binding = await oauth.bind(url, auth, { tenantId, secret: clientSecretOf(secrets), known: null });
  const { issuer } = binding.metadata;
  if (auth.type === 'oauth_client_credentials') {
    const { accessToken } = await oauth.clientCredentials(tenantId, binding);
    const listed = await list({ authorization: `Bearer ${accessToken}` });
    return { listed, secrets, clientIssuer: issuer };
  }
  return auth.clientId === null ? { ...untried, secrets: { binding } } : { ...untried, clientIssuer: issuer };
}
