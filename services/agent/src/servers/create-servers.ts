import type { Changes } from '@gatehouse/changes/changes';
import type { Egress } from '@gatehouse/egress/egress';
import type { Guard } from '@gatehouse/egress/guard';
import type { Pool } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/service/published-alerts';
import type { Shell } from '@gatehouse/service/shell';
import type { ServerSecrets } from '../logins/server-secrets.ts';
import { observeMcp } from '../mcp/mcp-metrics.ts';
import { McpRegistry, type McpRegistryOptions, type UserLists } from '../mcp/mcp-registry.ts';
import type { OAuthClient } from '../mcp/oauth-client.ts';
import { serverHandlers } from './server-handlers.ts';
import { ServerStore } from './server-store.ts';
import { Verification } from './verification.ts';

export interface ServersOptions {
  app: Pool;
  egress: Egress;
  guard: Guard;
  changes: Changes;
  raise: RaiseAlert;
  logins: {
    oauth: OAuthClient;
    serverSecrets: ServerSecrets;
    /** The lists of servers where each user has a login. */
    store: UserLists;
    accessOf: McpRegistryOptions['accessOf'];
  };
}

/** The MCP servers of tenants: registration, review of their tools, and the calls of these. */
export function createServers({ log, registry: metrics }: Shell, options: ServersOptions) {
  const { app, egress, guard, changes, raise, logins } = options;
  const { oauth, serverSecrets: secrets, store: lists, accessOf } = logins;
  const servers = new ServerStore(app, raise);
  const registry = new McpRegistry({ egress, record: servers, accessOf, lists, log });
  observeMcp(metrics, registry);
  const verification = new Verification(registry, oauth);
  return {
    handlers: serverHandlers({ servers, registry, lists, verification, guard, secrets, changes }),
    parts: [registry],
    ...{ servers, registry },
  };
}
