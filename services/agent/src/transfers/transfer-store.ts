import { type Queryable, withTenant } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { revisionHash } from '@gatehouse/transfers/store/rows';
import { settingNames } from '../agents/agent.ts';
import { maxUses } from '../bounds.ts';

/** Reads for transfers of resources between tenants, one tenant at a time. */

type TransferType = 'agent' | 'mcp_server';

interface TransferRef {
  type: TransferType;
  id: string;
}

/** A resource as a transfer shows it. */
export interface Transferable extends TransferRef {
  name: string;
  revision: string;
  hasSecrets: boolean;
  models: string[];
}

/** An agent's use of a server. */
export interface ServerUse {
  agentId: string;
  key: string;
  serverId: string;
}

export interface TakenName extends TransferRef {
  existingId: string;
  freeName: string;
}

/** The columns of a row `r` brought to the target by a transfer. */
export const revisionOf = {
  'agent.agents': revisionHash(`row(${settingNames.join(', ')})`),
  // Accepted tools count by names and digests, in any order: another list may only wait for a review.
  'agent.mcp_servers': revisionHash(
    `row(name, url, transport, auth, tool_filter, timeout_ms, enabled, connection_id, trust,
      (select jsonb_object_agg(a->>'name', a->>'digest') from json_array_elements(accepted) as a))`,
  ),
} as const;
const tables: Record<TransferType, { table: string; name: string }> = {
  agent: { table: 'agent.agents', name: 'key' },
  mcp_server: { table: 'agent.mcp_servers', name: 'name' },
};
/** Room for a number at the end of a name of 64 characters. */
const maxBase = 58;

export class AgentTransferStore extends Store {
  /** The tenant's own among these agents and servers. */
  find(
    tenantId: string,
    { agents, servers }: { agents: readonly string[]; servers: readonly string[] },
  ): Promise<Transferable[]> {
    return this.tenant(tenantId).all(
      `select 'agent' as type, id, key as name, ${revisionOf['agent.agents']} as revision, false as "hasSecrets",
          array_prepend(model, model_fallbacks) as models
        from agent.agents as r where tenant_id = $1 and id = any ($2)
        union all
        select 'mcp_server', id, name,
          ${revisionOf['agent.mcp_servers']},
          secrets is not null, '{}'
        from agent.mcp_servers as r where tenant_id = $1 and id = any ($3)`,
      [tenantId, agents, servers],
    );
  }

  /** Uses of servers by agents: all by these agents, and some of these servers by other agents. */
  async findUses(
    tenantId: string,
    { agents, servers }: { agents: readonly string[]; servers: readonly string[] },
  ): Promise<ServerUse[]> {
    const uses = `select distinct a.id as "agentId", a.key, s.id as "serverId"
      from agent.agents as a
        cross join json_array_elements_text(a.tools->'mcp_servers') as ref
        join agent.mcp_servers as s on s.tenant_id = $1 and s.name = split_part(ref, '/', 1)
      where a.tenant_id = $1`;
    return withTenant(this.pool, tenantId, async (db) => {
      const agentUses = await db.all<ServerUse>(`${uses} and a.id = any ($2)`, [tenantId, agents]);
      const others = await db.all<ServerUse>(
        `${uses} and s.id = any ($2) and a.id <> all ($3) order by 2, 3 limit $4`,
        [tenantId, servers, agents, maxUses],
      );
      return [...agentUses, ...others];
    });
  }

  /**
   * Resources with a name already in use in a tenant. A free name differs from the names of the other resources too.
   */
  findTaken(tenantId: string, resources: readonly (TransferRef & { name: string })[]): Promise<TakenName[]> {
    return withTenant(this.pool, tenantId, async (db) => [
      ...(await takenIn(db, tenantId, 'agent', resources)),
      ...(await takenIn(db, tenantId, 'mcp_server', resources)),
    ]);
  }

  countServers(tenantId: string): Promise<number> {
    return withTenant(this.pool, tenantId, async (db) => {
      return (
        (
          await db.first<{ count: number }>(
            'select count(*)::integer as count from agent.mcp_servers where tenant_id = $1',
            [tenantId],
          )
        )?.count ?? 0
      );
    });
  }
}

async function takenIn(
  db: Queryable,
  tenantId: string,
  type: TransferType,
  resources: readonly (TransferRef & { name: string })[],
): Promise<TakenName[]> {
  const { table, name } = tables[type];
  const refs = resources.filter((resource) => resource.type === type);
  const rows = await db.all<{ id: string; name: string; existingId: string }>(
    `select r.id, r.name, t.id as "existingId" from unnest($2::uuid[], $3::text[]) as r (id, name)
     cross join lateral (select id from ${table} where tenant_id = $1 and ${name} = r.name offset 0) as t`,
    [tenantId, refs.map(({ id }) => id), refs.map((resource) => resource.name)],
  );
  if (rows.length === 0) return [];
  const bases = rows.map((row) => row.name.slice(0, maxBase));
  const alike = await db.query<{ name: string }>(
    `select ${name} as name from ${table} where tenant_id = $1 and ${name} ~ '-[0-9]+$'
      and regexp_replace(${name}, '-[0-9]+$', '') = any ($2)`,
    [tenantId, bases],
  );
  const taken = new Set([...alike.rows, ...refs].map((each) => each.name));
  return rows.map(({ id, name: wanted, existingId }) => {
    const freeName = freeNameOf(wanted.slice(0, maxBase), taken);
    // Two long names may begin alike.
    taken.add(freeName);
    return { type, id, existingId, freeName };
  });
}

function freeNameOf(base: string, taken: ReadonlySet<string>): string {
  for (let number = 2; ; number += 1) if (!taken.has(`${base}-${number}`)) return `${base}-${number}`;
}

/** Statements of the steps of transfers. The tenant of the transaction decides which rows they reach. */

export type TransferTable = 'agent.agents' | 'agent.mcp_servers';

/** Constraints of names, which are reserved in the target. */
export const nameConstraints = ['agents_tenant_id_key_key', 'mcp_servers_tenant_id_name_key'];

/** Refuses requests to agents locked by a transfer. */
export async function closeAgents(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('update agent.agents set closed = true where id = any ($1)', [ids]);
}

/** Agents locked by a transfer take requests again. */
export async function openAgents(db: Queryable, transferId: string): Promise<void> {
  await db.query('update agent.agents set closed = false where locked_by = $1', [transferId]);
}

/** Whether a login at one of these servers is being refreshed. No refresh begins until the transaction ends. */
export async function isRefreshing(db: Queryable, serverIds: readonly string[]): Promise<boolean> {
  const rows = await db.all<{ claimed: boolean }>(
    `select coalesce(refresh_claimed_until > clock_timestamp(), false) as claimed from agent.mcp_logins
     where server_id = any ($1) order by id for update`,
    [serverIds],
  );
  return rows.some(({ claimed }) => claimed);
}

/** A row as JSON text, with its encrypted secrets. */
export interface TransferredLogin {
  id: string;
  secrets: Buffer;
}

/** The login shared by all users of a server, if it has one. */
export function readSharedLogin(db: Queryable, serverId: string): Promise<TransferredLogin | null> {
  return db.first(
    `select id, secrets from agent.mcp_logins
     where server_id = $1 and user_id = '' and lost_at is null`,
    [serverId],
  );
}

export async function deleteRow(db: Queryable, table: TransferTable, id: string): Promise<void> {
  await db.query(`delete from ${table} where id = $1`, [id]);
}

/** Deletes what a transfer has hidden in the target. */
export async function deleteHidden(db: Queryable, table: TransferTable, transferId: string): Promise<void> {
  await db.query(`delete from ${table} where arriving_in = $1`, [transferId]);
}

/** Shows what a transfer has hidden in the target. */
export async function showHidden(db: Queryable, table: TransferTable, transferId: string): Promise<void> {
  await db.query(`update ${table} set arriving_in = null where arriving_in = $1`, [transferId]);
}
