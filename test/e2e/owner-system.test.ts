import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { systemState, type SystemService, type SystemState } from '@gatehouse/contract/owner-system';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';

const services = ['tenant', 'chat', 'analytics', 'agent', 'memory', 'webhook'] as const;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await TestGateway.start({ separate: true });
  // A platform asks for it; replicas are counted by its connection.
  for (const service of services)
    await eventually(async () => expect(await gateway.readiness(`${service}-1`)).toMatch(/^ok/));
});
afterAll(() => gateway.stop());

async function state(): Promise<SystemState> {
  const answer = await gateway.call('/internal/v1/owner/system', { key: gateway.ownerKey });
  expect(answer.status).toBe(200);
  return systemState.parse(answer.body);
}

const of = ({ data }: SystemState, name: string): SystemService | undefined =>
  data.find(({ service }) => service === name);

it('shows each service with its replicas, outboxes, jobs and dead letters', async () => {
  await gateway.rows(
    'webhook',
    `insert into webhook.dead_letters (id, origin, reason, payload) values (gen_random_uuid(), 'test', 'test', '')`,
  );
  await gateway.rows(
    'agent',
    `insert into agent.audit_outbox_dead_letters (tenant_id, reason, entry) values (null, 'test', '{}')`,
  );
  await eventually(async () => expect((await state()).usage_lag_seconds).toEqual(expect.any(Number)));
  const found = await state();
  expect(found.data.map(({ service }) => service).sort()).toEqual([...services].sort());
  for (const service of found.data) expect(service).toMatchObject({ status: 'up', error: null, replicas: 1 });
  const outboxes = Object.fromEntries(
    found.data.map(({ service, outboxes: all }) => [service, all?.map(({ name }) => name)]),
  );
  expect(outboxes).toEqual({
    tenant: ['audit_outbox', 'alert_outbox'],
    agent: ['audit_outbox', 'alert_outbox'],
    analytics: [],
    memory: ['audit_outbox'],
    chat: ['outbox', 'audit_outbox', 'alert_outbox'],
    webhook: ['audit_outbox'],
  });
  expect(of(found, 'agent')?.outboxes?.[0]).toMatchObject({ dead_letters: 1 });
  expect(of(found, 'webhook')).toMatchObject({ dead_letters: 1, dead_jobs: 0 });
  expect(of(found, 'chat')).toMatchObject({ dead_letters: null, queues: [] });
  expect(of(found, 'tenant')?.queues).toEqual(
    expect.arrayContaining([{ name: 'transfer', waiting: 0, oldest_age_seconds: 0 }]),
  );
});

it('shows a service that is stopped as down, its figures as unknown, and all others', async () => {
  await gateway.stopMember('webhook-1');
  const found = await state();
  expect(of(found, 'webhook')).toEqual({
    ...{ service: 'webhook', status: 'down', error: 'service_unavailable' },
    ...{ replicas: null, outboxes: null, queues: null, dead_jobs: null, dead_letters: null },
  });
  for (const service of found.data.filter((each) => each.service !== 'webhook'))
    expect(service.status).toBe('up');
  await gateway.startMember('webhook-1');
});

it('shows why the state of a service is unknown, and the lag as unknown without analytics', async () => {
  await gateway.databaseOf('analytics').cut();
  const found = await state();
  expect(of(found, 'analytics')).toMatchObject({ status: 'down', error: 'database_unavailable' });
  expect(found.usage_lag_seconds).toBeNull();
  await gateway.databaseOf('analytics').open();
  await eventually(async () => expect(of(await state(), 'analytics')?.status).toBe('up'));
});

it('is for owners', async () => {
  const tenant = await gateway.makeTenant();
  for (const key of [tenant.adminKey, tenant.userKey])
    expect((await gateway.call('/internal/v1/owner/system', { key })).status).toBe(403);
});
