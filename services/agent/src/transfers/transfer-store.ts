import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { revisionHash } from '@gatehouse/transfers/store/rows';

/** Reads for transfers of resources between tenants, one tenant at a time. */

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

/** The columns of a row `r` that a transfer brings to its target. */
export const revisionOf = {
  'agent.agents': revisionHash(
    'row(key, name, description, model, model_fallbacks, system_prompt, parameters, tools, memory, visibility, owner_user_id, status, metadata)',
  ),
  // Accepted tools count by names and digests, in any order: another list may only wait for a review.
  'agent.mcp_servers': revisionHash(
    `row(name, url, transport, auth, tool_filter, timeout_ms, enabled, connection_id, trust,
      (select jsonb_object_agg(a->>'name', a->>'digest') from json_array_elements(accepted) as a))`,
  ),
} as const;
const tables: Record<OwnType, { table: string; name: string }> = {
  agent: { table: 'agent.agents', name: 'key' },
  mcp_server: { table: 'agent.mcp_servers', name: 'name' },
};
/** Uses by agents that are not part of a transfer, and are shown. */
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

  /** Servers that agents name: all of these agents, and some that other agents use of these servers. */
  async findUses(
    tenantId: string,
    { agents, servers }: { agents: readonly string[]; servers: readonly string[] },
  ): Promise<ServerUse[]> {
    const uses = `select distinct a.id as "agentId", a.key, s.id as "serverId"
      from agent.agents as a
        cross join json_array_elements_text(a.tools->'mcp_servers') as ref
        join agent.mcp_servers as s on s.tenant_id = $1 and s.name = split_part(ref, '/', 1)
      where a.tenant_id = $1`;
    return withTenant(this.#pool, tenantId, async (db) => {
      const agentUses = await db.query<ServerUse>(`${uses} and a.id = any ($2)`, [tenantId, agents]);
      const others = await db.query<ServerUse>(
        `${uses} and s.id = any ($2) and a.id <> all ($3) order by 2, 3 limit $4`,
        [tenantId, servers, agents, maxUses],
      );
      return [...agentUses.rows, ...others.rows];
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
  const refs = resources.filter((resource) => resource.type === type);
  const { rows } = await db.query<{ id: string; name: string; existingId: string }>(
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
