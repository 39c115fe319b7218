import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { valueOf } from '@gatehouse/test/exposition';
import { TestGateway } from '@gatehouse/test/gateway';
import type { Answer } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: TestGateway;
let tenant: TenantAccess;
beforeAll(async () => {
  gateway = await TestGateway.start();
  tenant = await gateway.makeTenant();
});
afterAll(async () => gateway.stop(), 30_000);

async function complete(fields: Record<string, unknown> = {}, key = tenant.userKey): Promise<Answer> {
  const body = { model: 'small', messages: [{ role: 'user', content: 'x' }], ...fields };
  return gateway.call('/v1/chat/completions', { key, body });
}

/** Until a metric of a process is as expected. */
async function shows(
  member: string,
  [name, labels]: [name: string, labels?: Record<string, string>],
  expected: unknown,
): Promise<void> {
  await eventually(async () => {
    expect(valueOf(await gateway.metrics(member), name, labels)).toEqual(expected);
  });
}

const atLeast = (least: number) => ({
  asymmetricMatch: (value: unknown) => typeof value === 'number' && value >= least,
});
const positive = atLeast(Number.MIN_VALUE);
const seconds = (limit: number) => ({
  asymmetricMatch: (value: unknown) => typeof value === 'number' && value >= 0 && value < limit,
});

it('metrics show events that wait while analytics is away, and how old the oldest is, until it is back', async () => {
  await gateway.stopMember('analytics-1');
  for (let run = 0; run < 3; run += 1) await complete();
  // One more for each run that took half a second.
  await shows('chat-1', ['gatehouse_outbox_entries', { outbox: 'outbox' }], atLeast(3));
  await shows('chat-1', ['gatehouse_outbox_age_seconds', { outbox: 'outbox' }], positive);
  await shows('chat-1', ['gatehouse_events_publish_failures_total', { outbox: 'outbox' }], positive);
  await gateway.startMember('analytics-1');
  await shows('chat-1', ['gatehouse_outbox_entries', { outbox: 'outbox' }], 0);
  await shows('chat-1', ['gatehouse_outbox_age_seconds', { outbox: 'outbox' }], seconds(1));
  await shows('analytics-1', ['gatehouse_usage_lag_seconds'], seconds(10));
});

it('metrics show how late usage is while no chat publishes', async () => {
  await shows('analytics-1', ['gatehouse_usage_lag_seconds'], seconds(10));
  await gateway.stopMember('chat-1');
  await gateway.rows('analytics', `update analytics.watermarks set watermark = now() - interval '1 hour'`);
  await shows('analytics-1', ['gatehouse_usage_lag_seconds'], expect.closeTo(3_600, -2));
  await gateway.startMember('chat-1');
  await shows('analytics-1', ['gatehouse_usage_lag_seconds'], seconds(10));
});

it('metrics show which provider’s breaker is open', async () => {
  const breaker = (provider: string, model = provider): [string, Record<string, string>] => [
    'gatehouse_provider_breaker_open',
    { provider, model },
  ];
  await complete();
  await complete({ model: 'refusing' });
  await shows('chat-1', breaker('refusing'), 0);
  for (let call = 0; call < 10; call += 1) await complete({ model: 'refusing' });
  await shows('chat-1', breaker('refusing'), 1);
  await shows('chat-1', breaker('simulator', 'small'), 0);
});

it('metrics show runs under way, and ends that wait for the database', async () => {
  const slow = complete({ x_simulator: { delay_ms: 4_000 } });
  await shows('chat-1', ['gatehouse_runs_open'], 1);
  // Its start is committed by then.
  await gateway.simulator.waitForRequest(({ raw_body }) => raw_body.includes('"delay_ms":4000'));
  await gateway.databaseOf('chat').cut();
  await shows('chat-1', ['gatehouse_run_ends_waiting'], 1);
  await gateway.databaseOf('chat').open();
  expect((await slow).status).toBe(200);
  await shows('chat-1', ['gatehouse_run_ends_waiting'], 0);
  await shows('chat-1', ['gatehouse_runs_open'], 0);
});

it('metrics count runs of processes that died', async () => {
  const lost = complete({ x_simulator: { delay_ms: 60_000 } }).catch(() => undefined);
  await shows('chat-1', ['gatehouse_runs_open'], 1);
  await gateway.rows('chat', 'update chat.run_log set instance_id = $1', [newId()]);
  await eventually(
    async () => expect(valueOf(await gateway.metrics('chat-1'), 'gatehouse_runs_interrupted_total')).toBe(1),
    40_000,
  );
  await gateway.stopMember('chat-1');
  await lost;
  await gateway.startMember('chat-1');
});

it('metrics count requests that limits refuse, and requests whose limits cannot be read', async () => {
  const limited = await gateway.makeTenant({ limits: { requests_per_minute: 1 } });
  await eventually(async () => expect((await complete({}, limited.userKey)).status).toBe(429));
  await shows('chat-1', ['gatehouse_limit_refusals_total', { code: 'rate_limit_exceeded' }], positive);
  await gateway.stopMember('tenant-1');
  await eventually(async () => expect((await complete({}, limited.userKey)).status).toBe(503));
  await shows('chat-1', ['gatehouse_limit_refusals_total', { code: 'service_unavailable' }], positive);
  const failed = { peer: 'tenant', method: 'lease', code: 'UNAVAILABLE' };
  await shows('chat-1', ['gatehouse_rpc_duration_seconds_count', failed], positive);
  await gateway.startMember('tenant-1');
});

it('metrics show how busy the connections to the database are', async () => {
  await shows('tenant-1', ['gatehouse_database_connections_max', { pool: 'lease' }], 3);
  await shows('tenant-1', ['gatehouse_database_connections', { pool: 'system', state: 'idle' }], positive);
  // The publisher of alerts keeps one.
  await shows('tenant-1', ['gatehouse_database_connections', { pool: 'system', state: 'used' }], 1);
  await shows('tenant-1', ['gatehouse_database_waiting', { pool: 'system' }], 0);
});

it('metrics show which release runs', async () => {
  await shows('edge-1', ['gatehouse_build_info', { version: '0.3.0' }], 1);
});
