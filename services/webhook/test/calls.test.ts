import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { expiredCalls } from '../src/calls/call-system-store.ts';
import { WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let tenant: TestTenant;
let endpoint: AnswerBody;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start();
  tenant = webhooks.makeTenant();
  endpoint = await webhooks.makeEndpoint(tenant);
});
afterAll(() => webhooks.stop());

const getCall = (id: string, as = tenant.admin) => webhooks.call('GET', `/v1/webhooks/calls/${id}`, { as });

describe('async calls', () => {
  it('wait for their results, 10,000 of a tenant at most', async () => {
    const crowded = webhooks.makeTenant();
    const later = await webhooks.makeEndpoint(crowded, { mode: 'async' });
    const { body } = await webhooks.deliver(later, { body: { input: 'the first' } });
    await eventually(async () =>
      expect((await getCall(body.call_id, crowded.admin)).body.status).toBe('succeeded'),
    );
    await webhooks.rows(
      `insert into webhook.calls (id, tenant_id, endpoint_id, agent_id, body_sha256, mode, status, metadata, expires_at)
       select gen_random_uuid(), tenant_id, endpoint_id, agent_id, body_sha256, mode, 'queued', metadata, expires_at
       from webhook.calls, generate_series(1, 10000) where id = $1`,
      [body.call_id],
    );
    await sleep(1_100);
    const refused = await webhooks.deliver(later, { body: { input: 'one more' }, id: 'msg_crowded' });
    expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(refused.headers.get('retry-after')).toBe('60');
    await webhooks.rows('delete from webhook.calls where tenant_id = $1', [crowded.id]);
    await sleep(1_100);
    // The refused delivery has not used its id up.
    expect((await webhooks.deliver(later, { body: { input: 'one more' }, id: 'msg_crowded' })).status).toBe(
      202,
    );
  });

  const until = (id: string, status: string) =>
    eventually(async () => {
      const { body } = await getCall(id);
      expect(body.status).toBe(status);
      return body;
    });

  it('are answered at once, run once, and keep their result', async () => {
    const deliver = () =>
      webhooks.deliver(endpoint, { body: { input: 'later', mode: 'async' }, id: 'async' });
    const [first, second] = [await deliver(), await deliver()];
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(Object.keys(first.body).sort()).toEqual(['call_id', 'status']);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect((await until(first.body.call_id, 'succeeded')).output).toBe('echo: later');
    expect(webhooks.chat.runsOf('later')).toHaveLength(1);
  });

  it.each([
    ['agent_disabled', 'The agent is disabled.'],
    ['run_stopped', 'The run was stopped.'],
  ] as const)('that fail for good by %s say so, once; a repeat is a new call', async (code, message) => {
    const input = `refused by ${code}`;
    webhooks.chat.prepare(input, new AppError(code, message));
    const deliver = () => webhooks.deliver(endpoint, { body: { input, mode: 'async' }, id: code });
    const { body } = await deliver();
    const { error } = await until(body.call_id, 'failed');
    expect(error).toEqual({ code, message });
    expect(webhooks.chat.runsOf(input)).toHaveLength(1);
    expect((await deliver()).body.call_id).not.toBe(body.call_id);
  });
});

it('a repeat of a delivery that was lost on its way to the agent asks it at once, in the same call', async () => {
  webhooks.chat.prepare('lost on its way', new AppError('internal', 'Chat failed.'));
  const deliver = () => webhooks.deliver(endpoint, { body: { input: 'lost on its way' }, id: 'on-its-way' });
  expect((await deliver()).status).toBe(500);
  expect(await deliver()).toMatchObject({ status: 200, body: { output: 'echo: lost on its way' } });
  const [first, second] = webhooks.chat.runsOf('lost on its way').map(({ request }) => request.callId);
  expect(second).toBe(first);
});

it('stores prompts and answers encrypted, and no prompt once a call has finished', async () => {
  await webhooks.deliver(endpoint, { body: { input: 'hush-hush' }, id: 'hush' });
  const [row] = await webhooks.rows<{ request: unknown; text: string }>(
    `select request, encode(result, 'escape') as text from webhook.calls where delivery_id = 'hush'`,
  );
  expect(row?.request).toBeNull();
  expect(row?.text).not.toContain('hush');
});

it('shows another tenant neither calls nor their lists', async () => {
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'private' } });
  const other = webhooks.makeTenant().admin;
  expect((await getCall(body.call_id, other)).status).toBe(404);
  const list = await webhooks.call('GET', `/v1/webhooks/endpoints/${endpoint.id}/calls`, { as: other });
  expect(list.status).toBe(404);
});

it('removes the calls of a user, of that tenant and before the deletion alone', async () => {
  const other = webhooks.makeTenant();
  const theirs = await webhooks.makeEndpoint(other);
  const ask = (of: AnswerBody, user_id: string) =>
    webhooks.deliver(of, { body: { input: 'private', user_id } });
  const [gone, kept, foreign] = await Promise.all([
    ask(endpoint, 'gus'),
    ask(endpoint, 'ida'),
    ask(theirs, 'gus'),
  ]);
  const [{ now } = { now: 0 }] = await webhooks.rows<{ now: number }>(
    'select ceil(extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  const later = await ask(endpoint, 'gus');
  const request = { tenantId: tenant.id, userId: 'gus', deletionId: newId(), requestedAtMs: BigInt(now) };
  const peer = await webhooks.peer('tenant');
  expect(await peer.call('forgetUser', request, { deadlineMs: 5_000 })).toEqual({
    counts: { webhook_calls: 1n, channel_messages: 0n },
    completed: true,
  });
  expect((await getCall(gone.body.call_id)).status).toBe(404);
  for (const { body } of [kept, later]) expect((await getCall(body.call_id)).status).toBe(200);
  expect((await getCall(foreign.body.call_id, other.admin)).status).toBe(200);
  await expect(
    (await webhooks.peer('chat')).call('forgetUser', request, { deadlineMs: 5_000 }),
  ).rejects.toMatchObject({ code: 'caller_not_allowed' });
});

it('removes calls with their endpoint, and after 30 days', async () => {
  const own = await webhooks.makeEndpoint(tenant);
  const { body } = await webhooks.deliver(own, { body: { input: 'short-lived' } });
  await webhooks.call('DELETE', `/v1/webhooks/endpoints/${own.id}`, { as: tenant.admin });
  expect((await getCall(body.call_id)).status).toBe(404);

  const [old, young] = await Promise.all([
    webhooks.deliver(endpoint, { body: { input: 'old' } }),
    webhooks.deliver(endpoint, { body: { input: 'young' } }),
  ]);
  const age = (id: string, by: string) =>
    webhooks.rows('update webhook.calls set expires_at = expires_at - $2::interval where id = $1', [id, by]);
  await age(old.body.call_id, '30 days');
  await age(young.body.call_id, '29 days 23 hours');
  const log = createLogger('test', 'silent');
  const system = createPool({ url: webhooks.database.url, role: 'webhook_system', max: 1, log });
  await deleteOldRows(system, expiredCalls);
  await system.end();
  expect((await getCall(old.body.call_id)).status).toBe(404);
  expect((await getCall(young.body.call_id)).status).toBe(200);
});
