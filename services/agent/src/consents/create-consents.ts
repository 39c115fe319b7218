import { ConsentTickets } from '@gatehouse/public-access/consent-tickets';
import { Refusals } from '@gatehouse/public-access/refusals';
import type { Shell } from '@gatehouse/shell/shell';
import type { Logins } from '../logins/logins-client.ts';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import type { OAuthClient } from '../mcp/mcp-oauth.ts';
import type { ServerStore } from '../servers/server-store.ts';
import type { Ground } from '../ground.ts';
import { consentLinkHandlers, consentPageHandlers } from './consent-handlers.ts';
import { loginHandlers } from './login-handlers.ts';
import { McpConsents } from './mcp-consents-client.ts';

/** Consents of users for MCP servers with OAuth, and the resulting logins. */
export function createConsents(
  { log }: Shell,
  options: Ground & {
    logins: { logins: Logins; oauth: OAuthClient };
    servers: { servers: ServerStore; registry: McpRegistry };
  },
) {
  const { config, app, unauthenticatedPool: system, changes } = options;
  const { logins, oauth } = options.logins;
  const { servers, registry } = options.servers;
  const { SECRETS_KEYRING: keyRing, PUBLIC_URL: publicUrl } = config;
  const refusals = new Refusals({ service: 'agent', system, log });
  const tickets = new ConsentTickets({ service: 'agent', app, system, keyRing, log });
  const kind = new McpConsents({
    ...{ app, servers, changes, tickets, logins, oauth, registry, log },
  });
  return {
    handlers: {
      ...consentLinkHandlers({ servers, tickets, logins, changes, publicUrl }),
      ...loginHandlers({ app, logins, registry, changes }),
    },
    rawHandlers: consentPageHandlers({ kind, tickets, refusals, publicUrl }),
    parts: [...refusals.parts, ...tickets.parts],
  };
}
