import type { PageRequest } from '@gatehouse/kit/page';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { EndedLogin } from '../logins/login.ts';

/** A user of a tenant. */
export interface LoginUser {
  tenantId: string;
  userId: string;
}

/** A server where each user has a login, as one user sees it. */
export interface ServerWithLogin {
  id: string;
  name: string;
  url: string;
  /** Null without a login. */
  loggedInAt: Date | null;
  /** The end of a login without renewal. */
  expiresAt: Date | null;
  /** Whether the login is of no use any more. */
  isLost: boolean;
}

/** A login ended by its user. */
export interface EndedMemberLogin extends EndedLogin {
  serverName: string;
  connectionId: string;
}

const sameConnection = 'l.server_id = s.id and l.connection_id = s.connection_id';

/**
 * Servers with logins per user, each with the login of one user: the newest first, below the id `before`, up to one
 * more than `limit`. Disabled ones only with a login. `app` acts as `agent_app`.
 */
export function listServersWithLogin(
  app: Pool,
  { tenantId, userId }: LoginUser,
  { limit, before }: PageRequest,
): Promise<ServerWithLogin[]> {
  return withTenant(app, tenantId, async (db) => {
    // A login stored by an older release, perhaps in the place of another one, is as old as its link.
    return db.all(
      `select s.id, s.name, s.url, greatest(l.logged_in_at, l.created_at) as "loggedInAt",
         case when l.refresh_due_at is null then l.expires_at end as "expiresAt",
         coalesce(l.lost_at is not null or (l.refresh_due_at is null and l.expires_at <= now()), false) as "isLost"
       from agent.mcp_servers as s left join agent.mcp_logins as l on ${sameConnection} and l.user_id = $2
       where s.tenant_id = $1 and ($3::uuid is null or s.id < $3) and s.auth ->> 'type' = 'oauth'
         and s.auth ->> 'perUser' = 'true' and (s.enabled or l.id is not null)
       order by s.id desc limit $4`,
      [tenantId, userId, before, limit + 1],
    );
  });
}

/**
 * Deletes the login of a user at a server, and the user's links for it, so a consent under way stores nothing
 * afterwards. Null without a login.
 */
export async function deleteLogin(
  db: Queryable,
  { userId, serverId }: { userId: string; serverId: string },
): Promise<EndedMemberLogin | null> {
  // A consent, or the deletion of the server, locks it first, too.
  await db.query('select from agent.mcp_servers where id = $1 for key share', [serverId]);
  await db.query(`delete from agent.consent_tickets where subject_id = $1 and asked_by ->> 'user_id' = $2`, [
    serverId,
    userId,
  ]);
  return db.first(
    `delete from agent.mcp_logins as l using agent.mcp_servers as s
     where l.server_id = $1 and l.user_id = $2 and s.id = l.server_id
     returning l.id, l.tenant_id as "tenantId", l.server_id as "serverId", l.user_id as "userId", l.secrets,
       s.name as "serverName", l.connection_id as "connectionId"`,
    [serverId, userId],
  );
}
