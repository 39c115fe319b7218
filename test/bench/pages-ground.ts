import {
  dimensions,
  measures,
  measuresOfRun,
  personalDimensions,
} from '@gatehouse/service-analytics/usage/measure-pg-store';
import { eventually } from '@gatehouse/test/eventually';
import type { Client } from 'pg';

/** Rows for the measurement of pages: copies of rows that the API has made, so that they are as real ones. */

export const size = { runs: 1_000_000, agents: 1_000, keys: 1_000, tenants: 1_000, users: 5_000, days: 28 };
const groups = 50;
const runsPerStatement = 2_000;
const perOtherTenant = { agents: 10, keys: 10, audit: 20, runs: 100 };

interface Copies {
  table: string;
  /** The row that is copied: a condition. */
  of: string;
  times: number;
  /** The members that differ in the n-th copy, as arguments of `jsonb_build_object`. */
  changes: string;
}

/** Copies a row; `n` counts the copies from 1 on. */
async function copy(db: Client, { table, of, times, changes }: Copies): Promise<void> {
  const { rowCount } = await db.query(
    `insert into ${table} overriding system value
     select made.*
     from (select own from ${table} as own where ${of} limit 1) as found (model)
       cross join generate_series(1, ${times}) as n
       cross join lateral jsonb_populate_record(model, jsonb_build_object(${changes})) as made`,
  );
  if (rowCount !== times) throw new Error(`${table} has no row where ${of}`);
}

/** Skewed as names are in use: the first ones often, the last ones seldom. */
const skewed = (count: number): string => `(power(random(), 2) * ${count - 1})::integer`;
const digits = (bytes: number): string =>
  `encode(sha256(random()::text::bytea), 'hex')::varchar(${bytes * 2})`;
const newKey = `'id', uuidv7(), 'key_id', ${digits(8)}, 'secret_sha256', '\\x' || ${digits(32)}`;
/** A time within the last `size.days`, in the order of the copies. */
const spread = (times: number): string => `now() - interval '${size.days} days' * (${times} - n) / ${times}`;

/**
 * Fills a tenant, whose rows of each kind the API has made one of, and makes `size.tenants` others beside it. Returns the
 * agent and the key of a program with runs.
 */
export async function fillGround(db: Client, tenant: string): Promise<{ agent: string; key: string }> {
  const of = `tenant_id = '${tenant}'`;
  await db.query('set session_replication_role = replica');
  await copy(db, {
    ...{ table: 'tenant.tenants', of: `id = '${tenant}'`, times: size.tenants },
    changes: `'id', uuidv7(), 'slug', 'other-' || n, 'name', 'Other ' || n`,
  });
  await copy(db, {
    ...{ table: 'agent.agents', of, times: size.agents },
    changes: `'id', uuidv7(), 'key', 'copy-' || n, 'name', 'Copy ' || n`,
  });
  await copy(db, {
    ...{ table: 'tenant.api_keys', of: `${of} and role = 'user'`, times: size.keys },
    changes: `${newKey}, 'name', 'Key ' || n, 'user_id', 'user-' || ${skewed(size.users)}`,
  });
  await fillDirectory(db, tenant);
  await copyLists(db, of);
  await copyToOthers(db, of);
  await fillRuns(db, tenant);
  await db.query('vacuum analyze');
  await settleDays(db, tenant);
  const { rows } = await db.query<{ agent: string; key: string }>(
    'select agent, key from programs order by number offset 100 limit 1',
  );
  const [busy] = rows;
  if (busy === undefined) throw new Error('no program has runs');
  return busy;
}

/** Users with an alias each, all in one of the groups. The API has made the first user. */
async function fillDirectory(db: Client, tenant: string): Promise<void> {
  await db.query(
    `with people as (
       insert into tenant.users (id, tenant_id, user_id, display_name, source)
       select uuidv7(), $1, 'user-' || n, 'Person ' || n, 'api' from generate_series(1, $2::integer - 1) as n
       returning id, user_id
     ), names as (
       insert into tenant.user_names (tenant_id, folded, person_id, alias)
       select $1, user_id, id, null from people union all select $1, 'alias-' || user_id, id, 'alias-' || user_id from people
     ), teams as (
       insert into tenant.groups (id, tenant_id, name, folded, members)
       select uuidv7(), $1, 'group-' || n, 'group-' || n, $2 / $3 from generate_series(0, $3::integer - 1) as n
       returning id, name
     )
     insert into tenant.group_members (group_id, person_id, tenant_id, sources)
     select teams.id, people.id, $1, '{api}' from people
       join teams on name = 'group-' || substr(user_id, 6)::integer % $3`,
    [tenant, size.users, groups],
  );
}

async function copyLists(db: Client, of: string): Promise<void> {
  const at = (times: number, ...columns: string[]): string =>
    [
      `'id', uuidv7(${spread(times)} - now())`,
      ...columns.map((column) => `'${column}', ${spread(times)}`),
    ].join();
  await copy(db, { table: 'tenant.audit_log', of, times: 100_000, changes: at(100_000, 'at') });
  await copy(db, {
    ...{ table: 'tenant.sessions', of, times: 1_000 },
    changes: `${at(1_000)}, 'token_sha256', '\\x' || ${digits(32)}`,
  });
  await copy(db, {
    ...{ table: 'webhook.endpoints', of, times: 200 },
    changes: `${at(200, 'created_at')}, 'name', 'Endpoint ' || n`,
  });
  await copy(db, { table: 'webhook.subscriptions', of, times: 200, changes: at(200, 'created_at') });
  await copy(db, { table: 'webhook.calls', of, times: 100_000, changes: at(100_000, 'created_at') });
  await copy(db, {
    ...{ table: 'memory.documents', of, times: 10_000 },
    changes: `${at(10_000, 'created_at')}, 'path', 'copies/' || n || '.md'`,
  });
  await copy(db, {
    ...{ table: 'memory.entities', of, times: 10_000 },
    changes: `${at(10_000, 'created_at')}, 'external_id', 'copy-' || n, 'name', 'Copy ' || n`,
  });
}

/** Gives each other tenant agents, keys, changes and runs. */
async function copyToOthers(db: Client, of: string): Promise<void> {
  const others = `array(select id from tenant.tenants where slug like 'other-%')`;
  const tenant = `'tenant_id', (${others})[1 + n % ${size.tenants}]`;
  const times = (perTenant: number): number => perTenant * size.tenants;
  const ended = spread(times(perOtherTenant.runs));
  await copy(db, {
    ...{ table: 'agent.agents', of, times: times(perOtherTenant.agents) },
    changes: `'id', uuidv7(), ${tenant}, 'key', 'agent-' || n`,
  });
  await copy(db, {
    ...{ table: 'tenant.api_keys', of: `${of} and role = 'user'`, times: times(perOtherTenant.keys) },
    changes: `${newKey}, ${tenant}`,
  });
  await copy(db, {
    ...{ table: 'tenant.audit_log', of, times: times(perOtherTenant.audit) },
    changes: `'id', uuidv7(), ${tenant}, 'at', ${spread(times(perOtherTenant.audit))}`,
  });
  await copy(db, {
    ...{ table: 'analytics.traces', of, times: times(perOtherTenant.runs) },
    changes: `'id', uuidv7(${ended} - now()), ${tenant}, 'change_number', nextval('analytics.changes'), 'fold', null,
      'changed_at', now() - interval '3 days', 'started_at', ${ended}, 'ended_at', ${ended}`,
  });
}

/**
 * Runs in the order of their ends, in transactions as events bring them, since `traces/follow` reads by transaction.
 * An agent has its program, with a key and a model of its own, and many users. Every fiftieth run fails.
 */
async function fillRuns(db: Client, tenant: string): Promise<void> {
  await db.query(
    `create temporary table programs as
     select row_number() over () - 1 as number, agents.id as agent, keys.id as key
     from (select id, row_number() over () as place from agent.agents where tenant_id = $1) as agents
     join (select id, row_number() over () as place from tenant.api_keys where tenant_id = $1) as keys
       using (place)`,
    [tenant],
  );
  await db.query(
    `create temporary table template as
     select * from analytics.traces where tenant_id = $1 and status = 'ok' and agent_id is not null limit 1`,
    [tenant],
  );
  const ended = spread(size.runs);
  for (let last = runsPerStatement; last <= size.runs; last += runsPerStatement)
    await db.query(
      `insert into analytics.traces
       select made.*
       from (
         select n, ${skewed(size.agents)} as program, ${skewed(size.users)} as person
         from generate_series(${last - runsPerStatement + 1}, ${last}) as n
       ) as runs join programs on programs.number = runs.program cross join template
       cross join lateral jsonb_populate_record(template, jsonb_build_object(
         'id', uuidv7(${ended} - now()), 'change_transaction', pg_current_xact_id()::text,
         'change_number', nextval('analytics.changes'), 'changed_at', ${ended}, 'started_at', ${ended},
         'ended_at', ${ended}, 'agent_id', agent, 'api_key_id', key, 'user_id', 'user-' || person,
         'model', 'model-' || program % 10, 'cost_pico', 680000000 + n % 1000, 'duration_ms', 200 + n % 20000,
         'status', case when n % 50 = 0 then 'error' else 'ok' end,
         'error_type', case when n % 50 = 0 then 'provider_error' end, 'fold', null)) as made`,
    );
  await rollUp(db);
}

/** Notes the days that are over, as counts into them would have, and waits until analytics has added them up. */
async function settleDays(db: Client, tenant: string): Promise<void> {
  await db.query(
    `insert into analytics.settled_days
     select distinct tenant_id, date_bin('1 day', bucket, 'epoch') from analytics.usage
     where tenant_id = $1 and bucket < date_bin('1 day', now() - interval '2 hours', 'epoch')`,
    [tenant],
  );
  // Days of the others are too small for rows of their own.
  await db.query(
    `insert into analytics.settled_days (tenant_id, day, state)
     select distinct tenant_id, date_bin('1 day', bucket, 'epoch'), 'small' from analytics.usage
     where tenant_id <> $1 on conflict (tenant_id, day) do update set state = 'small'`,
    [tenant],
  );
  await eventually(async () => {
    const { rows } = await db.query<object>(
      `select day from analytics.settled_days where state in ('changed', 'open')`,
    );
    if (rows.length > 0) throw new Error(`${rows.length} days are not settled`);
  }, 300_000);
  await db.query('vacuum analyze analytics.settled_days, analytics.settled_usage');
}

/** Adds up the runs of all tenants in the order of time, as runs are counted: rows of a quarter of an hour are beside each other. */
async function rollUp(db: Client): Promise<void> {
  await db.query(`set work_mem = '256MB'`);
  const bucket = `date_bin('15 minutes', ended_at, 'epoch')`;
  for (const [table, columns] of [
    ['usage', [...dimensions, ...personalDimensions]],
    ['usage_totals', dimensions],
  ] as const) {
    await db.query('delete from analytics.' + table);
    await db.query(
      `insert into analytics.${table} (tenant_id, bucket, ${[...columns, ...measures].join(', ')})
       select tenant_id, ${bucket}, ${columns.join(', ')}, ${measuresOfRun.map((share) => `sum(${share})`).join(', ')}
       from analytics.traces where called
       group by tenant_id, ${bucket}, ${columns.join(', ')} order by ${bucket}`,
    );
  }
  await db.query('delete from analytics.users');
  await db.query('delete from analytics.usage_users');
  await db.query(
    `insert into analytics.users
     select tenant_id, user_id, row_number() over (partition by tenant_id) - 1
     from (select distinct tenant_id, user_id from analytics.usage where user_id is not null) as known`,
  );
  await db.query(
    `insert into analytics.usage_users (tenant_id, bucket, ${dimensions.join(', ')}, chunk, users)
     select tenant_id, bucket, ${dimensions.join(', ')}, number / 1024, bit_or(analytics.user_bit(number))
     from analytics.usage join analytics.users using (tenant_id, user_id)
     group by tenant_id, bucket, ${dimensions.join(', ')}, number / 1024 order by bucket`,
  );
}
