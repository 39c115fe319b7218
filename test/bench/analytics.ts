import type { RunEnded, Span } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { createPool } from '@gatehouse/pg/pool';
import { UsageConsumer } from '@gatehouse/service-analytics/ingest/usage-consumer';
import { pgStores } from '@gatehouse/service-analytics/pg-store';
import { Partitions } from '@gatehouse/service-analytics/traces/partitions-job';
import type { UsageStore } from '@gatehouse/service-analytics/usage/usage-store';
import { eventOf } from '@gatehouse/test/run-event';
import { Client } from 'pg';
import { withDatabase } from './database.ts';
import { cpuMs } from './processes.ts';

/**
 * `make bench`, second part: how fast analytics takes in events, and how fast it adds up a million of them. The ingest
 * runs in this process, so that its CPU time is measured apart from PostgreSQL's.
 */

const ingested = 50_000;
const batchSize = 500;
const summed = 1_000_000;
const days = 28;
const log = createLogger('bench', 'silent');

await withDatabase('analytics', async ({ adminUrl, url, pid }) => {
  const writing = createPool({ url, role: 'analytics_system', max: 2, log });
  const reading = createPool({ url, role: 'analytics_app', max: 2, log });
  const stores = pgStores(
    {
      ...{ system: writing, owners: writing },
      ...{ app: reading, summaries: reading, exports: reading },
    },
    log,
  );
  const partitions = new Partitions(stores.partitions, log);
  await partitions.start();
  await partitions.stop();
  const { ingest: store, deletions } = stores;
  await measureIngest(new UsageConsumer({ store, deletions, log, registry: createRegistry('bench') }), pid);
  await measureSummary(adminUrl, stores.usage);
  await writing.end();
  await reading.end();
});

async function measureIngest(ingest: UsageConsumer, serverPid: number): Promise<void> {
  const batches = Array.from({ length: ingested / batchSize }, (_, batch) =>
    Array.from({ length: batchSize }, (_, index) => ({
      origin: 'bench',
      payload: makeEvent(batch * batchSize + index),
    })),
  );
  const own = process.cpuUsage();
  const server = cpuMs(serverPid);
  const startedAt = performance.now();
  for (const batch of batches) await ingest.take(batch);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(own);
  const ownSeconds = (user + system) / 1_000_000;
  const serverSeconds = (cpuMs(serverPid) - server) / 1_000;
  console.log(`ingest, ends of runs with one call, ${batchSize} a batch`);
  console.log(`  events/s, one at a time            ${(ingested / seconds).toFixed(0)}`);
  console.log(`  events/s per core of analytics     ${(ingested / ownSeconds).toFixed(0)}`);
  console.log(`  events/s per core of PostgreSQL    ${(ingested / serverSeconds).toFixed(0)}\n`);
}

/** A million runs of one tenant in four weeks: ten models, five agents, two hundred users, four keys. */
async function measureSummary(adminUrl: string, usage: UsageStore): Promise<void> {
  const tenant = newId();
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  // Rows of days that are over, which the trigger of `usage` need not note one by one.
  await client.query('set session_replication_role = replica');
  await client.query(`create temporary table run as
    select now() - random() * interval '${days} days' as at, 'model-' || (random() * 9)::integer as model,
           md5('agent' || (random() * 4)::integer)::uuid as agent, 'user-' || (power(random(), 2) * 199)::integer as "user",
           md5('key' || (random() * 3)::integer)::uuid as key
    from generate_series(1, ${summed})`);
  await client.query(
    `insert into analytics.usage (tenant_id, bucket, agent_id, model, provider, channel, user_id, api_key_id, requests,
       errors, cancelled, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, tool_calls, timed_requests,
       duration_ms, cost_pico, unpriced_requests, estimated_requests, estimated_cost_pico)
     select $1, date_bin('15 minutes', at, 'epoch'), agent, model, 'provider', 'api', "user", key, count(*), 0, 0,
            count(*) * 900, 0, count(*) * 200, 0, 0, count(*), count(*) * 1500, count(*) * 680000000, 0, 0, 0
     from run group by date_bin('15 minutes', at, 'epoch'), agent, model, "user", key`,
    [tenant],
  );
  await client.query(
    `insert into analytics.usage_totals (tenant_id, bucket, agent_id, model, provider, channel, requests, errors, cancelled,
       input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, tool_calls, timed_requests, duration_ms,
       cost_pico, unpriced_requests, estimated_requests, estimated_cost_pico)
     select tenant_id, bucket, agent_id, model, provider, channel, sum(requests), 0, 0, sum(input_tokens), 0,
            sum(output_tokens), 0, 0, sum(timed_requests), sum(duration_ms), sum(cost_pico), 0, 0, 0
     from analytics.usage where tenant_id = $1 group by tenant_id, bucket, agent_id, model, provider, channel`,
    [tenant],
  );
  await client.query(
    `insert into analytics.users select $1, user_id, row_number() over () - 1
     from (select distinct user_id from analytics.usage where tenant_id = $1) as known`,
    [tenant],
  );
  await client.query(
    `insert into analytics.usage_users (tenant_id, bucket, agent_id, model, provider, channel, chunk, users)
     select tenant_id, bucket, agent_id, model, provider, channel, number / 1024, bit_or(analytics.user_bit(number))
     from analytics.usage join analytics.users using (tenant_id, user_id) where tenant_id = $1
     group by tenant_id, bucket, agent_id, model, provider, channel, number / 1024`,
    [tenant],
  );
  await client.query(
    'vacuum analyze analytics.usage, analytics.usage_totals, analytics.usage_users, analytics.users',
  );
  const rows = await client.query<{ count: string }>(
    'select count(*) from analytics.usage where tenant_id = $1',
    [tenant],
  );
  await client.end();
  // To the end of the quarter of an hour: only roll-ups are made here, no runs.
  const period = {
    from: new Date(Date.now() - (days + 1) * 86_400_000),
    to: new Date(Date.now() + 15 * 60_000),
  };
  const filter = {
    agentId: null,
    model: null,
    provider: null,
    channel: null,
    dialect: null,
    user: null,
    apiKeyId: null,
    group: null,
  };
  const times: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    const startedAt = performance.now();
    const summary = await usage.summarize(tenant, {
      period,
      filter,
      groupBy: ['day', 'model'],
      timezone: 'Europe/Berlin',
    });
    if (round > 1) times.push(performance.now() - startedAt);
    if (summary.totals.requests !== summed) throw new Error(`counted ${summary.totals.requests}`);
  }
  times.sort((a, b) => a - b);
  console.log(
    `usage summary of ${summed} runs, by day and model (${rows.rows[0]?.count ?? ''} rolled-up rows)`,
  );
  console.log(`  median ${times[5]?.toFixed(0) ?? ''} ms, worst ${times.at(-1)?.toFixed(0) ?? ''} ms\n`);
}

function makeEvent(index: number): Buffer {
  const now = new Date().toISOString();
  const id = newId();
  const tenant = `01a1fd80-0000-7000-8000-0000000000${String(index % 20).padStart(2, '0')}`;
  const tokens = {
    input_tokens: 900,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 200,
    reasoning_tokens: 0,
    cost_pico: '680000000',
    usage_estimated: false,
  };
  const call: Span = {
    id: newId(),
    kind: 'llm',
    number: 1,
    provider: 'provider',
    model: `model-${index % 10}`,
    upstream_model: 'model',
    response_model: 'model-1',
    status: 'ok',
    offset_ms: 3,
    duration_ms: 1_500,
    time_to_first_token_ms: 300,
    http_status: 200,
    error_code: null,
    ...tokens,
  };
  const run: RunEnded = {
    run_id: id,
    tenant_id: tenant,
    operation: 'chat',
    channel: 'api',
    dialect: 'chat',
    client: 'openai-sdk',
    request_id: id,
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    span_id: 'b7ad6b7169203331',
    api_key_id: tenant,
    user_id: `user-${index % 200}`,
    session_id: null,
    agent_id: null,
    request_model: call.model,
    streamed: true,
    input_preview: 'x'.repeat(500),
    started_at: now,
    status: 'ok',
    ended_at: now,
    duration_ms: 1_500,
    time_to_first_token_ms: 300,
    provider: 'provider',
    model: call.model,
    response_model: 'model-1',
    error_type: null,
    error_message: null,
    output_preview: 'y'.repeat(500),
    tool_calls: 0,
    priced: true,
    ...tokens,
    spans: [call],
  };
  return Buffer.from(eventOf('bench', run));
}
