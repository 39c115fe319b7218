import { AppError } from '@gatehouse/kit/errors';
import { isUuid, newId } from '@gatehouse/kit/ids';
import { assertUnlocked } from '@gatehouse/transfers/store/rows';
import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { only } from '@gatehouse/pg/rows';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { Listed, ServerRecord } from '../mcp/mcp-registry.ts';
import type { KnownHead, KnownServer, McpServer, McpServerHead, McpSettings } from '../mcp/mcp-server.ts';
import type { McpTool } from '../mcp/mcp-tool.ts';
import { changedToolAlerts } from '../mcp/tool-changes.ts';
import { goodSecondsOf, type ListTexts } from '../mcp/tool-lists.ts';
import { acceptance, reviewed, type AcceptedTool, type ToolChange } from '../mcp/tool-review.ts';
import { longestRetryS, maxAccepted } from '../bounds.ts';

/** The column of each setting. */
const settingColumns = {
  name: 'name',
  url: 'url',
  transport: 'transport',
  auth: 'auth',
  toolFilter: 'tool_filter',
  timeoutMs: 'timeout_ms',
  enabled: 'enabled',
  trust: 'trust',
} as const satisfies Record<keyof McpSettings, string>;
const settingNames = Object.keys(settingColumns) as (keyof McpSettings)[];

const headColumns = `id, tenant_id as "tenantId",
  ${settingNames
    .filter((name) => name !== 'toolFilter')
    .map((name) => `${settingColumns[name]} as "${name}"`)
    .join(', ')},
  secrets, status, status_reason as "statusReason", client_issuer as "clientIssuer", other_issuer as "otherIssuer",
  connection_id as "connectionId",
  protocol_version as "protocolVersion", coalesce(tools_revision::text, '') as "toolsRevision",
  tools_updated_at as "toolsUpdatedAt", created_at as "createdAt", updated_at as "updatedAt"`;
const columns = `${headColumns}, tool_filter as "toolFilter", tools, accepted`;
const health = `tools_expire_at is null or tools_expire_at <= clock_timestamp() as "isStale",
  greatest(extract(epoch from retry_at - clock_timestamp()), 0)::float8 as "retryInS"`;

const valuesOf = (settings: McpSettings): unknown[] =>
  settingNames.map((name) => {
    const value = settings[name];
    return typeof value === 'object' ? JSON.stringify(value) : value;
  });

/** The MCP servers of one tenant at a time. */
export class ServerStore extends Store implements ServerRecord {
  readonly #raise: RaiseAlert;

  /** `pool` acts as `agent_app`; `raise` gets servers in need of a login or of other secrets. */
  constructor(pool: Pool, raise: RaiseAlert) {
    super(pool);
    this.#raise = raise;
  }

  /** Newest first, below the id `before`. */
  list(tenantId: string, { limit, before }: PageRequest): Promise<PageRows<McpServer>> {
    return readPage<McpServer>(this.tenant(tenantId), {
      columns,
      from: `agent.mcp_servers where tenant_id = $1 and ($2::uuid is null or id < $2)`,
      order: 'id desc',
      size: sizeOf('tools::text', 'accepted::text', 'tool_filter::text', 'url'),
      limit,
      values: [tenantId, before],
    });
  }

  async find(tenantId: string, id: string): Promise<KnownServer | null> {
    const [server] = await this.#select<KnownServer>(tenantId, 'id = $1', [id]);
    return server ?? null;
  }

  async findHead(tenantId: string, id: string): Promise<KnownHead | null> {
    const [head] = await this.#select<KnownHead>(tenantId, 'id = $1', [id], headColumns);
    return head ?? null;
  }

  /** The server with this id or name. */
  async findByRef(tenantId: string, ref: string): Promise<McpServer | null> {
    const [server] = isUuid(ref)
      ? await this.#select<KnownServer>(tenantId, 'id = $1', [ref])
      : await this.#select<KnownServer>(tenantId, 'tenant_id = $1 and name = $2', [tenantId, ref]);
    return server ?? null;
  }

  /** The usable ones among servers with these names. */
  async findEnabled(tenantId: string, names: readonly string[]): Promise<KnownHead[]> {
    const where = 'tenant_id = $1 and enabled and name = any ($2)';
    return this.#select<KnownHead>(tenantId, where, [tenantId, names], headColumns);
  }

  /** Those of these names that belong to a server, whether it is enabled or not. */
  async knownNames(tenantId: string, names: readonly string[]): Promise<string[]> {
    const known = await this.tenant(tenantId).all<{ name: string }>(
      'select name from agent.mcp_servers where tenant_id = $1 and name = any ($2)',
      [tenantId, names],
    );
    return known.map(({ name }) => name);
  }

  /** The lists of a server and the filter of its tools, unparsed. */
  async findTexts({
    tenantId,
    id,
  }: Pick<McpServerHead, 'tenantId' | 'id'>): Promise<(ListTexts & { toolFilter: string }) | null> {
    return this.tenant(tenantId).first(
      `select coalesce(tools_revision::text, '') as revision, tools::text, accepted::text,
          tool_filter::text as "toolFilter"
        from agent.mcp_servers where id = $1`,
      [id],
    );
  }

  isNameTaken(tenantId: string, name: string): Promise<boolean> {
    return this.tenant(tenantId).exists(
      'select 1 as one from agent.mcp_servers where tenant_id = $1 and name = $2',
      [tenantId, name],
    );
  }

  setTools(server: McpServerHead, listed: Listed): Promise<McpTool[]> {
    return withTenant(this.pool, server.tenantId, async (db) => {
      const noted = await noteTools(db, server, listed);
      if (noted === null) return [];
      for (const alert of changedToolAlerts(server, null, noted.changes)) await this.#raise(db, alert);
      return noted.server.tools.filter(acceptance(noted.server));
    });
  }

  async setFailure(
    { tenantId, id, connectionId }: McpServerHead,
    { status, reason }: { status: 'error' | 'needs_auth'; reason: string },
  ): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      const rows = await db.all<{ name: string; was: McpServer['status'] }>(
        `with before as (select id, status from agent.mcp_servers
           where id = $1 and connection_id = $2 and enabled for update)
         update agent.mcp_servers as s set status = $3, status_reason = $4, failures = least(failures + 1, 100),
           retry_at = clock_timestamp() + make_interval(secs => least(2 ^ least(failures, 16), ${longestRetryS}))
         from before where s.id = before.id returning s.name, before.status as was`,
        [id, connectionId, status, reason],
      );
      const [row] = rows;
      if (row === undefined || status !== 'needs_auth' || row.was === 'needs_auth') return;
      const data = { mcp_server_id: id, name: row.name, user_id: null, reason };
      await this.#raise(db, { id: newId(), tenant_id: tenantId, type: 'mcp.needs_auth', data });
    });
  }

  async setConnected({ tenantId, id, connectionId }: McpServerHead): Promise<void> {
    await this.tenant(tenantId).query(
      `update agent.mcp_servers set status = 'connected', status_reason = null, failures = 0, retry_at = null
        where id = $1 and connection_id = $2 and enabled and other_issuer is null`,
      [id, connectionId],
    );
  }

  async expireTools({ tenantId, id }: McpServerHead): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      for (const [table, column] of [
        ['mcp_servers', 'id'],
        ['mcp_logins', 'server_id'],
      ])
        await db.query(`update agent.${table} set tools_expire_at = clock_timestamp() where ${column} = $1`, [
          id,
        ]);
    });
  }

  #select<Row extends KnownHead>(
    tenantId: string,
    where: string,
    values: unknown[],
    selected = columns,
  ): Promise<Row[]> {
    return this.tenant(tenantId).all(
      `select ${selected}, ${health} from agent.mcp_servers where ${where}`,
      values,
    );
  }
}

/** The server, locked until the transaction ends; null without one. Throws `resource_locked` while a transfer uses it. */
export async function lockMcpServer(db: Queryable, id: string): Promise<McpServer | null> {
  const rows = await db.all<McpServer>(`select ${columns} from agent.mcp_servers where id = $1 for update`, [
    id,
  ]);
  const [server] = rows;
  if (server === undefined) return null;
  await assertUnlocked(db, 'agent.mcp_servers', id);
  return server;
}

/** The servers of a tenant so far. Other additions wait until the transaction ends. */
export async function countMcpServers(db: Queryable, tenantId: string): Promise<number> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`mcp servers of ${tenantId}`]);
  const { count } = await db.one<{ count: number }>(
    'select count(*)::integer as count from agent.mcp_servers where tenant_id = $1',
    [tenantId],
  );
  return count;
}

/** The values of a server besides its settings. */
export type ServerState = Pick<
  McpServer,
  'connectionId' | 'secrets' | 'status' | 'statusReason' | 'clientIssuer'
> & { settings: McpSettings };

/** Throws `mcp_name_taken`. */
export async function insertMcpServer(
  db: Queryable,
  server: Pick<McpServer, 'id' | 'tenantId'> & ServerState,
): Promise<McpServer> {
  const { id, tenantId, connectionId, secrets, status, statusReason, clientIssuer, settings } = server;
  const inserted = db.query<McpServer>(
    `insert into agent.mcp_servers (id, tenant_id, connection_id, secrets, status, status_reason, client_issuer,
       ${Object.values(settingColumns).join(', ')})
     values ($1, $2, $3, $4, $5, $6, $7, ${settingNames.map((_, index) => `$${index + 8}`).join(', ')})
     returning ${columns}`,
    [id, tenantId, connectionId, secrets, status, statusReason, clientIssuer, ...valuesOf(settings)],
  );
  return only(await inserted.catch(nameTaken));
}

const urlAt = settingNames.indexOf('url') + 8;

/**
 * Throws `mcp_name_taken`. With another `connectionId`, what was known of the server is known no longer. Another URL is
 * another server: nothing of its tools is accepted.
 */
export async function updateMcpServer(
  db: Queryable,
  id: string,
  {
    settings,
    connectionId,
    secrets,
    status,
    statusReason,
    clientIssuer,
    otherIssuer,
  }: ServerState & Pick<McpServer, 'otherIssuer'>,
): Promise<McpServer> {
  const updated = db.query<McpServer>(
    `update agent.mcp_servers set connection_id = $2, secrets = $3, status = $4, status_reason = $5,
       client_issuer = $6, other_issuer = $7,
       ${settingNames.map((name, index) => `${settingColumns[name]} = $${index + 8}`).join(', ')},
       updated_at = clock_timestamp(), failures = 0, retry_at = null,
       tools_expire_at = case when connection_id = $2 then tools_expire_at end,
       tools_updated_at = case when url = $${urlAt} then tools_updated_at end,
       accepted = case when url = $${urlAt} then accepted else '[]' end
     where id = $1 returning ${columns}`,
    [id, connectionId, secrets, status, statusReason, clientIssuer, otherIssuer, ...valuesOf(settings)],
  );
  return only(await updated.catch(nameTaken));
}

/** Stores a server's list, if its connection is still the same, and finds changed definitions. */
export async function noteTools(
  db: Queryable,
  { id, connectionId }: Pick<McpServer, 'id' | 'connectionId'>,
  { tools, ttlMs, protocolVersion }: Listed,
): Promise<{ server: McpServer; changes: ToolChange[] } | null> {
  const goodS = goodSecondsOf(ttlMs);
  const before = await db.first<Pick<McpServer, 'tools' | 'accepted' | 'trust'> & { isFirst: boolean }>(
    'select tools, accepted, trust, tools_updated_at is null as "isFirst" from agent.mcp_servers where id = $1 and connection_id = $2 for update',
    [id, connectionId],
  );
  if (before === null) return null;
  // Until then its tools are those of another URL.
  const known = before.isFirst ? { tools: [], accepted: before.accepted } : before;
  const { accepted, changes } = reviewed(known, tools, before.trust);
  const noted = await db.one<McpServer>(
    `update agent.mcp_servers set status = case when enabled and other_issuer is null then 'connected' else status end,
       status_reason = case when other_issuer is null then null else status_reason end, failures = 0, retry_at = null, protocol_version = $3, tools = $4, accepted = $6,
       tools_updated_at = clock_timestamp(), tools_expire_at = clock_timestamp() + make_interval(secs => $5)
     where id = $1 and connection_id = $2 returning ${columns}`,
    [id, connectionId, protocolVersion, JSON.stringify(tools), goodS, JSON.stringify(accepted)],
  );
  return { server: noted, changes };
}

/** Accepts the definition of this digest for a tool. */
export async function acceptTool(
  db: Queryable,
  { id, accepted }: Pick<McpServer, 'id' | 'accepted'>,
  tool: AcceptedTool,
): Promise<McpServer> {
  const others = accepted.filter(({ name }) => name !== tool.name);
  if (others.length >= maxAccepted)
    throw new AppError(
      'limit_reached',
      `The definitions of ${maxAccepted} tools of a server can be accepted.`,
    );
  return db.one(
    `update agent.mcp_servers set accepted = $2, updated_at = clock_timestamp() where id = $1 returning ${columns}`,
    [id, JSON.stringify([...others, tool])],
  );
}

export async function deleteMcpServer(db: Queryable, id: string): Promise<void> {
  await db.query('delete from agent.mcp_servers where id = $1', [id]);
}

function nameTaken(error: unknown): never {
  if (!isUniqueViolation(error, 'mcp_servers_tenant_id_name_key')) throw error;
  throw takenName(error);
}

export function takenName(cause?: unknown): AppError {
  return new AppError('mcp_name_taken', 'Another MCP server of the tenant has this name.', {
    param: 'name',
    cause,
  });
}
