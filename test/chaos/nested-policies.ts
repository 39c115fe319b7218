import { expectSuccess, GatewayClient as ApiClient } from '@gatehouse/local/gateway-client';
import { picoOf } from '@gatehouse/kit/money';
import type { Random } from '@gatehouse/test/random';
import type { TenantAccess } from '@gatehouse/test/tenants';
import type { ChaosSystem } from './chaos-system.ts';
import type { CompletionCall } from './gateway-client.ts';

/** A policy, and the value of its counter for a request; null where the request does not count in it. */
interface NestedPolicy {
  name: string;
  per: string | null;
  /** The selection; `per: "group"` needs one. */
  select?: Record<string, readonly string[]>;
  maxConcurrent: number;
  requestsPerMinute: number;
  usd: string;
  valueOf: (caller: Caller) => string | null;
  /** SQL of the same for a row of `analytics.traces`. */
  sql: string;
}

/** A client, and the values of its request for policies. */
export interface Caller {
  user: string;
  group: string;
  session: string;
  keyId: string;
  key: string;
  agentId: string | null;
  model: string;
}

/**
 * Nested policies, of the operator for the tenant and of the tenant, each with slots, requests and a budget: the
 * narrower ones are reached first.
 */
const policies: readonly NestedPolicy[] = [
  {
    ...{ name: 'owner', per: null, maxConcurrent: 22, requestsPerMinute: 2000, usd: '0.75' },
    valueOf: () => '',
    sql: `''`,
  },
  {
    ...{ name: 'all', per: null, maxConcurrent: 20, requestsPerMinute: 1500, usd: '0.60' },
    valueOf: () => '',
    sql: `''`,
  },
  {
    ...{ name: 'group', per: 'group', select: { groups: ['*'] } },
    ...{ maxConcurrent: 12, requestsPerMinute: 700, usd: '0.30' },
    valueOf: ({ group }) => group,
    sql: 'groups[1]',
  },
  {
    ...{ name: 'key', per: 'api_key', maxConcurrent: 12, requestsPerMinute: 800, usd: '0.30' },
    valueOf: ({ keyId }) => keyId,
    sql: 'api_key_id::text',
  },
  {
    ...{ name: 'model', per: 'model', maxConcurrent: 11, requestsPerMinute: 700, usd: '0.40' },
    valueOf: ({ model }) => model,
    sql: 'model',
  },
  {
    ...{ name: 'agent', per: 'agent', maxConcurrent: 5, requestsPerMinute: 60, usd: '0.012' },
    valueOf: ({ agentId }) => agentId,
    sql: 'agent_id::text',
  },
  {
    ...{ name: 'user', per: 'user', maxConcurrent: 4, requestsPerMinute: 50, usd: '0.014' },
    valueOf: ({ user }) => user,
    sql: 'user_id',
  },
  {
    ...{ name: 'session', per: 'session', maxConcurrent: 2, requestsPerMinute: 30, usd: '0.003' },
    valueOf: ({ user, session }) => `user:${user}/${session}`,
    sql: `'user:' || user_id || '/' || session_id`,
  },
];

const users = ['ada', 'bob', 'eve', 'fay', 'gus', 'hal'];
const groups = ['ops', 'research'];
const sessions = ['one', 'two', 'three'];
const models = ['gpt-4.1-mini', 'gpt-4.1-nano'];
/** The model of the agents. */
const [agentModel] = models;

/** A counter of one resource in the database. */
interface CounterState {
  policy: string;
  value: string;
  resource: 'requests' | 'concurrency' | 'budget';
  used: string;
  /** Everything held by replicas. */
  held: string;
  /** For a budget: the reservations of runs under way, and uncharged costs of ended runs. */
  uncharged: string;
}

/** A tenant whose requests all count in eight policies. */
export class NestedPolicies {
  readonly id: string;
  readonly #chaos: ChaosSystem;
  readonly #keys: readonly { id: string; key: string }[];
  readonly #agents: readonly { id: string; key: string }[];

  private constructor(
    chaos: ChaosSystem,
    id: string,
    { keys, agents }: Record<'keys' | 'agents', readonly { id: string; key: string }[]>,
  ) {
    this.#chaos = chaos;
    this.id = id;
    this.#keys = keys;
    this.#agents = agents;
  }

  static async make(chaos: ChaosSystem): Promise<NestedPolicies> {
    const tenant = await chaos.makeTenant();
    // First: chat reads the settings of a tenant when an agent is made, and hears of changes a moment later.
    for (const policy of policies) await makePolicy(chaos, tenant, policy);
    return new NestedPolicies(chaos, tenant.id, await makeCallers(chaos, tenant));
  }

  caller(random: Random): Caller {
    const user = random.pick(users);
    const { id: keyId, key } = random.pick(this.#keys);
    const agent = random.between(1, 3) === 1 ? random.pick(this.#agents) : null;
    return {
      ...{ user, group: groupOf(user), session: random.pick(sessions), keyId, key },
      agentId: agent?.id ?? null,
      model: agent === null ? random.pick(models) : (agentModel ?? ''),
    };
  }

  call({ user, session, key, agentId, model }: Caller): CompletionCall {
    const agent = this.#agents.find(({ id }) => id === agentId);
    return { user, session, key, model: agent === undefined ? model : `agent:${agent.key}` };
  }

  /**
   * Counters above their limits, by a request, a slot or a pico-USD. In budgets count the reservations of all runs under
   * way, not the holds of replicas: a lease sent before its replica learns of a charge holds the charged amount until the
   * next call, which leaves less than could be left, never more.
   */
  async exceeded(): Promise<string[]> {
    return (await this.#counters()).flatMap(({ policy: name, value, resource, used, held, uncharged }) => {
      const policy = policies.find((each) => each.name === name);
      if (policy === undefined) return [`no policy ${name}`];
      const [sum, limit] = {
        requests: [BigInt(used), BigInt(policy.requestsPerMinute)] as const,
        concurrency: [BigInt(held), BigInt(policy.maxConcurrent)] as const,
        budget: [BigInt(used) + BigInt(uncharged), picoOf(policy.usd)] as const,
      }[resource];
      return sum > limit
        ? [`${resource} of ${name} ${value}: ${used} + ${uncharged} (${held} held) of ${limit}`]
        : [];
    });
  }

  /** Budgets with another sum than the costs of the selected runs. */
  async miscounted(): Promise<string[]> {
    const counters = await this.#counters();
    const complaints: string[] = [];
    for (const { name, sql } of policies) {
      const costs = await this.#chaos.rows<{ value: string; cost: string }>(
        `select ${sql} as value, sum(cost_pico)::text as cost from analytics.traces
         where tenant_id = $1 and cost_pico > 0 and ${sql} is not null group by 1`,
        [this.id],
      );
      const counted = counters.filter(({ policy, resource }) => policy === name && resource === 'budget');
      const values = new Set([...costs, ...counted].map(({ value }) => value));
      for (const value of values) {
        const cost = costs.find((row) => row.value === value)?.cost ?? '0';
        const { used, held } = counted.find((row) => row.value === value) ?? { used: 'none', held: '0' };
        if (used !== cost || held !== '0')
          complaints.push(`${name} ${value}: ${used} + ${held}, not ${cost}`);
      }
    }
    return complaints;
  }

  /** The slots of each policy. */
  get slots(): readonly { name: string; most: number; valueOf: (caller: Caller) => string | null }[] {
    return policies.map(({ name, maxConcurrent: most, valueOf }) => ({ name, most, valueOf }));
  }

  /** In one statement, so they are of one moment. Slots of a dead replica are free. */
  #counters(): Promise<CounterState[]> {
    return this.#chaos.rows<CounterState>(
      `with runs as (
         select charges, attempts::jsonb as attempts from chat.logged_runs where not ended
         union all
         select charges, attempts::jsonb from chat.open_runs
       ), amounts as (
         select coalesce(attempts -> 'open' -> 'charges', charges::jsonb) as charges,
                (attempts -> 'open' ->> 'reservedPico')::numeric as pico from runs
         union all
         select charges::jsonb, cost_pico from chat.run_costs
         union all
         select charges::jsonb, cost_pico from chat.settlements s
         where not exists (select from tenant.settlements t where t.id = s.id)
       ), uncharged as (
         select (charge ->> 'subjectId')::uuid as id,
                to_timestamp((charge ->> 'windowStart')::float8 / 1000) as window_start, sum(pico) as pico
         from amounts cross join jsonb_array_elements(amounts.charges) as charge group by 1, 2
       )
       select p.name as policy, coalesce(g.name, c.value) as value, c.resource, c.used::text,
              coalesce(h.held, 0)::text as held, coalesce(u.pico, 0)::text as uncharged
       from tenant.policy_counters c join tenant.policies p on p.id = c.policy_id
       left join tenant.groups g on g.id::text = c.value
       left join uncharged u on u.id = c.id and u.window_start = c.window_start and c.resource = 'budget'
       cross join lateral (
         select sum(amount) as held from tenant.limit_holds h join tenant.limit_holders o on o.id = h.holder_id
         where h.subject_id = c.id and h.resource = c.resource and h.window_start = c.window_start
           and (h.resource = 'budget' or o.seen_at > clock_timestamp() - interval '20 seconds')
       ) as h where c.tenant_id = $1`,
      [this.id],
    );
  }
}

function groupOf(user: string): string {
  return groups[users.indexOf(user) % groups.length] ?? '';
}

async function makeCallers(chaos: ChaosSystem, { adminKey }: TenantAccess) {
  const client = new ApiClient(chaos.credentials.url);
  const post = async (path: string, body: object): Promise<Record<string, unknown>> =>
    expectSuccess(await client.call(adminKey, 'POST', path, body), path);
  for (const user of users) {
    const put = await client.call(adminKey, 'PUT', `/v1/users/${user}`, { groups: [groupOf(user)] });
    expectSuccess(put, 'making a user');
  }
  const keys: { id: string; key: string }[] = [];
  for (const name of ['one', 'two']) {
    const made = await post('/v1/api-keys', { name, role: 'user' });
    keys.push({ id: String(made['id']), key: String(made['key']) });
  }
  const agents: { id: string; key: string }[] = [];
  for (const key of ['coder', 'writer']) {
    const made = await post('/v1/agents', { key, model: agentModel });
    agents.push({ id: String(made['id']), key });
  }
  return { keys, agents };
}

async function makePolicy(
  { credentials: { url, owner_key: ownerKey } }: ChaosSystem,
  { id, adminKey }: TenantAccess,
  { name, per, select, maxConcurrent, requestsPerMinute, usd }: NestedPolicy,
): Promise<void> {
  const isOfOwner = name === 'owner';
  const policy = {
    name,
    ...(select !== undefined && { select }),
    ...(per !== null && { per }),
    ...(isOfOwner && { tenants: [id] }),
    limits: { max_concurrent: maxConcurrent, requests_per_minute: requestsPerMinute },
    budget: { usd, period: 'total' },
  };
  const [key, path] = isOfOwner ? [ownerKey, '/internal/v1/owner/policies'] : [adminKey, '/v1/policies'];
  expectSuccess(await new ApiClient(url).call(key, 'POST', path, policy), `making the policy ${name}`);
}
