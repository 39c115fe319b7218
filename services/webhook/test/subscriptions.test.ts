import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { topics } from '@gatehouse/contract/services';
import { writeAlertEvent, type NewAlert } from '@gatehouse/events/alert-event';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { oldTransfers } from '@gatehouse/transfers/store/transfer-state';
import { Webhook } from 'standardwebhooks';
import { oldEvents } from '../src/subscriptions/event-system-store.ts';
import { owner, WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let receiver: Receiver;
let tenant: TestTenant;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  receiver = await Receiver.start();
});
afterAll(async () => {
  await webhooks.stop();
  await receiver.stop();
});
beforeEach(() => {
  tenant = webhooks.makeTenant();
  receiver.answer = () => ({ status: 200 });
});

const ofTenant = '/v1/webhooks/subscriptions';
const ofOwner = '/internal/v1/owner/webhook-subscriptions';

const post = (body: unknown, as = tenant.admin, path = ofTenant) => webhooks.call('POST', path, { as, body });
const get = async (id: string, as = tenant.admin, path = ofTenant) =>
  (await webhooks.call('GET', `${path}/${id}`, { as })).body;
const patch = (id: string, body: unknown) =>
  webhooks.call('PATCH', `${ofTenant}/${id}`, { as: tenant.admin, body });
const test = (id: string, as = tenant.admin, path = ofTenant) =>
  webhooks.call('POST', `${path}/${id}/test`, { as, body: {} });

/** A path of the receiver, and a subscription of it. */
async function subscribe(
  types: string[],
  { as = tenant.admin, path = ofTenant } = {},
): Promise<AnswerBody & { path: string }> {
  const received = `/${newId()}`;
  const { status, body } = await post({ url: receiver.url(received), event_types: types }, as, path);
  expect(status).toBe(201);
  return { ...body, path: received };
}

async function notify(...alerts: NewAlert[]): Promise<void> {
  const at = '2026-01-10T09:00:00.000Z';
  const events = alerts.map((alert) => writeAlertEvent('gatehouse/test', { ...alert, at }));
  await webhooks.send('chat', { topic: topics.alerts, source: 'gatehouse/test', events, fresh: false });
}

const failure = (fields: Partial<NewAlert> = {}, agentId: string | null = null) =>
  ({
    id: newId(),
    tenant_id: tenant.id,
    type: 'run.failed',
    data: {
      ...{ run_id: newId(), trace_id: 'f'.repeat(32), agent_id: agentId, request_model: 'small' },
      ...{ channel: 'api', status: 'error', error_type: 'provider_error' },
    },
    ...fields,
  }) as NewAlert;

const expiring = (id = newId()): NewAlert => ({
  ...{ id, tenant_id: tenant.id, type: 'key.expiring' },
  data: { api_key_id: newId(), name: 'ci', expires_at: '2026-01-17T09:00:00.000Z' },
});

describe('subscriptions', () => {
  it('are created with a secret that is shown once, read, changed, listed and deleted', async () => {
    const { path: _path, secret, ...made } = await subscribe(['run.failed', 'key.expiring', 'run.failed']);
    expect(secret).toMatch(/^whsec_/);
    expect(made).toMatchObject({
      event_types: ['run.failed', 'key.expiring'],
      enabled: true,
      last_delivery: null,
    });
    expect(await get(made.id)).toEqual(made);
    const changed = await patch(made.id, { event_types: ['limit.exceeded'], enabled: false });
    expect(changed.body).toEqual({
      ...made,
      ...{ event_types: ['limit.exceeded'], enabled: false, updated_at: changed.body.updated_at },
    });
    const list = await webhooks.call('GET', ofTenant, { as: tenant.admin });
    expect(list.body.data).toEqual([changed.body]);
    expect((await webhooks.call('DELETE', `${ofTenant}/${made.id}`, { as: tenant.admin })).status).toBe(204);
    expect((await webhooks.call('GET', `${ofTenant}/${made.id}`, { as: tenant.admin })).status).toBe(404);
    await eventually(() => {
      const entries = webhooks.tenant.entries.filter(({ resource }) => resource.id === made.id);
      expect(entries.map(({ action }) => action)).toEqual([
        'webhook_subscription.created',
        'webhook_subscription.updated',
        'webhook_subscription.deleted',
      ]);
      expect(JSON.stringify(entries)).not.toContain('whsec_');
    });
  });

  it.each([
    [{ event_types: ['run.failed'] }, 'missing_required_parameter', 'url'],
    [{ url: 'https://a.example', event_types: [] }, 'invalid_value', 'event_types'],
    [{ url: 'https://a.example', event_types: ['provider.down'] }, 'invalid_value', 'event_types[0]'],
    [{ url: 'http://10.0.0.1/', event_types: ['run.failed'] }, 'url_not_allowed', 'url'],
    [{ url: 'file:///etc/passwd', event_types: ['run.failed'] }, 'url_not_allowed', 'url'],
    [{ url: 'https://a.example', event_types: ['run.failed'], secret: 'x' }, 'unknown_parameter', 'secret'],
  ])('are not created from %j', async (body, code, param) => {
    const answer = await post(body);
    expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([400, code, param]);
  });

  it('are 50 at most', async () => {
    const body = { url: receiver.url('/'), event_types: ['run.failed'] };
    const statuses = await Promise.all(Array.from({ length: 52 }, async () => (await post(body)).status));
    expect(statuses.filter((status) => status === 201)).toHaveLength(50);
    expect((await post(body)).body.error.code).toBe('limit_reached');
  });

  it('of another tenant are not found', async () => {
    const { id } = await subscribe(['run.failed']);
    const { admin: other } = webhooks.makeTenant();
    for (const [method, path, body] of [
      ['GET', `${ofTenant}/${id}`],
      ['PATCH', `${ofTenant}/${id}`, { enabled: false }],
      ['DELETE', `${ofTenant}/${id}`],
      ['POST', `${ofTenant}/${id}/test`, {}],
    ] as const)
      expect((await webhooks.call(method, path, { as: other, ...(body && { body }) })).status).toBe(404);
  });
});

describe('an event', () => {
  it('is sent to its subscribers alone, signed, with a stable id', async () => {
    const [one, two, other] = [
      await subscribe(['run.failed']),
      await subscribe(['key.expiring', 'run.failed']),
      await subscribe(['key.expiring']),
    ];
    const alert = failure();
    await notify(alert, alert);
    await notify(alert);
    for (const { path, secret } of [one, two]) {
      await eventually(() => expect(receiver.at(path)).toHaveLength(1));
      const [sent] = receiver.at(path);
      expect(new Webhook(secret).verify(sent?.body ?? '', sent?.headers as Record<string, string>)).toEqual({
        type: 'run.failed',
        timestamp: '2026-01-10T09:00:00.000Z',
        data: alert.data,
      });
      expect(sent?.headers['webhook-id']).toBe(alert.id);
    }
    await eventually(async () =>
      expect((await get(one.id)).last_delivery).toEqual({ at: expect.any(String), status: 'delivered' }),
    );
    expect(receiver.at(other.path)).toEqual([]);
  });

  it('is sent to no other tenant, and not while the subscription is disabled', async () => {
    const mine = await subscribe(['key.expiring']);
    const { admin } = webhooks.makeTenant();
    const others = await subscribe(['key.expiring'], { as: admin });
    await patch(mine.id, { enabled: false });
    await notify(expiring());
    await patch(mine.id, { enabled: true });
    const last = expiring();
    await notify(last);
    await eventually(() => expect(receiver.at(mine.path)).toHaveLength(1));
    expect(receiver.at(mine.path)[0]?.headers['webhook-id']).toBe(last.id);
    expect(receiver.at(others.path)).toEqual([]);
  });

  it('about runs of one agent is sent once a minute, over all replicas', async () => {
    const { path } = await subscribe(['run.failed']);
    const [a, b] = [newId(), newId()];
    await Promise.all([failure({}, a), failure({}, a), failure({}, b)].map((alert) => notify(alert)));
    await eventually(() => expect(receiver.at(path)).toHaveLength(2));
    await webhooks.rows(`update webhook.event_marks set at = now() - interval '61 s' where tenant_id = $1`, [
      tenant.id,
    ]);
    await notify(failure({}, a));
    await eventually(() => expect(receiver.at(path)).toHaveLength(3));
  });

  it('that is not readable, or too large, becomes a dead letter and holds up none', async () => {
    const { path } = await subscribe(['key.expiring']);
    const large = { ...expiring(), data: { name: 'x'.repeat(70_000) } } as unknown as NewAlert;
    const strange = { ...expiring(), tenant_id: 'nobody' } as unknown as NewAlert;
    await notify(large, strange, expiring());
    await eventually(() => expect(receiver.at(path)).toHaveLength(1));
    const letters = await webhooks.rows<{ reason: string }>('select reason from webhook.dead_letters');
    expect(letters.map(({ reason }) => reason).sort()).toEqual([
      'larger than 65536 bytes',
      expect.stringContaining('not an alert: tenant_id'),
    ]);
  });

  it('is dropped where 10,000 wait already', async () => {
    receiver.answer = () => ({ status: 500 });
    const { id, path } = await subscribe(['key.expiring']);
    await notify(expiring());
    await eventually(async () => expect((await get(id)).last_delivery?.status).toBe('pending'));
    await webhooks.rows(
      `insert into webhook.deliveries (id, tenant_id, event_id, subscription_id, url, target, status, due_at)
       select gen_random_uuid(), tenant_id, event_id, subscription_id, url, target, status, now() + interval '1 h'
       from webhook.deliveries, generate_series(1, 9999) where subscription_id = $1`,
      [id],
    );
    const dropped = expiring();
    await notify(dropped);
    const sql = 'select 1 from webhook.deliveries where event_id = $1';
    expect(await webhooks.rows(sql, [dropped.id])).toEqual([]);
    await webhooks.rows('delete from webhook.deliveries where subscription_id = $1', [id]);
    const last = expiring();
    await notify(last);
    await eventually(() => expect(receiver.at(path).at(-1)?.headers['webhook-id']).toBe(last.id));
  });

  it('that waits is sent to a new URL of its subscription', async () => {
    receiver.answer = (path) => ({ status: path.startsWith('/moved') ? 200 : 500 });
    const { id, path } = await subscribe(['key.expiring']);
    await notify(expiring());
    await eventually(async () => expect((await get(id)).last_delivery?.status).toBe('pending'));
    await patch(id, { url: receiver.url(`/moved${path}`) });
    await eventually(() => expect(receiver.at(`/moved${path}`)).toHaveLength(1));
  });

  it('may be accepted by agent, chat and tenant only', async () => {
    const nothing = { topic: topics.alerts, source: 'x', events: [], fresh: false };
    await expect(webhooks.send('memory', nothing)).rejects.toMatchObject({ code: 'caller_not_allowed' });
    const other = { ...nothing, topic: topics.usage };
    await expect(webhooks.send('chat', other)).rejects.toMatchObject({ code: 'invalid_value' });
  });
});

describe('a receiver that is gone', () => {
  it('disables its subscription, gives up what waits, and is reported to the others', async () => {
    const watching = await subscribe(['endpoint.disabled']);
    const gone = await subscribe(['key.expiring']);
    receiver.answer = (path) => ({ status: path === gone.path ? 410 : 200 });
    await notify(expiring());
    await eventually(async () => expect((await get(gone.id)).enabled).toBe(false));
    await eventually(() => expect(receiver.at(watching.path)).toHaveLength(1));
    expect(JSON.parse(receiver.at(watching.path)[0]?.body ?? '')).toMatchObject({
      type: 'endpoint.disabled',
      data: {
        ...{ resource_type: 'webhook_subscription', resource_id: gone.id, reason: 'gone' },
        url: receiver.url(gone.path),
      },
    });
    expect((await get(gone.id)).last_delivery?.status).toBe('failed');
  });

  it('that fails for five days disables it too', async () => {
    const failing = await subscribe(['key.expiring']);
    receiver.answer = (path) => ({ status: path === failing.path ? 500 : 200 });
    await notify(expiring());
    await eventually(async () => expect((await get(failing.id)).last_delivery?.status).toBe('pending'));
    expect((await get(failing.id)).enabled).toBe(true);
    await webhooks.rows(
      `update webhook.subscriptions set failing_since = now() - interval '5 days 1 minute' where id = $1`,
      [failing.id],
    );
    await webhooks.rows('update webhook.deliveries set attempts = 7 where subscription_id = $1', [
      failing.id,
    ]);
    await eventually(async () => {
      await webhooks.rows(
        `with hurried as (update webhook.deliveries set due_at = now() where subscription_id = $1 and status = 'pending')
         update webhook_jobs.job set start_after = now() where name = 'deliver' and state = 'created'`,
        [failing.id],
      );
      expect((await get(failing.id)).enabled).toBe(false);
    });
    const rows = await webhooks.rows('select status from webhook.deliveries where subscription_id = $1', [
      failing.id,
    ]);
    expect(rows).toEqual([{ status: 'failed' }]);
  });
});

describe('a test', () => {
  it('is sent at once, also to a disabled subscription, and leaves it as it is', async () => {
    const { id, path, secret } = await subscribe(['run.failed']);
    await patch(id, { enabled: false });
    const answer = await test(id);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ url: receiver.url(path), status: 'pending', attempts: [] });
    await eventually(() => expect(receiver.at(path)).toHaveLength(1));
    const [sent] = receiver.at(path);
    expect(
      new Webhook(secret).verify(sent?.body ?? '', sent?.headers as Record<string, string>),
    ).toMatchObject({ type: 'webhook.test', data: { subscription_id: id } });
    await eventually(async () =>
      expect(await get(id)).toMatchObject({ enabled: false, last_delivery: { status: 'delivered' } }),
    );
  });
});

describe('subscriptions of the owner', () => {
  const as = owner;

  it('receive events of the platform, and tenants have no part in them', async () => {
    const types = ['provider.down', 'tenant.budget_threshold'];
    const { id, path } = await subscribe(types, { as, path: ofOwner });
    expect((await get(id, as, ofOwner)).event_types).toEqual(types);
    await notify({
      ...{ id: newId(), tenant_id: null, type: 'provider.down' },
      data: { provider: 'acme', model: 'small' },
    });
    await eventually(() => expect(receiver.at(path)).toHaveLength(1));
    expect((await test(id, as, ofOwner)).status).toBe(202);
    await eventually(() => expect(receiver.at(path)).toHaveLength(2));
    await eventually(async () => expect((await get(id, as, ofOwner)).last_delivery).not.toBeNull());
    expect((await webhooks.call('GET', `${ofTenant}/${id}`, { as: tenant.admin })).status).toBe(404);
    expect((await webhooks.call('GET', ofOwner, { as: tenant.admin })).status).toBe(403);
    expect((await webhooks.call('GET', ofTenant, { as })).status).toBe(403);
    const list = await webhooks.call('GET', ofOwner, { as });
    expect(list.body.data.map((each) => each.id)).toContain(id);
    const off = { as, body: { enabled: false } };
    expect((await webhooks.call('PATCH', `${ofOwner}/${id}`, off)).body.enabled).toBe(false);
    expect((await webhooks.call('DELETE', `${ofOwner}/${id}`, { as })).status).toBe(204);
    await eventually(() => {
      const entries = webhooks.tenant.entries.filter(({ resource }) => resource.id === id);
      expect(entries.map(({ tenant_id, action }) => [tenant_id, action])).toEqual([
        [null, 'webhook_subscription.created'],
        [null, 'webhook_subscription.updated'],
        [null, 'webhook_subscription.deleted'],
      ]);
    });
  });

  it('have the types of the platform only', async () => {
    const body = { url: receiver.url('/'), event_types: ['run.failed'] };
    expect((await post(body, as, ofOwner)).body.error.param).toBe('event_types[0]');
  });
});

it('keeps dead letters and records of transfers for 30 days', async () => {
  const [old, recent] = [newId(), newId()];
  for (const [id, days] of [
    [old, 31],
    [recent, 29],
  ] as const) {
    await webhooks.rows(
      `insert into webhook.dead_letters (id, received_at, origin, reason, payload)
       values ($1, now() - $2 * interval '1 day', 'test', 'test', '')`,
      [id, days],
    );
    await webhooks.rows(
      `insert into webhook.transfers (id, source_tenant_id, target_tenant_id, state, ended_at)
       values ($1, $1, $1, 'committed', now() - $2 * interval '1 day')`,
      [id, days],
    );
  }
  const { url } = webhooks.database;
  const system = createPool({ url, role: 'webhook_system', max: 1, log: createLogger('test', 'silent') });
  await deleteOld('webhook.dead_letters', system);
  await deleteOldRows(system, oldTransfers('webhook'));
  await system.end();
  for (const table of ['dead_letters', 'transfers'])
    expect(
      await webhooks.rows(`select id from webhook.${table} where id = any ($1)`, [[old, recent]]),
    ).toEqual([{ id: recent }]);
});

function deleteOld(name: string, system: Pool): Promise<number> {
  const rows = oldEvents.find(({ table }) => table === name);
  if (rows === undefined) throw new Error(`nothing of ${name} is deleted`);
  return deleteOldRows(system, rows);
}

it('deletes events and marks that are old', async () => {
  const { path } = await subscribe(['run.failed']);
  await notify(failure());
  await eventually(() => expect(receiver.at(path)).toHaveLength(1));
  const of = [tenant.id];
  await webhooks.rows(
    `update webhook.events set created_at = now() - interval '31 days' where tenant_id = $1`,
    of,
  );
  await webhooks.rows(
    `update webhook.event_marks set at = now() - interval '3 days' where tenant_id = $1`,
    of,
  );
  const { url } = webhooks.database;
  const system = createPool({ url, role: 'webhook_system', max: 1, log: createLogger('test', 'silent') });
  await deleteOld('webhook.events', system);
  await deleteOld('webhook.event_marks', system);
  await system.end();
  for (const table of ['events', 'event_marks', 'deliveries'])
    expect(await webhooks.rows(`select 1 from webhook.${table} where tenant_id = $1`, of)).toEqual([]);
});
