import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import { McpFailure, sentenceOf } from '../mcp/failure.ts';
import type { Listed, UserLists } from '../mcp/mcp-registry.ts';
import type { McpServerHead } from '../mcp/mcp-server.ts';
import type { McpTool } from '../mcp/mcp-tool.ts';
import { changedToolAlerts } from '../mcp/tool-changes.ts';
import { goodSecondsOf, type ListHead, type ListTexts } from '../mcp/tool-lists.ts';
import { acceptance, reviewed, type AcceptedTool } from '../mcp/tool-review.ts';
import {
  ownerOf,
  type EndedLogin,
  type Login,
  type LoginList,
  type LoginOf,
  type LoginRef,
  type NewLogin,
} from './login.ts';
import { maxRevocations, refreshLeaseS } from '../bounds.ts';

/** Tokens are refreshed after this part of their time. */
const refreshAfter = 0.9;

const ended = 'id, tenant_id as "tenantId", server_id as "serverId", user_id as "userId", secrets';
const columns = `${ended},
  coalesce(expires_at <= clock_timestamp(), false) as "isExpired",
  coalesce(refresh_due_at <= clock_timestamp(), false) as "isRefreshDue",
  lost_at is not null as "isLost"`;
const isStale = `tools_expire_at is null or tools_expire_at <= clock_timestamp() as "isStale"`;
/** Each login has its own: lists from before revisions were set have no revision. */
const listRevision = `id::text || '/' || coalesce(tools_revision::text, '')`;
const times = (seconds: string, renewable: string): string =>
  `clock_timestamp() + make_interval(secs => ${seconds}::float8),
   case when ${renewable}::boolean
     then clock_timestamp() + make_interval(secs => ${seconds}::float8 * ${refreshAfter}) end`;

/** Logins at MCP servers, of one tenant at a time. */
export class LoginStore extends Store implements UserLists {
  readonly #raise: RaiseAlert;

  /** `pool` acts as `agent_app`; `raise` gets lost logins and changed tools. */
  constructor(pool: Pool, raise: RaiseAlert) {
    super(pool);
    this.#raise = raise;
  }

  /** The login of an owner for the server's connection as it is now. */
  findOf({ tenantId, serverId, connectionId, userId }: LoginOf): Promise<Login | null> {
    return this.tenant(tenantId).first(
      `select ${columns} from agent.mcp_logins where server_id = $1 and connection_id = $2 and user_id = $3`,
      [serverId, connectionId, userId],
    );
  }

  /** Returns the server's list for a user; null without a login. */
  findList(server: McpServerHead, user: string): Promise<LoginList | null> {
    const { tenantId, serverId, connectionId, userId } = ownerOf(server, user);
    return this.tenant(tenantId).first(
      `select tools, accepted, ${isStale}
        from agent.mcp_logins
        where server_id = $1 and connection_id = $2 and user_id = $3 and lost_at is null`,
      [serverId, connectionId, userId],
    );
  }

  /** Heads of the lists of a user, by the ids of servers, as far as the user has logins for their connections. */
  async findListHeads(
    { tenantId, user }: { tenantId: string; user: string },
    servers: readonly { id: string; connectionId: string }[],
  ): Promise<Map<string, ListHead>> {
    const rows = await this.tenant(tenantId).all<ListHead & { serverId: string; connectionId: string }>(
      `select server_id as "serverId", connection_id as "connectionId", ${listRevision} as revision, ${isStale}
        from agent.mcp_logins where server_id = any ($1) and user_id = $2 and lost_at is null`,
      [servers.map(({ id }) => id), user],
    );
    const connections = new Map(servers.map(({ id, connectionId }) => [id, connectionId]));
    const current = rows.filter(({ serverId, connectionId }) => connections.get(serverId) === connectionId);
    return new Map(current.map(({ serverId, revision, isStale }) => [serverId, { revision, isStale }]));
  }

  /** The list of a server for a user, unparsed; null without a login. */
  findTexts(server: McpServerHead, user: string): Promise<ListTexts | null> {
    const { tenantId, serverId, connectionId, userId } = ownerOf(server, user);
    return this.tenant(tenantId).first(
      `select ${listRevision} as revision, tools::text, accepted::text from agent.mcp_logins
        where server_id = $1 and connection_id = $2 and user_id = $3 and lost_at is null`,
      [serverId, connectionId, userId],
    );
  }

  /** Stores a server's list for a user, and returns its usable tools. */
  setList(server: McpServerHead, user: string, { tools, ttlMs }: Listed): Promise<McpTool[]> {
    const { tenantId, serverId, connectionId, userId } = ownerOf(server, user);
    const { trust } = server;
    return withTenant(this.pool, tenantId, async (db) => {
      const owner = [serverId, connectionId, userId];
      const rows = await db.all<{
        tools: McpTool[] | null;
        accepted: AcceptedTool[];
        byAll: AcceptedTool[];
      }>(
        `select l.tools, l.accepted, s.accepted as "byAll"
         from agent.mcp_logins as l join agent.mcp_servers as s on s.id = l.server_id
         where l.server_id = $1 and l.connection_id = $2 and l.user_id = $3 for update of l`,
        owner,
      );
      const [before] = rows;
      if (before === undefined) return [];
      const last = { tools: before.tools ?? [], accepted: before.accepted };
      const { accepted, changes } = reviewed(last, tools, trust);
      await db.query(
        `update agent.mcp_logins set tools = $4, accepted = $6,
           tools_expire_at = clock_timestamp() + make_interval(secs => $5)
         where server_id = $1 and connection_id = $2 and user_id = $3`,
        [...owner, JSON.stringify(tools), goodSecondsOf(ttlMs), JSON.stringify(accepted)],
      );
      const isAccepted = acceptance({ trust, accepted: [...accepted, ...before.byAll] });
      const waiting = changes.filter(({ tool }) => !isAccepted(tool));
      for (const alert of changedToolAlerts(server, user, waiting)) await this.#raise(db, alert);
      return tools.filter(isAccepted);
    });
  }

  find({ tenantId, id }: LoginRef): Promise<Login | null> {
    return this.tenant(tenantId).first(`select ${columns} from agent.mcp_logins where id = $1`, [id]);
  }

  /** Stores a login unless there is one meanwhile, and returns the stored one. */
  putFirst(login: NewLogin): Promise<LoginRef> {
    const { tenantId, serverId, userId } = login;
    return withTenant(this.pool, tenantId, async (db) => {
      await insertLogin(
        db,
        login,
        'where known.connection_id <> excluded.connection_id or known.lost_at is not null',
      );
      const stored = await db.one<LoginRef>(
        `select id, tenant_id as "tenantId" from agent.mcp_logins where server_id = $1 and user_id = $2`,
        [serverId, userId],
      );
      return stored;
    });
  }

  /** Claims the refresh of a login if its secrets are still these. False if it is another's, or no longer needed. */
  claimRefresh({ tenantId, id, secrets }: Login, claim: string): Promise<boolean> {
    return this.tenant(tenantId).exists(
      `update agent.mcp_logins
        set refresh_claim = $3, refresh_claimed_until = clock_timestamp() + make_interval(secs => ${refreshLeaseS})
        where id = $1 and secrets = $2 and lost_at is null
          and (refresh_claimed_until is null or refresh_claimed_until < clock_timestamp())`,
      [id, secrets, claim],
    );
  }

  /**
   * Stores refreshed tokens, patiently: the refresh token is used up. False if the claim is no longer this one: a consent
   * came meanwhile, or the login is gone.
   */
  async refreshed(
    { tenantId, id }: LoginRef,
    claim: string,
    { secrets, expiresInS, isRenewable }: Pick<NewLogin, 'secrets' | 'expiresInS' | 'isRenewable'>,
  ): Promise<boolean> {
    const stored = async () =>
      this.tenant(tenantId).exists(
        `update agent.mcp_logins set secrets = $3, (expires_at, refresh_due_at) = row(${times('$4', '$5')}),
           refresh_claim = null, refresh_claimed_until = null
         where id = $1 and refresh_claim = $2`,
        [id, claim, secrets, expiresInS, isRenewable],
      );
    return patiently(stored);
  }

  /** Gives a claim up, so another attempt may follow in `afterS`. */
  async release({ tenantId, id }: LoginRef, claim: string, afterS: number): Promise<void> {
    await this.tenant(tenantId).query(
      `update agent.mcp_logins set refresh_claimed_until = clock_timestamp() + make_interval(secs => $3)
        where id = $1 and refresh_claim = $2`,
      [id, claim, afterS],
    );
  }

  /**
   * Notes the issuer named by a server for the client of its tenant. The first one is kept. For another one the server
   * needs `auth` from then on. Throws `McpFailure` `other_issuer`, and `session` if the server is connected differently
   * meanwhile.
   */
  async bindIssuer({ id, tenantId, connectionId }: McpServerHead, issuer: string): Promise<void> {
    const reason = sentenceOf('other_issuer');
    const kind = await withTenant(this.pool, tenantId, async (db) => {
      const rows = await db.all<{ name: string; known: string; isNoted: boolean }>(
        `with before as (select id, coalesce(client_issuer, $3) as known, other_issuer from agent.mcp_servers
           where id = $1 and connection_id = $2 for update)
         update agent.mcp_servers as s set client_issuer = known,
           other_issuer = case when known = $3 then s.other_issuer else coalesce(s.other_issuer, $3) end,
           status = case when known = $3 or not s.enabled then s.status else 'needs_auth' end,
           status_reason = case when known = $3 or not s.enabled then s.status_reason else $4 end
         from before where s.id = before.id
         returning s.name, known, before.other_issuer is not null as "isNoted"`,
        [id, connectionId, issuer, reason],
      );
      const [row] = rows;
      if (row === undefined) return 'session';
      if (row.known === issuer) return null;
      const data = { mcp_server_id: id, name: row.name, user_id: null, reason };
      if (!row.isNoted)
        await this.#raise(db, { id: newId(), tenant_id: tenantId, type: 'mcp.needs_auth', data });
      return 'other_issuer';
    });
    if (kind !== null) throw new McpFailure(kind);
  }

  /**
   * Forgets the registration of the gateway, because the authorization server has: the next link registers it again.
   */
  async forgetClient({ tenantId, serverId }: Pick<Login, 'tenantId' | 'serverId'>): Promise<void> {
    await this.tenant(tenantId).query(
      `update agent.mcp_servers set secrets = null
        where id = $1 and auth ->> 'type' = 'oauth' and auth ->> 'clientId' is null`,
      [serverId],
    );
  }

  /** Replaces secrets of a server unless they have changed meanwhile. */
  async replaceSecrets(
    { tenantId, id, connectionId }: McpServerHead,
    { before, after }: { before: Buffer | null; after: Buffer | null },
  ): Promise<void> {
    await this.tenant(tenantId).query(
      `update agent.mcp_servers set secrets = $4
        where id = $1 and connection_id = $2 and secrets is not distinct from $3`,
      [id, connectionId, before, after],
    );
  }

  /** Marks the login as lost. */
  async lose(login: Login, claim: string): Promise<void> {
    const { tenantId, id } = login;
    await withTenant(this.pool, tenantId, async (db) => {
      const isLost = await db.exists(
        `update agent.mcp_logins set lost_at = clock_timestamp(), refresh_claim = null, refresh_claimed_until = null
         where id = $1 and refresh_claim = $2`,
        [id, claim],
      );
      if (isLost) await raiseLost(db, login, this.#raise);
    });
  }

  /**
   * Whether a user has a login at a server, or at another one by the same client of the tenant. A login shared by all
   * users counts too, since it may be with the account of this one.
   */
  isGrantInUse(
    { tenantId, serverId, userId }: Omit<LoginOf, 'connectionId'>,
    clientId: string,
  ): Promise<boolean> {
    return this.tenant(tenantId).exists(
      `select from agent.mcp_logins as l join agent.mcp_servers as s on s.id = l.server_id
        where l.tenant_id = $1 and l.user_id in ($2, '') and l.lost_at is null
          and (l.server_id = $3 or s.auth ->> 'clientId' = $4) limit 1`,
      [tenantId, userId, serverId, clientId],
    );
  }

  /**
   * Removes up to `limit` logins of a user, and the user's links, so a consent under way stores nothing afterwards.
   * Returns the logins.
   */
  forget(
    { tenantId, userId, before }: { tenantId: string; userId: string; before: Date },
    limit: number,
  ): Promise<EndedLogin[]> {
    return withTenant(this.pool, tenantId, async (db) => {
      await db.query(
        `delete from agent.consent_tickets where tenant_id = $1 and asked_by ->> 'user_id' = $2 and created_at <= $3`,
        [tenantId, userId, before],
      );
      return db.all(
        `delete from agent.mcp_logins where id = any (array(
           select id from agent.mcp_logins where tenant_id = $1 and user_id = $2 and created_at <= $3 limit $4))
         returning ${ended}`,
        [tenantId, userId, before, limit],
      );
    });
  }
}

/** Whether the ticket of a consent is still there; it stays until the transaction ends. */
export function holdTicket(db: Queryable, ticketId: string): Promise<boolean> {
  return db.exists('select from agent.consent_tickets where id = $1 for key share', [ticketId]);
}

/** Stores a login in the place of the one before. */
export async function putLogin(db: Queryable, login: NewLogin): Promise<void> {
  await insertLogin(db, login, '');
}

/** `where` says which login before it replaces. */
async function insertLogin(db: Queryable, login: NewLogin, where: string): Promise<void> {
  const { id, tenantId, serverId, connectionId, userId, secrets, expiresInS, isRenewable, madeAt } = login;
  await db.query(
    `insert into agent.mcp_logins as known
       (id, tenant_id, server_id, user_id, connection_id, secrets, expires_at, refresh_due_at, created_at, logged_in_at)
     values ($1, $2, $3, $4, $5, $6, ${times('$7', '$8')}, coalesce($9, clock_timestamp()), clock_timestamp())
     on conflict (server_id, user_id) do update set id = excluded.id, connection_id = excluded.connection_id,
       secrets = excluded.secrets, expires_at = excluded.expires_at, refresh_due_at = excluded.refresh_due_at,
       created_at = excluded.created_at, logged_in_at = excluded.logged_in_at, lost_at = null, refresh_claim = null,
       refresh_claimed_until = null, tools = null, tools_expire_at = null
     ${where}`,
    [id, tenantId, serverId, userId, connectionId, secrets, expiresInS, isRenewable, madeAt],
  );
}

/** Whether any user has a login for the connection of a server. */
export function hasLogin(
  db: Queryable,
  { id, connectionId }: { id: string; connectionId: string },
): Promise<boolean> {
  return db.exists(
    `select from agent.mcp_logins where server_id = $1 and connection_id = $2 and lost_at is null limit 1`,
    [id, connectionId],
  );
}

/**
 * Deletes the logins of a server for other connections; all if `connectionId` is null. Returns at most as many of them
 * as may wait to be revoked.
 */
export function deleteLoginsBut(
  db: Queryable,
  serverId: string,
  connectionId: string | null,
): Promise<EndedLogin[]> {
  return db.all(
    `with ended as (
       delete from agent.mcp_logins where server_id = $1 and connection_id is distinct from $2 returning ${ended})
     select id, "tenantId", "serverId", "userId", secrets from ended limit ${maxRevocations}`,
    [serverId, connectionId],
  );
}

/** Raises the alert asking a user to log in again. A login shared by all users shows in the status of the server. */
async function raiseLost(
  db: Queryable,
  { tenantId, serverId, userId }: Login,
  raise: RaiseAlert,
): Promise<void> {
  if (userId === '') return;
  const { name } = await db.one<{ name: string }>('select name from agent.mcp_servers where id = $1', [
    serverId,
  ]);
  const reason = 'The authorization server did not renew the login.';
  const data = { mcp_server_id: serverId, name, user_id: userId, reason };
  await raise(db, { id: newId(), tenant_id: tenantId, type: 'mcp.needs_auth', data });
}

/** Attempts to store tokens after their refresh token was used up: within the time of the claim. */
const storeTries = { most: 20, everyMs: 1_000 };

async function patiently<Result>(store: () => Promise<Result>): Promise<Result> {
  for (let left = storeTries.most; ; left -= 1) {
    try {
      return await store();
    } catch (error) {
      if (left === 0 || !isDatabaseOutage(error)) throw error;
      await sleep(storeTries.everyMs);
    }
  }
}
