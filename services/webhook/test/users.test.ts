import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Receiver } from '@gatehouse/test/receiver';
import { makeChannel, write, written } from './channels-under-test.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let receiver: Receiver;
let tenant: TestTenant;
beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  receiver = await Receiver.start();
  tenant = webhooks.makeTenant();
  webhooks.tenant.settings.set(tenant.id, { hasUsers: true });
});
afterAll(async () => {
  await webhooks.stop();
  await receiver.stop();
});

const add = (name: string, userId: string, blocked = false, of = tenant) =>
  webhooks.tenant.users.set(`${of.id} ${name}`, { userId, blocked });

it('a call is for the user that its name means, and refused for a blocked one', async () => {
  add('ann@example.com', 'ann');
  add('bob', 'bob', true);
  const endpoint = await webhooks.makeEndpoint(tenant);
  const deliver = (user_id: string) => webhooks.deliver(endpoint, { body: { input: user_id, user_id } });
  const { body } = await deliver('Ann@Example.com');
  const stored = await webhooks.rows('select user_id as user from webhook.calls where id = $1', [
    body.call_id,
  ]);
  expect(stored).toEqual([{ user: 'ann' }]);
  expect(await deliver('BOB')).toMatchObject({ status: 403, body: { error: { code: 'user_blocked' } } });
  expect((await deliver('stranger')).status).toBe(200);
});

it('names of a tenant mean nothing in another one, which has no directory', async () => {
  const other = webhooks.makeTenant();
  add('bob', 'bobby', true, other);
  const endpoint = await webhooks.makeEndpoint(other);
  expect((await webhooks.deliver(endpoint, { body: { input: 'hi', user_id: 'bob' } })).status).toBe(200);
});

it('a message of a channel is from the user whose alias is the account', async () => {
  const channel = await makeChannel(webhooks, tenant, {
    ...{ type: 'generic', config: { callback_url: receiver.url('/replies') } },
  });
  add(`generic:${channel.id}:u7`, 'ann');
  await write(webhooks, channel, written('hello', { user: { id: 'u7' } }));
  const stored = await webhooks.rows(
    `select user_id as user from webhook.channel_messages where tenant_id = $1 and direction = 'in'`,
    [tenant.id],
  );
  expect(stored).toEqual([{ user: 'ann' }]);
});
