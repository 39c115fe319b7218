import type { Changes } from '@gatehouse/audited-changes/changes';
import type { listMcpLogins, McpLogin } from '@gatehouse/contract/mcp-logins';
import type { Call, Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { afterCommit, type Pool } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import type { Logins } from '../logins/logins-client.ts';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import { actingUserOf } from '../shared/acting-user.ts';
import { deleteLogin, listServersWithLogin, type ServerWithLogin } from './member-login-store.ts';

type List = Call<unknown, z.output<typeof listMcpLogins>>;

export interface LoginDependencies {
  /** A pool of `agent_app`. */
  app: Pool;
  logins: Logins;
  registry: McpRegistry;
  changes: Changes;
}

const what = 'login';
const needsUser = 'Logins belong to a user';

/** `/v1/mcp/logins*` */
export function loginHandlers({
  app,
  logins,
  registry,
  changes,
}: LoginDependencies): Record<string, Handler> {
  return {
    'mcp.logins.list': async (call: List) => {
      const { limit, cursor } = call.query;
      const page = { limit, before: decodeCursor(cursor) };
      const servers = await listServersWithLogin(app, actingUserOf(call, needsUser), page);
      return { body: pageOf(servers, limit, showLogin) };
    },

    'mcp.logins.delete': async (call: Call) => {
      const { userId } = actingUserOf(call, needsUser);
      const serverId = resourceId({ id: call.params['server_id'] ?? '' }, what);
      return changes.change(call, async (db) => {
        const login = orNotFound(await deleteLogin(db, { userId, serverId }), what);
        afterCommit(db, () => {
          registry.forgetLogin(login);
          logins.ended([login]);
        });
        const before = { name: login.serverName, user_id: userId };
        return { changes: [{ action: 'mcp_server.disconnected', id: serverId, before, after: null }] };
      });
    },
  };
}

function showLogin({ id, name, url, loggedInAt, expiresAt, isLost }: ServerWithLogin): McpLogin {
  const current = isLost ? 'lost' : 'logged_in';
  return {
    ...{ server_id: id, server_name: name, server_host: new URL(url).host },
    status: loggedInAt === null ? 'needs_login' : current,
    logged_in_at: loggedInAt?.toISOString() ?? null,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}
