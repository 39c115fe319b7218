import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { deliveryHeaders } from '@gatehouse/contract/webhook-calls';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { Webhook } from 'standardwebhooks';
import { CallStore } from '../src/calls/call-store.ts';
import { failLost } from '../src/calls/run-call-job.ts';
import { WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let receiver: Receiver;
let tenant: TestTenant;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  receiver = await Receiver.start();
  tenant = webhooks.makeTenant();
});
afterAll(async () => {
  await webhooks.stop();
  await receiver.stop();
});

const makeEndpoint = (path: string, fields = {}) =>
  webhooks.makeEndpoint(tenant, { mode: 'async', callback_url: receiver.url(path), ...fields });
const getCall = async (id: string) =>
  (await webhooks.call('GET', `/v1/webhooks/calls/${id}`, { as: tenant.admin })).body;
const getEndpoint = async (id: string) =>
  (await webhooks.call('GET', `/v1/webhooks/endpoints/${id}`, { as: tenant.admin })).body;
const deliver = (endpoint: AnswerBody, input: string) => webhooks.deliver(endpoint, { body: { input } });
/** As if the time of the next attempt had come. */
const hurry = (callId: string) =>
  webhooks.rows(
    `with hurried as (update webhook.deliveries set due_at = now() where call_id = $1 and status = 'pending')
     update webhook_jobs.job set start_after = now() where name = 'deliver' and state = 'created'`,
    [callId],
  );

it('of endpoints that call each other stop after eight hops, and the ninth is not tried again', async () => {
  let to: AnswerBody[] = [];
  const passedOn: number[] = [];
  // Stands in for the edge: what is sent to the path of one endpoint is a delivery to the other.
  receiver.answer = async (path, _attempt, { body, headers }) => {
    const next = path.startsWith('/loop/') ? to[Number(path.at(-1))] : undefined;
    if (next === undefined) return { status: 200 };
    const passed = deliveryHeaders.flatMap((name): [string, string][] =>
      typeof headers[name] === 'string' ? [[name, headers[name]]] : [],
    );
    const answer = await webhooks.sendAnonymously('webhooks.llm', `/v1/webhooks/llm?endpoint=${next.id}`, {
      ...{ body, headers: Object.fromEntries(passed) },
    });
    passedOn.push(answer.status);
    return { status: answer.status, headers: Object.fromEntries(answer.headers) };
  };
  const loop = (path: string) =>
    makeEndpoint(path, { scheme: 'standard', template: '{{ data.output | default: "begin" }}' });
  const [first, second] = [await loop('/loop/1'), await loop('/loop/0')];
  to = [first, second];
  // Each is signed with the secret of the endpoint that it is sent to.
  for (const [from, target] of [
    [first, second],
    [second, first],
  ] as const) {
    const rotated = await webhooks.call('POST', `/v1/webhooks/endpoints/${target.id}/rotate-secret`, {
      as: tenant.admin,
      body: { secret: from.callback_secret, overlap_seconds: 600 },
    });
    expect(rotated.status).toBe(200);
  }
  await webhooks.deliver(first, { body: { data: { output: 'begin' } } });
  await eventually(() => expect(passedOn.filter((status) => status === 403)).toHaveLength(1), 60_000);
  expect(passedOn).toEqual([...Array<number>(8).fill(202), 403]);
  const sent = 'select status, attempts from webhook.deliveries where tenant_id = $1 order by created_at';
  await eventually(async () =>
    expect(await webhooks.rows(sent, [tenant.id])).toEqual([
      ...Array<object>(8).fill({ status: 'delivered', attempts: 1 }),
      { status: 'failed', attempts: 1 },
    ]),
  );
  const failing = 'select from webhook.endpoints where tenant_id = $1 and failing_since is not null';
  expect(await webhooks.rows(failing, [tenant.id])).toEqual([]);
  receiver.answer = () => ({ status: 200 });
});

describe('the result of an async call', () => {
  it('is sent to the callback URL, signed so that the public library verifies it', async () => {
    const endpoint = await makeEndpoint('/result');
    const { body } = await deliver(endpoint, 'to be sent');
    await eventually(() => expect(receiver.at('/result')).toHaveLength(1));
    const [sent] = receiver.at('/result');
    const verified = new Webhook(endpoint.callback_secret).verify(
      sent?.body ?? '',
      sent?.headers as Record<string, string>,
    );
    const call = await getCall(body.call_id);
    expect(verified).toEqual({
      type: 'call.completed',
      timestamp: call.finished_at,
      data: {
        ...{
          call_id: body.call_id,
          agent_id: tenant.agentId,
          output: 'echo: to be sent',
          finish_reason: 'stop',
        },
        ...{ usage: call.usage, trace_id: call.trace_id },
      },
    });
    expect(sent?.headers['webhook-id']).toBe(body.call_id);
    await eventually(async () => {
      const [delivery, ...more] = (await getCall(body.call_id)).deliveries;
      expect(more).toEqual([]);
      expect(delivery).toMatchObject({
        status: 'delivered',
        next_attempt_at: null,
        url: receiver.url('/result'),
      });
      expect(delivery?.attempts).toMatchObject([{ number: 1, status: 200, error: null }]);
    });
  });

  it('is sent to the URL that the delivery names, and to none without one', async () => {
    const endpoint = await makeEndpoint('/unused');
    const callback_url = receiver.url('/named');
    await webhooks.deliver(endpoint, { body: { input: 'x', callback_url } });
    await eventually(() => expect(receiver.at('/named')).toHaveLength(1));
    expect(receiver.at('/unused')).toEqual([]);
    const silent = await webhooks.makeEndpoint(tenant, { mode: 'async' });
    const { body } = await deliver(silent, 'y');
    await eventually(async () => expect((await getCall(body.call_id)).status).toBe('succeeded'));
    expect((await getCall(body.call_id)).deliveries).toEqual([]);
  });

  it('says why a call failed', async () => {
    webhooks.chat.prepare('will fail', new AppError('agent_disabled', 'The agent is disabled.'));
    const { body } = await deliver(await makeEndpoint('/failed'), 'will fail');
    await eventually(() => expect(receiver.at('/failed')).toHaveLength(1));
    expect(JSON.parse(receiver.at('/failed')[0]?.body ?? '')).toMatchObject({
      type: 'call.failed',
      data: { call_id: body.call_id, error: { code: 'agent_disabled', message: 'The agent is disabled.' } },
    });
  });

  it('is sent again by the schedule, with the same id and body, until it is taken', async () => {
    receiver.answer = (path, attempt) => ({ status: path === '/flaky' && attempt < 3 ? 503 : 200 });
    const { body } = await deliver(await makeEndpoint('/flaky'), 'flaky');
    await eventually(() => expect(receiver.at('/flaky')).toHaveLength(1));
    await eventually(async () => {
      const [delivery] = (await getCall(body.call_id)).deliveries;
      expect(delivery?.attempts).toHaveLength(1);
      const inS = (Date.parse(delivery?.next_attempt_at ?? '') - Date.now()) / 1_000;
      expect(inS).toBeGreaterThan(1);
      expect(inS).toBeLessThan(7);
    });
    await eventually(async () => {
      await hurry(body.call_id);
      expect(receiver.at('/flaky')).toHaveLength(3);
    });
    const sent = receiver.at('/flaky');
    expect(new Set(sent.map((each) => each.body)).size).toBe(1);
    expect(new Set(sent.map((each) => each.headers['webhook-id'])).size).toBe(1);
    await eventually(async () =>
      expect((await getCall(body.call_id)).deliveries[0]?.attempts.map(({ status }) => status)).toEqual([
        503, 503, 200,
      ]),
    );
    expect(webhooks.chat.runs.filter(({ request }) => request.requestJson.includes('flaky'))).toHaveLength(1);
  });

  it('waits as long as the receiver asks', async () => {
    receiver.answer = (path) =>
      path === '/busy' ? { status: 429, headers: { 'retry-after': '3600' } } : { status: 200 };
    const { body } = await deliver(await makeEndpoint('/busy'), 'busy');
    await eventually(async () => {
      const [delivery] = (await getCall(body.call_id)).deliveries;
      expect(Date.parse(delivery?.next_attempt_at ?? '') - Date.now()).toBeGreaterThan(3_500_000);
    });
  });

  it('is given up where the receiver is gone, and the endpoint disabled', async () => {
    receiver.answer = (path) => ({ status: path === '/gone' ? 410 : 200 });
    const endpoint = await makeEndpoint('/gone');
    const { body } = await deliver(endpoint, 'gone');
    await eventually(async () => expect((await getCall(body.call_id)).deliveries[0]?.status).toBe('failed'));
    expect((await getEndpoint(endpoint.id)).enabled).toBe(false);
    expect((await deliver(endpoint, 'after')).status).toBe(401);
  });

  it('disables the endpoint after five days of failures only, and a success forgets them', async () => {
    receiver.answer = (path) => ({ status: path === '/sick' ? 500 : 200 });
    const endpoint = await makeEndpoint('/sick');
    const failing = async () =>
      (
        await webhooks.rows<{ since: Date | null }>(
          'select failing_since as since from webhook.endpoints where id = $1',
          [endpoint.id],
        )
      )[0]?.since ?? null;
    await deliver(endpoint, 'first failure');
    await eventually(async () => expect(await failing()).not.toBeNull());
    await webhooks.rows(
      `update webhook.endpoints set failing_since = now() - interval '4 days 23 hours' where id = $1`,
      [endpoint.id],
    );
    const { body: second } = await deliver(endpoint, 'second failure');
    await eventually(async () =>
      expect((await getCall(second.call_id)).deliveries[0]?.attempts).toHaveLength(1),
    );
    expect((await getEndpoint(endpoint.id)).enabled).toBe(true);
    receiver.answer = () => ({ status: 204 });
    await hurry(second.call_id);
    await eventually(async () => expect(await failing()).toBeNull());
    receiver.answer = () => ({ status: 500 });
    await deliver(endpoint, 'third failure');
    await eventually(async () => expect(await failing()).not.toBeNull());
    await webhooks.rows(
      `update webhook.endpoints set failing_since = now() - interval '5 days 1 minute' where id = $1`,
      [endpoint.id],
    );
    const { body: fourth } = await deliver(endpoint, 'fourth failure');
    await eventually(async () =>
      expect((await getCall(fourth.call_id)).deliveries[0]?.attempts).toHaveLength(1),
    );
    // One failure long after another is not five days of failures; the last attempt for a delivery ends them.
    expect((await getEndpoint(endpoint.id)).enabled).toBe(true);
    await webhooks.rows('update webhook.deliveries set attempts = 7 where call_id = $1', [fourth.call_id]);
    await eventually(async () => {
      await hurry(fourth.call_id);
      expect((await getEndpoint(endpoint.id)).enabled).toBe(false);
    });
    receiver.answer = () => ({ status: 200 });
  });

  it('waits while the tenant is suspended', async () => {
    const suspended = webhooks.makeTenant();
    const callback_url = receiver.url('/suspended');
    const endpoint = await webhooks.makeEndpoint(suspended, { mode: 'async', callback_url });
    receiver.answer = () => ({ status: 500 });
    const { body } = await deliver(endpoint, 'suspended later');
    await eventually(() => expect(receiver.at('/suspended')).toHaveLength(1));
    webhooks.tenant.settings.set(suspended.id, { status: 'suspended' });
    await sleep(1_500);
    await hurry(body.call_id);
    await sleep(2_000);
    expect(receiver.at('/suspended')).toHaveLength(1);
    webhooks.tenant.settings.delete(suspended.id);
    await sleep(1_500);
    await eventually(async () => {
      await hurry(body.call_id);
      expect(receiver.at('/suspended').length).toBeGreaterThan(1);
    });
  });

  it('is sent although its job is missing', async () => {
    receiver.answer = () => ({ status: 500 });
    const { body } = await deliver(await makeEndpoint('/lost'), 'lost');
    await eventually(() => expect(receiver.at('/lost')).toHaveLength(1));
    receiver.answer = () => ({ status: 200 });
    await eventually(async () => {
      await webhooks.rows(`delete from webhook_jobs.job where name = 'deliver'`);
      const overdue = `update webhook.deliveries set due_at = now() - interval '1 minute'
        where call_id = $1 and claimed_until is null returning 1`;
      expect(await webhooks.rows(overdue, [body.call_id])).toHaveLength(1);
    });
    await eventually(() => expect(receiver.at('/lost')).toHaveLength(2), 25_000);
  });

  it('says that the answer of the provider could not be read, at once', async () => {
    webhooks.chat.prepare('unreadable', '{"choices":[]}');
    const { body } = await deliver(await makeEndpoint('/unreadable'), 'unreadable');
    await eventually(() => expect(receiver.at('/unreadable')).toHaveLength(1));
    expect(JSON.parse(receiver.at('/unreadable')[0]?.body ?? '')).toMatchObject({
      ...{ type: 'call.failed', data: { error: { code: 'provider_invalid_response' } } },
    });
    expect((await getCall(body.call_id)).status).toBe('failed');
  });

  it('is not sent where the receiver redirects to', async () => {
    const inside = await Receiver.start();
    receiver.answer = (path) =>
      path === '/redirects' ? { status: 302, headers: { location: inside.url('/inside') } } : { status: 200 };
    const { body } = await deliver(await makeEndpoint('/redirects'), 'redirected');
    await eventually(async () =>
      expect((await getCall(body.call_id)).deliveries[0]?.attempts).toMatchObject([
        { status: 302, error: null },
      ]),
    );
    expect(inside.received).toEqual([]);
    await inside.stop();
  });
});

describe('redelivery', () => {
  const redeliver = (id: string, as = tenant.admin) =>
    webhooks.call('POST', `/v1/webhooks/calls/${id}/redeliver`, { as, body: {} });

  it('sends the stored result again, by the same id, without another run', async () => {
    receiver.answer = () => ({ status: 200 });
    const { body } = await deliver(await makeEndpoint('/again'), 'again');
    await eventually(() => expect(receiver.at('/again')).toHaveLength(1));
    const answer = await redeliver(body.call_id);
    expect(answer.status).toBe(202);
    await eventually(() => expect(receiver.at('/again')).toHaveLength(2));
    const [first, second] = receiver.at('/again');
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect((await getCall(body.call_id)).deliveries).toHaveLength(2);
  });

  it('is possible until the result was sent 50 times', async () => {
    const { body } = await deliver(await makeEndpoint('/often'), 'often');
    await eventually(() => expect(receiver.at('/often')).toHaveLength(1));
    await webhooks.rows(
      `insert into webhook.deliveries (id, tenant_id, call_id, endpoint_id, url, target, status)
       select gen_random_uuid(), tenant_id, call_id, endpoint_id, url, target, 'delivered'
       from webhook.deliveries, generate_series(1, 48) where call_id = $1`,
      [body.call_id],
    );
    expect((await redeliver(body.call_id)).status).toBe(202);
    expect((await redeliver(body.call_id)).body.error.code).toBe('limit_reached');
  });

  it('needs a callback URL and a result, in the tenant', async () => {
    const silent = await webhooks.makeEndpoint(tenant, { mode: 'async' });
    const { body } = await deliver(silent, 'silent');
    await eventually(async () => expect((await getCall(body.call_id)).status).toBe('succeeded'));
    expect((await redeliver(body.call_id)).body.error.code).toBe('nothing_to_deliver');
    expect((await redeliver(body.call_id, webhooks.makeTenant().admin)).status).toBe(404);
  });
});

it('targets that hang hold one job each, however many deliveries come one after the other', async () => {
  const hanging = await Receiver.start();
  const others = await Receiver.start();
  for (const each of [hanging, others]) each.answer = () => 'nothing';
  const crowded = webhooks.makeTenant();
  const endpoints = await Promise.all(
    [hanging, others].map((each) =>
      webhooks.makeEndpoint(crowded, { mode: 'async', callback_url: each.url('/hangs') }),
    ),
  );
  for (let n = 0; n < 12; n += 1)
    for (const endpoint of endpoints) {
      await deliver(endpoint, `hangs ${n}`);
      await sleep(30);
    }
  await eventually(() => expect(hanging.received.length + others.received.length).toBe(16));
  // One that finds its target full ends at once.
  await eventually(async () => {
    const jobs = await webhooks.rows(
      `select 1 from webhook_jobs.job where name = 'deliver' and state = 'active' and group_id = $1`,
      [crowded.id],
    );
    expect(jobs).toHaveLength(2);
  });
  await hanging.stop();
  await others.stop();
});

it('calls whose last attempt was lost end after two days', async () => {
  const endpoint = await makeEndpoint('/two-days');
  const { body } = await deliver(endpoint, 'two days');
  await eventually(() => expect(receiver.at('/two-days')).toHaveLength(1));
  await webhooks.rows(
    `update webhook.calls set status = 'queued', result = null, finished_at = null,
       created_at = now() - interval '49 hours' where id = $1`,
    [body.call_id],
  );
  const log = createLogger('test', 'silent');
  const { url } = webhooks.database;
  const app = createPool({ url, role: 'webhook_app', max: 1, log });
  const system = createPool({ url, role: 'webhook_system', max: 1, log });
  const addResult = jest.fn<() => Promise<null>>().mockResolvedValue(null);
  await failLost({ system, calls: new CallStore(app), queue: { addResult } });
  await Promise.all([app.end(), system.end()]);
  expect(await getCall(body.call_id)).toMatchObject({ status: 'failed', error: { code: 'service_timeout' } });
  expect(addResult).toHaveBeenCalledTimes(1);
});

it('a target that hangs delays no other', async () => {
  const hanging = await Receiver.start();
  hanging.answer = () => 'nothing';
  receiver.answer = () => ({ status: 200 });
  const slow = await webhooks.makeEndpoint(tenant, { mode: 'async', callback_url: hanging.url('/hangs') });
  await Promise.all(Array.from({ length: 20 }, (_, n) => deliver(slow, `hangs ${n}`)));
  await eventually(() => expect(hanging.received.length).toBeGreaterThan(0));
  const quick = await makeEndpoint('/quick');
  const startedAt = Date.now();
  await Promise.all(Array.from({ length: 20 }, (_, n) => deliver(quick, `quick ${n}`)));
  await eventually(() => expect(receiver.at('/quick')).toHaveLength(20));
  expect(Date.now() - startedAt).toBeLessThan(10_000);
  expect(hanging.received).toHaveLength(8);
  await hanging.stop();
});
