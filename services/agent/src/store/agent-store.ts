import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { Agent, AgentSettings } from '../domain/agent.ts';
import type { Visibility } from '../domain/visibility.ts';

export interface AgentFilter {
  visibility: Visibility;
  status?: string | undefined;
  /** A part of key, name or description, in any case. */
  q?: string | undefined;
  limit: number;
  /** Continue below this id; null for the first page. */
  before: string | null;
}

const columns = `id, key, name, description, model, model_fallbacks, system_prompt, parameters, tools, memory, visibility,
  owner_user_id, status, metadata, created_at as "createdAt", updated_at as "updatedAt"`;

/** Holds for a row that the caller may see; takes `$1` (sees all) and `$2` (its user). */
const visible = `($1::boolean or visibility = 'tenant' or owner_user_id = $2::text)`;

/** The agents of one tenant at a time. What the caller may not see is as good as not there. */
export class AgentStore {
  readonly #pool: Pool;

  /** `pool` acts as `agent_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Newest first, one more than `limit` when there are more. */
  async list(tenantId: string, filter: AgentFilter): Promise<Agent[]> {
    const pattern = filter.q === undefined ? null : `%${filter.q.replaceAll(/[\\%_]/g, '\\$&')}%`;
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Agent>(
        `select ${columns} from agent.agents
         where ${visible} and tenant_id = $3
           and ($4::text is null or status = $4)
           and ($5::text is null or key ilike $5 or name ilike $5 or description ilike $5)
           and ($6::uuid is null or id < $6)
         order by id desc limit $7`,
        [
          ...sight(filter.visibility),
          tenantId,
          filter.status ?? null,
          pattern,
          filter.before,
          filter.limit + 1,
        ],
      );
      return rows;
    });
  }

  /** By id or key. */
  async find(tenantId: string, ref: string, visibility: Visibility): Promise<Agent | null> {
    return withTenant(this.#pool, tenantId, (db) => selectAgent(db, { tenantId, ref, visibility }));
  }

  /** Throws `agent_key_taken`. */
  async insert(tenantId: string, id: string, settings: AgentSettings): Promise<Agent> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Agent>(
        `insert into agent.agents (id, tenant_id, key, name, description, model, model_fallbacks, system_prompt,
           parameters, tools, memory, visibility, owner_user_id, status, metadata)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
         returning ${columns}`,
        [id, tenantId, ...settingValues(settings)],
      );
      return only(rows);
    }).catch(nameTakenKey);
  }

  /**
   * Changes an agent by a function of what it is, under a lock on its row, so that two changes at once lose nothing.
   * Null when there is none. Throws `agent_key_taken`, and whatever `change` throws.
   */
  async update(
    tenantId: string,
    target: { ref: string; visibility: Visibility },
    change: (current: Agent) => AgentSettings,
  ): Promise<Agent | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const current = await selectAgent(db, { tenantId, ...target }, 'for update');
      if (current === null) return null;
      const { rows } = await db.query<Agent>(
        `update agent.agents set key = $2, name = $3, description = $4, model = $5, model_fallbacks = $6,
           system_prompt = $7, parameters = $8, tools = $9, memory = $10, visibility = $11, owner_user_id = $12,
           status = $13, metadata = $14, updated_at = now()
         where id = $1
         returning ${columns}`,
        [current.id, ...settingValues(change(current))],
      );
      return only(rows);
    }).catch(nameTakenKey);
  }

  /** False when there was none. */
  async delete(tenantId: string, ref: string, visibility: Visibility): Promise<boolean> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const current = await selectAgent(db, { tenantId, ref, visibility }, 'for update');
      if (current === null) return false;
      await db.query('delete from agent.agents where id = $1', [current.id]);
      return true;
    });
  }
}

async function selectAgent(
  db: Queryable,
  { tenantId, ref, visibility }: { tenantId: string; ref: string; visibility: Visibility },
  lock: '' | 'for update' = '',
): Promise<Agent | null> {
  // A key may look like an id; the agent with that id comes first then.
  const { rows } = await db.query<Agent>(
    `select ${columns} from agent.agents
     where ${visible} and tenant_id = $3 and (id = $4::uuid or key = $5)
     order by (id = $4::uuid) desc nulls last limit 1 ${lock}`,
    [...sight(visibility), tenantId, isUuid(ref) ? ref : null, ref],
  );
  return rows[0] ?? null;
}

function sight(visibility: Visibility): [seesAll: boolean, user: string | null] {
  return visibility.kind === 'all' ? [true, null] : [false, visibility.user];
}

function settingValues(settings: AgentSettings): unknown[] {
  return [
    settings.key,
    settings.name,
    settings.description,
    settings.model,
    settings.model_fallbacks,
    settings.system_prompt,
    JSON.stringify(settings.parameters),
    JSON.stringify(settings.tools),
    JSON.stringify(settings.memory),
    settings.visibility,
    settings.owner_user_id,
    settings.status,
    JSON.stringify(settings.metadata),
  ];
}

function only(rows: Agent[]): Agent {
  const [row] = rows;
  if (row === undefined) throw new Error('a statement that returns its row returned none');
  return row;
}

function nameTakenKey(error: unknown): never {
  if (isUniqueViolation(error, 'agents_tenant_id_key_key')) {
    throw new AppError('agent_key_taken', 'Another agent of the tenant has this key.', {
      param: 'key',
      cause: error,
    });
  }
  throw error;
}
