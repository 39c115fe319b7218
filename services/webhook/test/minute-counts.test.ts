import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { owner, WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let receiver: Receiver;
beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  receiver = await Receiver.start();
});
afterAll(async () => {
  await webhooks.stop();
  await receiver.stop();
});

/** The tenant has sent so many requests in a minute that does not end during the test. */
async function hasSent(tenantId: string, kind: string, count: number): Promise<void> {
  await webhooks.rows(
    `insert into webhook.minute_counts (tenant_id, kind, minute, count)
     values ($1, $2, date_trunc('minute', now()) + interval '1 minute', $3)
     on conflict (tenant_id, kind) do update set minute = excluded.minute, count = excluded.count`,
    [tenantId, kind, count],
  );
}

async function subscribed(as: TestTenant['admin'], path: string, type = 'run.failed'): Promise<string> {
  const body = { url: receiver.url(`/${newId()}`), event_types: [type] };
  const made = await webhooks.call('POST', path, { as, body });
  expect(made.status).toBe(201);
  return made.body.id;
}

it('a tenant sends 60 test events a minute at most, the owner as well, and others are not counted', async () => {
  const [tenant, other] = [webhooks.makeTenant(), webhooks.makeTenant()];
  const ofTenant = '/v1/webhooks/subscriptions';
  const path = `${ofTenant}/${await subscribed(tenant.admin, ofTenant)}/test`;
  await hasSent(tenant.id, 'test_events', 59);
  const send = (as: TestTenant['admin'], at = path) => webhooks.call('POST', at, { as, body: {} });
  expect((await send(tenant.admin)).status).toBe(202);
  const limited = await send(tenant.admin);
  expect(limited).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
  const others = `${ofTenant}/${await subscribed(other.admin, ofTenant)}/test`;
  expect((await send(other.admin, others)).status).toBe(202);
  const ofOwner = '/internal/v1/owner/webhook-subscriptions';
  const owners = `${ofOwner}/${await subscribed(owner, ofOwner, 'provider.down')}/test`;
  expect((await send(owner, owners)).status).toBe(202);
});

it('a tenant sends results again 60 times a minute at most, and repeats of the same request are not counted', async () => {
  const tenant = webhooks.makeTenant();
  const as = { ...tenant.admin, keyId: newId() };
  const endpoint = await webhooks.makeEndpoint(tenant, {
    ...{ mode: 'async', callback_url: receiver.url('/again') },
  });
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'again' } });
  await eventually(() => expect(receiver.at('/again')).toHaveLength(1));
  await hasSent(tenant.id, 'repeated_deliveries', 59);
  const redeliver = (headers = {}) =>
    webhooks.call('POST', `/v1/webhooks/calls/${body.call_id}/redeliver`, { as, body: {}, headers });
  const keyed = { 'idempotency-key': newId() };
  const first = await redeliver(keyed);
  expect(first.status).toBe(202);
  for (let n = 0; n < 3; n += 1) {
    const again = await redeliver(keyed);
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  }
  expect(await redeliver()).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
  await eventually(() => expect(receiver.at('/again')).toHaveLength(2));
});
