import { defaultMinScore } from '@gatehouse/contract/agents';
import { AppError } from '@gatehouse/kit/errors';
import { isFields } from '@gatehouse/kit/fields';
import { isUuid } from '@gatehouse/kit/ids';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import { assertUnlocked } from '@gatehouse/transfers/store/rows';
import type { PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import { Store } from '@gatehouse/pg/store';
import {
  isAgentRef,
  settingNames,
  type ActiveAgent,
  type Agent,
  type AgentSettings,
  type AgentSummary,
} from './agent.ts';
import type { Viewer } from './viewer.ts';

export interface AgentFilter {
  status: Agent['status'] | null;
  /** Part of the key, name or description; case-insensitive. */
  q: string | null;
  limit: number;
  /** Continue below this id; null for the first page. */
  before: string | null;
}

/** Defaults for rows from before a setting existed. */
const defaults: Partial<Record<keyof AgentSettings, string>> = {
  memory: JSON.stringify({ analyser: 'english', min_score: defaultMinScore }),
  tools: '{"max_cost_usd": null, "web_hosts": []}',
};
const selected = settingNames.map((column) => {
  const missing = defaults[column];
  return missing === undefined ? column : `('${missing}'::jsonb || ${column}::jsonb) as ${column}`;
});
const columns = `id, ${selected.join(', ')}, closed as "isClosed", created_at as "createdAt", updated_at as "updatedAt"`;

/** SQL condition for rows visible to the viewer, with the parameters from `sight`. */
const visible = `tenant_id = $1 and ($2::boolean or visibility = 'tenant' or owner_user_id = $3::text)`;

function sight({
  tenantId,
  seesAll,
  user,
}: Viewer): [tenantId: string, seesAll: boolean, user: string | null] {
  return [tenantId, seesAll, user];
}

/** The agents of one tenant at a time. An agent hidden from the viewer is treated as missing. */
export class AgentStore extends Store {
  /** Newest first. */
  list(viewer: Viewer, filter: AgentFilter): Promise<PageRows<Agent>> {
    return readPage<Agent>(this.tenant(viewer.tenantId), {
      columns,
      from: `agent.agents
         where ${visible}
           and ($4::text is null or status = $4)
           and ($5::text is null or strpos(key, lower($5)) > 0 or strpos(lower(name), lower($5)) > 0
             or strpos(lower(description), lower($5)) > 0)
           and ($6::uuid is null or id < $6)`,
      order: 'id desc',
      size: sizeOf('system_prompt', 'description', 'parameters::text', 'tools::text', 'metadata::text'),
      limit: filter.limit,
      values: [...sight(viewer), filter.status, filter.q, filter.before],
    });
  }

  /** Active ones, newest first, below the id `before`; one more than `limit` when there are more. */
  listActive(
    viewer: Viewer,
    { limit, before }: Pick<AgentFilter, 'limit' | 'before'>,
  ): Promise<AgentSummary[]> {
    return this.tenant(viewer.tenantId).all(
      `select id, key, created_at as "createdAt" from agent.agents
        where ${visible} and status = 'active' and ($4::uuid is null or id < $4) order by id desc limit $5`,
      [...sight(viewer), before, limit + 1],
    );
  }

  /** The names of the agents with these ids, as far as the viewer may see them. */
  names(viewer: Viewer, ids: readonly string[]): Promise<Pick<Agent, 'id' | 'key' | 'name'>[]> {
    return this.tenant(viewer.tenantId).all(
      `select id, key, name from agent.agents where ${visible} and id = any($4::uuid[])`,
      [...sight(viewer), ids],
    );
  }

  /** The names of the agents with these keys, likewise. */
  keyed(viewer: Viewer, keys: readonly string[]): Promise<Pick<Agent, 'id' | 'key' | 'name'>[]> {
    return findKeyedAgents(this.tenant(viewer.tenantId), viewer, keys);
  }

  /** The active agents with these keys, likewise. */
  findActive(viewer: Viewer, keys: readonly string[]): Promise<ActiveAgent[]> {
    return this.tenant(viewer.tenantId).all(
      `select id, key, name, description from agent.agents
       where ${visible} and status = 'active' and not closed and key = any($4::text[])`,
      [...sight(viewer), keys],
    );
  }

  /** The newest `limit` agents with a key or name that begins with this text, in any case. */
  named(
    viewer: Viewer,
    { prefix, limit }: { prefix: string; limit: number },
  ): Promise<Pick<Agent, 'id' | 'key' | 'name'>[]> {
    return this.tenant(viewer.tenantId).all(
      `select id, key, name from agent.agents
       where ${visible} and (starts_with(key, lower($4)) or starts_with(lower(name), lower($4)))
       order by id desc limit $5`,
      [...sight(viewer), prefix, limit],
    );
  }

  /** By id or key. */
  find(viewer: Viewer, ref: string): Promise<Agent | null> {
    return withTenant(this.pool, viewer.tenantId, (db) => selectAgent(db, viewer, ref));
  }
}

/**
 * The agent, locked until the transaction ends, so concurrent changes lose nothing. Null without an agent visible to
 * the viewer. Throws `resource_locked` while a transfer uses it.
 */
export async function lockAgent(db: Queryable, viewer: Viewer, ref: string): Promise<Agent | null> {
  const agent = await selectAgent(db, viewer, ref, 'for update');
  if (agent !== null) await assertUnlocked(db, 'agent.agents', agent.id);
  return agent;
}

async function selectAgent(
  db: Queryable,
  viewer: Viewer,
  ref: string,
  lock: '' | 'for update' = '',
): Promise<Agent | null> {
  // The text may contain characters PostgreSQL does not accept.
  if (!isAgentRef(ref)) return null;
  // A key may have the form of an id; an agent with this id then comes first.
  return db.first(
    `select ${columns} from agent.agents
     where ${visible} and (id = $4::uuid or key = $5)
     order by (id = $4::uuid) desc nulls last limit 1 ${lock}`,
    [...sight(viewer), isUuid(ref) ? ref : null, ref],
  );
}

/** The names of the agents with these keys, as far as the viewer may see them. On a connection of the tenant. */
export async function findKeyedAgents(
  db: Queryable,
  viewer: Viewer,
  keys: readonly string[],
): Promise<Pick<Agent, 'id' | 'key' | 'name'>[]> {
  return db.all(`select id, key, name from agent.agents where ${visible} and key = any($4::text[])`, [
    ...sight(viewer),
    keys,
  ]);
}

/**
 * Serializes the tenant's changes of agent keys. Otherwise two concurrent changes swapping the keys of two agents would
 * wait for each other, and PostgreSQL would abort one of them as a deadlock.
 */
async function lockKeys(db: Queryable, tenantId: string): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`agent keys of ${tenantId}`]);
}

/** Throws `agent_key_taken`. */
export async function insertAgent(
  db: Queryable,
  tenantId: string,
  { id, settings }: { id: string; settings: AgentSettings },
): Promise<Agent> {
  const inserted = db.query<Agent>(
    `insert into agent.agents (id, tenant_id, ${settingNames.join(', ')})
     values ($1, $2, ${settingNames.map((_, index) => `$${index + 3}`).join(', ')})
     returning ${columns}`,
    [id, tenantId, ...settingValues(settings)],
  );
  return only(await inserted.catch(nameTakenKey));
}

/** Throws `agent_key_taken`. */
export async function updateAgent(
  db: Queryable,
  tenantId: string,
  { before, settings }: { before: Agent; settings: AgentSettings },
): Promise<Agent> {
  if (settings.key !== before.key) await lockKeys(db, tenantId);
  // Not now(): the transaction may have begun before the change it waited for.
  const updated = db.query<Agent>(
    `update agent.agents set
       ${settingNames.map((column, index) => `${column} = $${index + 2}`).join(', ')},
       updated_at = clock_timestamp()
     where id = $1
     returning ${columns}`,
    [before.id, ...settingValues(settings)],
  );
  return only(await updated.catch(nameTakenKey));
}

export async function deleteAgent(db: Queryable, id: string): Promise<void> {
  await db.query('delete from agent.agents where id = $1', [id]);
}

/** The values in the order of `settingNames`. An object is stored as JSON. */
function settingValues(settings: AgentSettings): unknown[] {
  return settingNames.map((column) => {
    const value = settings[column];
    return isFields(value) ? JSON.stringify(value) : value;
  });
}

function nameTakenKey(error: unknown): never {
  if (!isUniqueViolation(error, 'agents_tenant_id_key_key')) throw error;
  throw new AppError('agent_key_taken', 'Another agent of the tenant has this key.', {
    param: 'key',
    cause: error,
  });
}
