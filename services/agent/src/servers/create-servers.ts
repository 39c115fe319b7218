import { MinuteCounts } from '@gatehouse/pg/minute-counts';
import type { Shell } from '@gatehouse/shell/shell';
import type { Logins } from '../logins/logins-client.ts';
import type { ServerSecrets } from '../logins/server-secrets.ts';
import { observeMcp } from '../mcp/mcp-metrics.ts';
import { McpRegistry, type McpRegistryOptions, type UserLists } from '../mcp/mcp-registry.ts';
import type { OAuthClient } from '../mcp/mcp-oauth.ts';
import type { Ground } from '../ground.ts';
import { serverHandlers } from './server-handlers.ts';
import { ServerStore } from './server-store.ts';

/** The MCP servers of tenants: registration, review of their tools, and the calls of these. */
export function createServers(
  { log, registry: metrics }: Shell,
  options: Ground & {
    logins: {
      oauth: OAuthClient;
      serverSecrets: ServerSecrets;
      /** The lists of servers where each user has a login. */
      store: UserLists;
      accessOf: McpRegistryOptions['accessOf'];
      logins: Logins;
    };
  },
) {
  const { app, egress, guard, changes, raise } = options;
  const { oauth, serverSecrets: secrets, store: lists, accessOf, logins } = options.logins;
  const servers = new ServerStore(app, raise);
  const registry = new McpRegistry({ egress, record: servers, accessOf, lists, log });
  observeMcp(metrics, registry);
  return {
    handlers: serverHandlers({
      ...{ servers, registry, lists, oauth, guard, secrets, logins, changes },
      counts: new MinuteCounts(app, 'agent'),
    }),
    parts: [registry],
    ...{ servers, registry },
  };
}
