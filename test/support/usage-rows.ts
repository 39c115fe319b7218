import type { Client } from 'pg';

/**
 * Inserts runs into the tables of analytics and counts them like the release of that schema, for tests of migrations.
 */

/** The tables that `seedUsage` fills. */
export const usageTables = [
  'traces',
  'usage',
  'usage_totals',
  'user_counters',
  'users',
  'usage_users',
  'unpriced_models',
] as const;

const totalsKey = 'tenant_id, bucket, model, agent_id, provider, channel';
const usageKey = `${totalsKey}, user_id, api_key_id`;

/**
 * The unpriced model of seeded runs in releases that store the models of calls; differs from the model that answered.
 */
const fallback = 'unpriced fallback';

const defineSeedId = `
  create or replace function seed_id(round integer, n integer) returns uuid language sql as $$
    select (left(analytics.first_id_at('2026-11-10')::text, 24) || lpad((round * 1000 + n)::text, 12, '0'))::uuid
  $$`;

/** The amounts that each seeded run adds to the measures of the first schema. */
const measures: Readonly<Record<string, string>> = {
  requests: 'count(*)',
  errors: `count(*) filter (where status = 'error')`,
  cancelled: '0',
  input_tokens: 'sum(input_tokens)',
  cached_input_tokens: 'sum(cached_input_tokens)',
  output_tokens: 'sum(output_tokens)',
  reasoning_tokens: 'sum(reasoning_tokens)',
  tool_calls: 'sum(tool_calls)',
  timed_requests: 'count(duration_ms)',
  duration_ms: 'sum(duration_ms)',
  cost_pico: 'sum(cost_pico)',
  unpriced_requests: 'count(*) filter (where not priced)',
  estimated_requests: '0',
  estimated_cost_pico: '0',
};

const sums = Object.keys(measures).join(', ');

/**
 * Runs of two tenants: some without a user, an agent, a price or an end; some in an interval of 15 minutes that all
 * rounds share.
 */
const insertRuns = `
  insert into analytics.traces (id, tenant_id, status, operation, channel, request_id, trace_id, span_id, api_key_id,
    user_id, agent_id, request_model, streamed, started_at, ended_at, duration_ms, provider, model, input_tokens,
    cached_input_tokens, output_tokens, reasoning_tokens, tool_calls, cost_pico, priced, usage_estimated)
  select seed_id($1, n), seed_id(0, n % 2), case n % 4 when 0 then 'error' when 1 then 'running' else 'ok' end, 'chat',
    'api', 'r', 't', 's', seed_id(0, 7), case when n % 3 > 0 then 'user ' || ($1 + n % 5) end,
    case when n % 2 = 0 then seed_id(0, 9) end, 'asked', false, '2026-11-10T10:01Z',
    case when n % 4 <> 1 then '2026-11-10T10:02Z'::timestamptz + (n % 3) * $1 * interval '15 minutes' end,
    n, case when n % 5 > 0 then 'simulator' end, case when n % 5 > 0 then 'small' end, n, 1, 2, 3, 0, 5, case when n % 4 <> 1 then n % 7 > 0 end, false
  from generate_series(0, 39) as n`;

const insertUsers = `
  with missing as (
    select distinct tenant_id, user_id from fresh
    where user_id is not null and (tenant_id, user_id) not in (select tenant_id, user_id from analytics.users)
  ), counted as (
    insert into analytics.user_counters as counter (tenant_id, taken)
    select tenant_id, count(*) from missing group by tenant_id
    on conflict (tenant_id) do update set taken = counter.taken + excluded.taken
    returning tenant_id, taken
  )
  insert into analytics.users (tenant_id, user_id, number)
  select tenant_id, user_id, taken - row_number() over (partition by tenant_id order by user_id)
  from missing join counted using (tenant_id)`;

const insertUsageUsers = `
  insert into analytics.usage_users as kept (${totalsKey}, chunk, users)
  select ${totalsKey}, number / 1024, bit_or(analytics.user_bit(number))
  from fresh join analytics.users using (tenant_id, user_id) group by ${totalsKey}, number / 1024
  on conflict on constraint usage_users_key do update set users = kept.users | excluded.users`;

function addUp(table: string, key: string): string {
  const added = Object.keys(measures).map((measure) => `${measure} = kept.${measure} + excluded.${measure}`);
  return `insert into analytics.${table} as kept (${key}, ${sums})
    select ${key}, ${Object.values(measures).join(', ')} from fresh group by ${key}
    on conflict on constraint ${table}_key do update set ${added.join(', ')}`;
}

/** The amounts that each run of a round adds to the roll-ups. */
const selectFresh = `
  select tenant_id, date_bin('15 minutes', ended_at, 'epoch') as bucket, status, agent_id,
         coalesce(model, request_model) as model, coalesce(provider, '') as provider, channel, user_id, api_key_id,
         duration_ms, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, tool_calls, cost_pico, priced
  from analytics.traces where ended_at is not null and id between seed_id($1, 0) and seed_id($1, 999)`;

const insertUnpriced = `
  insert into analytics.unpriced_models (${usageKey}, unpriced_model)
  select distinct ${usageKey}, '${fallback}' from fresh where not priced on conflict do nothing`;

/** Adds the runs of a round, to the tables that exist at this migration. `client` must be a superuser. */
export async function seedUsage(client: Client, round: number): Promise<void> {
  const ofRound = async (sql: string): Promise<void> => {
    await client.query(sql.replaceAll('seed_id', 'pg_temp.seed_id').replaceAll('$1', String(round)));
  };
  const columns = await usageColumns(client);
  await ofRound(defineSeedId);
  await client.query(`select analytics.ensure_partition('2026-11-01')`);
  await ofRound(insertRuns);
  await ofRound(`create temp table fresh as ${selectFresh}`);
  await client.query(addUp('usage', usageKey));
  if (columns.has('usage_totals.requests')) await client.query(addUp('usage_totals', totalsKey));
  if (columns.has('users.number')) {
    await client.query(insertUsers);
    await client.query(insertUsageUsers);
  }
  const ended = 'ended_at is not null and id between seed_id($1, 0) and seed_id($1, 999)';
  if (columns.has('traces.called')) await ofRound(`update analytics.traces set called = true where ${ended}`);
  if (columns.has('traces.unpriced_models')) {
    await ofRound(
      `update analytics.traces set unpriced_models = array['${fallback}'] where not priced and ${ended}`,
    );
    await client.query(insertUnpriced);
  }
  await client.query('drop table fresh');
}

async function usageColumns(client: Client): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns where table_schema = 'analytics'`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Contradictions between derived tables of analytics, in the latest schema, and the tables they are derived from. */
export async function usageContradictions(client: Client): Promise<string[]> {
  const found: string[] = [];
  for (const [sentence, statement] of Object.entries(contradictions)) {
    const { rows } = await client.query(`select 1 from (${statement}) as wrong limit 1`);
    if (rows.length > 0) found.push(sentence);
  }
  return found;
}

const totalsOfUsage = Object.keys(measures)
  .map((measure) => `sum(${measure})`)
  .join(', ');
const decoded = `
  select ${totalsKey}, chunk * 1024 + place as number
  from analytics.usage_users, generate_series(0, 1023) as place where get_bit(users, place) = 1`;
const usersOfUsage = `
  select distinct ${totalsKey}, number from analytics.usage left join analytics.users using (tenant_id, user_id)
  where user_id is not null`;

const differ = (one: string, other: string): string =>
  `((${one}) except (${other})) union all ((${other}) except (${one}))`;

const contradictions = {
  'usage_totals are not the sums of usage': differ(
    `select ${totalsKey}, ${sums} from analytics.usage_totals`,
    `select ${totalsKey}, ${totalsOfUsage} from analytics.usage group by ${totalsKey}`,
  ),
  'users are not those of usage': differ(
    'select tenant_id, user_id from analytics.users',
    'select tenant_id, user_id from analytics.usage where user_id is not null',
  ),
  'two users have one number, or one beyond the counter': `
    select from analytics.users join analytics.user_counters using (tenant_id)
    group by tenant_id, taken having count(distinct number) < count(*) or max(number) >= taken or min(number) < 0`,
  'usage_users are not the users of usage': differ(decoded, usersOfUsage),
  'a run that has ended lacks what it called': `
    select from analytics.traces
    where ended_at is not null and (not coalesce(called, false) or priced <> (unpriced_models is null))`,
  'a row of usage with unpriced runs names no model': `
    select ${usageKey} from analytics.usage where unpriced_requests > 0
    except select ${usageKey} from analytics.unpriced_models`,
  'unpriced_models are not those of the runs': `
    select ${usageKey}, unpriced_model from (
      select tenant_id, date_bin('15 minutes', ended_at, 'epoch') as bucket, coalesce(model, request_model) as model,
             agent_id, coalesce(provider, '') as provider, channel, user_id, api_key_id,
             unnest(unpriced_models) as unpriced_model
      from analytics.traces
    ) as runs
    except select ${usageKey}, unpriced_model from analytics.unpriced_models`,
};
