import { McpFailure } from '../mcp/failure.ts';
import type { McpRegistryOptions } from '../mcp/mcp-registry.ts';
import { authProblemOf, isPerUser, loginUserOf } from '../mcp/mcp-server.ts';
import { headersOf } from '../mcp/server-access.ts';
import type { Logins } from './logins.ts';
import type { ServerSecrets } from './server-secrets.ts';

/** Finds out how requests to a server are authenticated. */
export function accessOf(logins: Logins, serverSecrets: ServerSecrets): McpRegistryOptions['accessOf'] {
  return async (server, user) => {
    const { auth, secrets } = server;
    if (authProblemOf(server) !== null)
      throw new McpFailure(server.otherIssuer === null ? 'unauthorized' : 'other_issuer');
    if (auth.type === 'oauth' || auth.type === 'oauth_client_credentials') {
      if (isPerUser(server) && user === null) throw new McpFailure('needs_consent');
      const { tenantId, id } = await logins.refOf(server, loginUserOf(server, user));
      const login = { tenantId, id };
      const tokens = {
        current: () => logins.token(login),
        renew: (refused: string) => logins.renew(login, refused),
      };
      return { loginId: id, headers: {}, tokens };
    }
    const opened = secrets === null ? null : serverSecrets.open(server, secrets);
    return { loginId: null, headers: headersOf(opened), tokens: null };
  };
}
