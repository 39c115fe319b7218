import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { revisionHash } from '@gatehouse/transfers/store/rows';

/** What transfers of resources between tenants read, one tenant at a time. */

type OwnType = 'agent' | 'mcp_server';

interface Ref {
  type: OwnType;
  id: string;
}

/** A resource as a transfer shows it. */
export interface Transferable extends Ref {
  name: string;
  revision: string;
  hasSecrets: boolean;
  models: string[];
}

/** An agent that uses a server. */
export interface ServerUse {
  agentId: string;
  key: string;
  serverId: string;
}

export interface TakenName extends Ref {
  existingId: string;
  freeName: string;
}

/** What of a row `r` a transfer would bring to its target. */
export const revisionOf = {
  'agent.agents': revisionHash(`(to_jsonb(r) - 'locked_by' - 'closed' - 'arriving_in')`),
  'agent.mcp_servers': revisionHash(
    'row(name, url, transport, auth, tool_filter, timeout_ms, enabled, connection_id)',
  ),
} as const;
const tables: Record<OwnType, { table: string; name: string }> = {
  agent: { table: 'agent.agents', name: 'key' },
  mcp_server: { table: 'agent.mcp_servers', name: 'name' },
};
/** Uses of one transfer that are shown. */
const maxUses = 1_000;
/** Room for a number at the end of a name of 64 characters. */
const maxBase = 58;

export class TransferStore {
  readonly #pool: Pool;

  /** `pool` acts as `agent_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Those of these agents and servers that the tenant has. */
  async find(
    tenantId: string,
    { agents, servers }: { agents: readonly string[]; servers: readonly string[] },
  ): Promise<Transferable[]> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Transferable>(
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
      return rows;
    });
  }

  /** Servers that agents name, of these agents, and of all agents for these servers. */
  async findUses(
    tenantId: string,
    { agents, servers }: { agents: readonly string[]; servers: readonly string[] },
  ): Promise<ServerUse[]> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<ServerUse>(
        `select distinct a.id as "agentId", a.key, s.id as "serverId"
         from agent.agents as a
           cross join json_array_elements_text(a.tools->'mcp_servers') as ref
           join agent.mcp_servers as s on s.tenant_id = $1 and s.name = split_part(ref, '/', 1)
         where a.tenant_id = $1 and (a.id = any ($2) or s.id = any ($3))
         order by 2, 3 limit $4`,
        [tenantId, agents, servers, maxUses],
      );
      return rows;
    });
  }

  /** Those whose names a tenant has already. A free name is none of the other resources either. */
  async findTaken(tenantId: string, resources: readonly (Ref & { name: string })[]): Promise<TakenName[]> {
    return withTenant(this.#pool, tenantId, async (db) => [
      ...(await takenIn(db, tenantId, 'agent', resources)),
      ...(await takenIn(db, tenantId, 'mcp_server', resources)),
    ]);
  }

  async countServers(tenantId: string): Promise<number> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<{ count: number }>(
        'select count(*)::integer as count from agent.mcp_servers where tenant_id = $1',
        [tenantId],
      );
      return rows[0]?.count ?? 0;
    });
  }
}

async function takenIn(
  db: Queryable,
  tenantId: string,
  type: OwnType,
  resources: readonly (Ref & { name: string })[],
): Promise<TakenName[]> {
  const { table, name } = tables[type];
  const own = resources.filter((resource) => resource.type === type);
  const { rows } = await db.query<TakenName>(
    `select $2 as type, r.id, t.id as "existingId", (
       select left(r.name, ${maxBase}) || '-' || number from generate_series(2, 100000) as number
       where not exists (select from ${table} as o
           where o.tenant_id = $1 and o.${name} = left(r.name, ${maxBase}) || '-' || number)
         and left(r.name, ${maxBase}) || '-' || number <> all ($4::text[])
       order by number limit 1) as "freeName"
     from unnest($3::uuid[], $4::text[]) as r (id, name)
       join ${table} as t on t.tenant_id = $1 and t.${name} = r.name`,
    [tenantId, type, own.map(({ id }) => id), own.map((resource) => resource.name)],
  );
  return rows;
}
