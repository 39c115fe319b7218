import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { AnswerStore } from '../src/conversations/answer-store.ts';
import { findOverdueAnswers } from '../src/conversations/conversation-system-store.ts';
import { findOverdueTargets } from '../src/deliveries/delivery-system-store.ts';
import { makeChannel, write, written, type TestChannel } from './channels-under-test.ts';
import { WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

/** Answers of calls in channels: through transfers, beside other tenants, and after deletions of users' data. */

let webhooks: WebhookServiceUnderTest;
let receiver: Receiver;
let system: Pool;
let app: Pool;
let tenant: TestTenant;
let path: string;

beforeAll(async () => {
  receiver = await Receiver.start();
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  const { url } = webhooks.database;
  const log = createLogger('test', 'silent');
  system = createPool({ url, role: 'webhook_system', max: 2, log });
  app = createPool({ url, role: 'webhook_app', max: 2, log });
});
beforeEach(() => {
  tenant = webhooks.makeTenant();
  path = `/${newId()}`;
});
afterAll(async () => {
  await system.end();
  await app.end();
  await webhooks.stop();
  await receiver.stop();
});

const makeGeneric = (of = tenant) =>
  makeChannel(webhooks, of, { type: 'generic', config: { callback_url: receiver.url(path) } });
const endpointTo = (channel: TestChannel, conversation: string) =>
  webhooks.makeEndpoint(channel.tenant, {
    deliver_to: { channel_instance_id: channel.id, conversation },
  });
const deliveredBy = (of: TestTenant, callId: string) =>
  eventually(async () => {
    const { body } = await webhooks.call('GET', `/v1/webhooks/calls/${callId}`, { as: of.admin });
    expect(body.channel_delivery).toMatchObject({ status: 'delivered' });
  });
async function answered(endpoint: AnswerBody, body: object): Promise<string> {
  const { body: call } = await webhooks.deliver(endpoint, { body });
  await deliveredBy(tenant, call.call_id);
  return call.call_id;
}

it('an answer waits until its endpoint and channel have moved, and then arrives', async () => {
  const channel = await makeGeneric();
  const endpoint = await endpointTo(channel, 'ops');
  const id = await answered(endpoint, { input: 'The disk is full' });
  const other = webhooks.makeTenant();
  const moveTo = async (to: string, closed: boolean) => {
    for (const [table, owner] of [
      ['endpoints', endpoint.id],
      ['channel_instances', channel.id],
    ])
      await webhooks.rows(`update webhook.${table} set tenant_id = $2, closed = $3 where id = $1`, [
        ...[owner, to, closed],
      ]);
  };
  // The calls of an endpoint move first, in batches of their own.
  await moveTo(other.id, true);
  await webhooks.rows('delete from webhook.channel_messages where turn_id = $1', [id]);
  await webhooks.rows(
    `update webhook.calls set channel_delivery = 'pending', finished_at = now() - interval '1 minute' where id = $1`,
    [id],
  );
  const answers = new AnswerStore(app);
  expect(await answers.find(tenant.id, id)).toBeNull();
  await moveTo(tenant.id, true);
  expect(await answers.find(tenant.id, id)).toBeNull();
  await moveTo(tenant.id, false);
  await deliveredBy(tenant, id);
  expect(receiver.at(path)).toHaveLength(2);
});

it('overdue answers and deliveries of one tenant keep those of others from nothing', async () => {
  const many = 600;
  const make = async (of: TestTenant, count: number, minutes: number) => {
    const channel = await makeGeneric(of);
    const endpoint = await endpointTo(channel, 'ops');
    const { body } = await webhooks.deliver(endpoint, { body: { input: 'a' } });
    await deliveredBy(of, body.call_id);
    // Closed, so that the service itself leaves them alone.
    await webhooks.rows('update webhook.endpoints set closed = true where id = $1', [endpoint.id]);
    await webhooks.rows(
      `insert into webhook.calls select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(),
         'channel_delivery', 'pending', 'finished_at', now() - make_interval(mins => $3)))).*
       from webhook.calls as c, generate_series(1, $2) where id = $1`,
      [body.call_id, count, minutes],
    );
    await webhooks.rows(
      `insert into webhook.deliveries (id, tenant_id, target, url, call_id, endpoint_id, due_at, claimed_until, status)
       select gen_random_uuid(), tenant_id, 'https://' || tenant_id, 'https://example.com', id, endpoint_id,
         now() - make_interval(mins => $3), null, 'pending'
       from webhook.calls, generate_series(1, $2) where id = $1`,
      [body.call_id, count, minutes],
    );
  };
  await make(tenant, many, 60);
  const other = webhooks.makeTenant();
  await make(other, 1, 1);
  const tenantsOf = (rows: { tenantId: string }[]) => rows.map(({ tenantId }) => tenantId);
  const answers = await findOverdueAnswers(system, 500);
  expect(tenantsOf(answers)).toEqual(expect.arrayContaining([tenant.id, other.id]));
  expect(answers.length).toBeLessThanOrEqual(500);
  expect(await findOverdueAnswers(system, 2)).toHaveLength(2);
  expect(tenantsOf(await findOverdueTargets(system, 500))).toEqual(
    expect.arrayContaining([tenant.id, other.id]),
  );
  expect(await findOverdueTargets(system, 1)).toHaveLength(1);
});

it('targets of one tenant, of which none is overdue, keep no overdue one of others from being found', async () => {
  const [first, last] = [tenant, webhooks.makeTenant()].sort((one, other) => (one.id < other.id ? -1 : 1));
  if (first === undefined || last === undefined) throw new Error('there are two tenants');
  const queue = async (of: TestTenant, targets: number, due: string) => {
    const channel = await makeGeneric(of);
    const endpoint = await endpointTo(channel, 'ops');
    const { body } = await webhooks.deliver(endpoint, { body: { input: 'a' } });
    await deliveredBy(of, body.call_id);
    await webhooks.rows('update webhook.endpoints set closed = true where id = $1', [endpoint.id]);
    await webhooks.rows(
      `insert into webhook.deliveries (id, tenant_id, target, url, call_id, endpoint_id, due_at, claimed_until, status)
       select gen_random_uuid(), tenant_id, 'https://' || number, 'https://example.com', id, endpoint_id,
         now() + $3::interval, null, 'pending'
       from webhook.calls, generate_series(1, $2) as number where id = $1`,
      [body.call_id, targets, due],
    );
  };
  await queue(first, 10_001, '1 day');
  await queue(last, 1, '-1 hour');
  expect(await findOverdueTargets(system, 500)).toContainEqual({ tenantId: last.id, target: 'https://1' });
});

const forget = async (userId: string) => {
  const request = { tenantId: tenant.id, userId, deletionId: newId() };
  const peer = await webhooks.peer('tenant');
  const requestedAtMs = BigInt(Date.now() + 1_000);
  return peer.call('forgetUser', { ...request, requestedAtMs }, { deadlineMs: 5_000 });
};
const left = ({ id }: TestChannel) =>
  webhooks.rows(
    `select c.user_id, array_agg(m.user_id order by m.sequence) as users
     from webhook.conversations as c join webhook.channel_messages as m on m.conversation_id = c.id
     where c.instance_id = $1 group by c.id`,
    [id],
  );
const conversationsOf = ({ id }: TestChannel) =>
  webhooks.rows('select user_id from webhook.conversations where instance_id = $1', [id]);
const receive = (count: number) => eventually(() => expect(receiver.at(path)).toHaveLength(count));

it('a deletion removes the conversation of a user with the answers of calls of no user', async () => {
  const channel = await makeGeneric();
  const endpoint = await endpointTo(channel, 'with-ann');
  await answered(endpoint, { input: 'The disk is full' });
  await write(webhooks, channel, written('Which one?'));
  await receive(2);
  const ann = `generic:${channel.id}:ann`;
  expect(await left(channel)).toEqual([{ user_id: ann, users: [null, ann, ann] }]);
  await forget(ann);
  expect(await conversationsOf(channel)).toEqual([]);
});

it('a deletion leaves messages and answers of others, in a conversation without the user', async () => {
  const channel = await makeGeneric();
  const endpoint = await endpointTo(channel, 'with-ann');
  await write(webhooks, channel, written('Hello'));
  await receive(1);
  await write(webhooks, channel, written('I am Bob', { user: { id: 'bob' } }));
  await receive(2);
  const vera = await answered(endpoint, { input: 'The disk is full', user_id: 'vera' });
  const [ann, bob] = ['ann', 'bob'].map((name) => `generic:${channel.id}:${name}`);
  expect(await left(channel)).toEqual([{ user_id: ann, users: [ann, ann, bob, bob, 'vera'] }]);
  await forget(ann ?? '');
  expect(await left(channel)).toEqual([{ user_id: null, users: [bob, bob, 'vera'] }]);
  await deliveredBy(tenant, vera);
  await forget('vera');
  await forget(bob ?? '');
  // Nothing of anyone is in it, so the upkeep deletes it after a day.
  expect(await left(channel)).toEqual([]);
});
