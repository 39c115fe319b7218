import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { startSlack, startTelegram, type ProviderServer } from '@gatehouse/test/channel-providers';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { signed } from '@gatehouse/test/webhook-senders';
import { AnswerStore } from '../src/conversations/answer-store.ts';
import {
  makeChannel,
  messagesOf,
  postMessage,
  write,
  written,
  type TestChannel,
} from './channels-under-test.ts';
import { WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

/** Answers of webhook calls in conversations of channels. */

const botToken = '12345:telegram-bot-token';
const slackToken = 'xoxb-slack-token';

let webhooks: WebhookServiceUnderTest;
let telegram: ProviderServer;
let slack: ProviderServer;
let receiver: Receiver;
let tenant: TestTenant;
let path: string;

beforeAll(async () => {
  telegram = await startTelegram(new Set([botToken]));
  slack = await startSlack(new Set([slackToken]));
  receiver = await Receiver.start();
  webhooks = await WebhookServiceUnderTest.start({
    ...{ TELEGRAM_API_URL: telegram.url, SLACK_API_URL: `${slack.url}/api/` },
    EGRESS_ALLOW: '127.0.0.1',
  });
});
beforeEach(() => {
  tenant = webhooks.makeTenant();
  path = `/${newId()}`;
  receiver.answer = () => ({ status: 200 });
  for (const provider of [telegram, slack]) {
    provider.calls.splice(0);
    provider.failures.splice(0);
  }
});
afterAll(async () => {
  await webhooks.stop();
  await telegram.stop();
  await slack.stop();
  await receiver.stop();
});

const makeSlack = () =>
  makeChannel(webhooks, tenant, {
    ...{ type: 'slack', credentials: { bot_token: slackToken, signing_secret: 'slack-signing-secret' } },
  });
const makeGeneric = (of = tenant) =>
  makeChannel(webhooks, of, { type: 'generic', config: { callback_url: receiver.url(path) } });
const to = (channel: TestChannel, conversation = 'C024BE91L') => ({
  deliver_to: { channel_instance_id: channel.id, conversation },
});
const callOf = async (id: string): Promise<AnswerBody> =>
  (await webhooks.call('GET', `/v1/webhooks/calls/${id}`, { as: tenant.admin })).body;
const untilDelivery = (callId: string, fields: object) =>
  eventually(async () => {
    const { channel_delivery: delivery } = await callOf(callId);
    expect(delivery).toMatchObject(fields);
    return delivery;
  });
const patch = (id: string, body: object) =>
  webhooks.call('PATCH', `/v1/webhooks/endpoints/${id}`, { as: tenant.admin, body });
const deleteChannel = ({ id }: TestChannel) =>
  webhooks.call('DELETE', `/v1/channels/instances/${id}`, { as: tenant.admin });

describe.each(['sync', 'async'])('an answer of a %s call', (mode) => {
  it('goes to the channel of Slack, once, and is a message of its conversation', async () => {
    const channel = await makeSlack();
    const endpoint = await webhooks.makeEndpoint(tenant, { mode, ...to(channel) });
    expect(endpoint.deliver_to).toEqual(to(channel).deliver_to);
    const delivery = { body: { input: `**Disk** of db-1 is full (${mode})` }, id: newId() };
    const { body } = await webhooks.deliver(endpoint, delivery);
    const delivered = { ...to(channel).deliver_to, status: 'delivered', reason: null };
    expect(await untilDelivery(body.call_id, { status: 'delivered' })).toEqual(delivered);
    // A repeat is no new call.
    expect((await webhooks.deliver(endpoint, delivery)).body.call_id).toBe(body.call_id);
    const text = `echo: *Disk* of db-1 is full (${mode})`;
    expect(slack.bodies('chat.postMessage')).toEqual([{ channel: 'C024BE91L', text }]);
    expect(await messagesOf(webhooks, channel, 'C024BE91L')).toMatchObject([
      { direction: 'out', status: 'sent', external_id: '1700000001.000200' },
    ]);
  });
});

it('goes to a chat of Telegram, and also to the callback URL', async () => {
  const channel = await makeChannel(webhooks, tenant, {
    type: 'telegram',
    credentials: { bot_token: botToken, secret_token: 'telegram-secret-token' },
  });
  const endpoint = await webhooks.makeEndpoint(tenant, {
    ...{ mode: 'async', callback_url: receiver.url(path), ...to(channel, '-1001234567890') },
  });
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'CPU **high**' } });
  await untilDelivery(body.call_id, { status: 'delivered' });
  expect(telegram.bodies('sendMessage')).toEqual([
    { chat_id: '-1001234567890', text: 'echo: CPU <b>high</b>', parse_mode: 'HTML' },
  ]);
  await eventually(() => expect(receiver.at(path)).toHaveLength(1));
  const conversations = `/v1/channels/instances/${channel.id}/conversations`;
  const listed = await webhooks.call('GET', conversations, { as: tenant.admin });
  expect(listed.body.data).toMatchObject([{ external_id: '-1001234567890', group: true, user_id: null }]);
});

it('is part of the history of a conversation, which gets the user of its first message', async () => {
  const channel = await makeGeneric();
  const endpoint = await webhooks.makeEndpoint(tenant, to(channel, 'with-ann'));
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'The backup has failed' } });
  await untilDelivery(body.call_id, { status: 'delivered' });
  await write(webhooks, channel, written('Which backup was it?'));
  await eventually(() => expect(webhooks.chat.runsOf('Which backup was it?')).toHaveLength(1));
  const [run] = webhooks.chat.runsOf('Which backup was it?');
  expect(JSON.parse(run?.request.requestJson ?? '')).toEqual({
    messages: [
      { role: 'assistant', content: 'echo: The backup has failed' },
      { role: 'user', content: 'Which backup was it?' },
    ],
  });
  const conversations = `/v1/channels/instances/${channel.id}/conversations`;
  const listed = await webhooks.call('GET', conversations, { as: tenant.admin });
  expect(listed.body.data).toMatchObject([{ group: false, user_id: `generic:${channel.id}:ann` }]);
  // The next answer goes to the same conversation, and belongs to its user.
  const next = await webhooks.deliver(endpoint, { body: { input: 'It is back' } });
  await untilDelivery(next.body.call_id, { status: 'delivered' });
  const rows = await webhooks.rows(
    `select distinct user_id from webhook.channel_messages where turn_id = $1 and tenant_id = $2`,
    [next.body.call_id, tenant.id],
  );
  expect(rows).toEqual([{ user_id: `generic:${channel.id}:ann` }]);
});

it('begins the conversation of its thread in Slack', async () => {
  const channel = await makeSlack();
  const endpoint = await webhooks.makeEndpoint(tenant, to(channel));
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'The queue is long' } });
  await untilDelivery(body.call_id, { status: 'delivered' });
  let ts = 1_700_000_100;
  const mention = (text: string, thread: string) => {
    ts += 1;
    const event = {
      ...{ type: 'app_mention', user: 'U1', text: `<@UBOT> ${text}`, channel: 'C024BE91L' },
      ...{ ts: `${ts}.000100`, thread_ts: thread },
    };
    const sent = JSON.stringify({
      ...{ type: 'event_callback', event_id: `Ev${newId()}`, authorizations: [{ user_id: 'UBOT' }], event },
    });
    const headers = signed({ scheme: 'slack', secret: 'slack-signing-secret' }, sent, { id: '' });
    return postMessage(webhooks, channel.id, { headers, body: sent });
  };
  const promptOf = async (asked: string): Promise<unknown> => {
    await eventually(() => expect(webhooks.chat.runsOf(`@U1: ${asked}`)).toHaveLength(1));
    const [run] = webhooks.chat.runsOf(`@U1: ${asked}`);
    return (JSON.parse(run?.request.requestJson ?? '') as { messages: unknown }).messages;
  };
  await mention('How long is it?', '1700000001.000200');
  expect(await promptOf('How long is it?')).toEqual([
    { role: 'assistant', content: 'echo: The queue is long' },
    { role: 'user', content: '@U1: How long is it?' },
  ]);
  await mention('And in another thread?', '1700000009.000900');
  expect(await promptOf('And in another thread?')).toEqual([
    { role: 'user', content: '@U1: And in another thread?' },
  ]);
});

it('goes to a person of Slack, and is the history of what they write back', async () => {
  const channel = await makeSlack();
  const endpoint = await webhooks.makeEndpoint(tenant, to(channel, 'U7'));
  const first = await webhooks.deliver(endpoint, { body: { input: 'The queue is long' } });
  await untilDelivery(first.body.call_id, { status: 'delivered', conversation: 'U7' });
  const event = { type: 'message', channel_type: 'im', user: 'U7', channel: 'D7', ts: '1700000200.000100' };
  const sent = JSON.stringify({
    ...{ type: 'event_callback', event_id: `Ev${newId()}`, event: { ...event, text: 'How long is it?' } },
  });
  const headers = signed({ scheme: 'slack', secret: 'slack-signing-secret' }, sent, { id: '' });
  await postMessage(webhooks, channel.id, { headers, body: sent });
  await eventually(() => expect(webhooks.chat.runsOf('How long is it?')).toHaveLength(1));
  const [run] = webhooks.chat.runsOf('How long is it?');
  expect(JSON.parse(run?.request.requestJson ?? '')).toEqual({
    messages: [
      { role: 'assistant', content: 'echo: The queue is long' },
      { role: 'user', content: 'How long is it?' },
    ],
  });
  const next = await webhooks.deliver(endpoint, { body: { input: 'It is short' } });
  await untilDelivery(next.body.call_id, { status: 'delivered' });
  const places = slack.bodies('chat.postMessage').map(({ channel: place }) => String(place));
  expect(places.filter((place) => place.endsWith('7'))).toEqual(['U7', 'D7', 'D7']);
  const conversations = `/v1/channels/instances/${channel.id}/conversations`;
  const listed = await webhooks.call('GET', conversations, { as: tenant.admin });
  expect(listed.body.data).toMatchObject([{ external_id: 'D7', user_id: `slack:${channel.id}:U7` }]);
});

it('joins the conversation with a person of Slack who has written before', async () => {
  const channel = await makeSlack();
  const endpoint = await webhooks.makeEndpoint(tenant, to(channel, 'U8'));
  const event = { type: 'message', channel_type: 'im', user: 'U8', channel: 'D8', ts: '1700000300.000100' };
  const sent = JSON.stringify({
    ...{ type: 'event_callback', event_id: `Ev${newId()}`, event: { ...event, text: 'Hello there' } },
  });
  const headers = signed({ scheme: 'slack', secret: 'slack-signing-secret' }, sent, { id: '' });
  await postMessage(webhooks, channel.id, { headers, body: sent });
  await eventually(async () => expect(await messagesOf(webhooks, channel, 'D8')).toHaveLength(2));
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'The queue is long' } });
  await untilDelivery(body.call_id, { status: 'delivered' });
  await eventually(async () => expect(await messagesOf(webhooks, channel, 'D8')).toHaveLength(3));
});

it('is found and delivered when its job was lost with a process', async () => {
  const channel = await makeGeneric();
  const endpoint = await webhooks.makeEndpoint(tenant, to(channel, 'ops'));
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'lost' } });
  await untilDelivery(body.call_id, { status: 'delivered' });
  // As if the process had been killed between the end of the call and its job.
  await webhooks.rows('delete from webhook.channel_messages where turn_id = $1', [body.call_id]);
  await webhooks.rows(
    `update webhook.calls set channel_delivery = 'pending', finished_at = now() - interval '1 minute' where id = $1`,
    [body.call_id],
  );
  await untilDelivery(body.call_id, { status: 'delivered' });
  expect(receiver.at(path)).toHaveLength(2);
});

it('is stored once by two attempts at the same time, and fails in a conversation with too many unsent messages', async () => {
  const { url } = webhooks.database;
  const app = createPool({ url, role: 'webhook_app', max: 2, log: createLogger('test', 'silent') });
  const answers = new AnswerStore(app);
  receiver.answer = () => ({ status: 503 });
  const channel = await makeGeneric();
  const endpoint = await webhooks.makeEndpoint(tenant, to(channel, 'ops'));
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'once' } });
  await eventually(() => expect(receiver.at(path)).not.toHaveLength(0));
  const messages = (callId: string) =>
    webhooks.rows('select status from webhook.channel_messages where turn_id = $1', [callId]);
  const queueTwice = async (callId: string) => {
    await webhooks.rows(`update webhook.calls set channel_delivery = 'pending' where id = $1`, [callId]);
    const answer = await answers.find(tenant.id, callId);
    if (answer === null) throw new Error('there is no answer');
    const queue = () => {
      const reply = { id: newId(), text: Buffer.from('sealed'), textBytes: 6 };
      return answers.queue(answer, { replies: [reply], retentionDays: 1, isGroup: false }, () =>
        Promise.resolve(),
      );
    };
    await Promise.all([queue(), queue()]);
    expect(await answers.find(tenant.id, callId)).toBeNull();
  };
  await queueTwice(body.call_id);
  expect(await messages(body.call_id)).toHaveLength(2);
  await webhooks.rows(
    `insert into webhook.channel_messages (id, tenant_id, instance_id, conversation_id, direction, text_bytes, status,
       due_at, expires_at)
     select gen_random_uuid(), tenant_id, instance_id, conversation_id, direction, 0, status, 'infinity', expires_at
     from webhook.channel_messages, generate_series(1, 499) where turn_id = $1 and status = 'queued'`,
    [body.call_id],
  );
  await queueTwice(body.call_id);
  expect(await messages(body.call_id)).toHaveLength(2);
  await app.end();
  await untilDelivery(body.call_id, {
    ...{ status: 'failed', reason: 'Too many messages wait in the conversation.' },
  });
});

describe('deliver_to', () => {
  it('is a channel of the tenant, is changed and cleared, and a dry run changes nothing', async () => {
    const channel = await makeGeneric();
    const foreign = await makeGeneric(webhooks.makeTenant());
    const { id } = await webhooks.makeEndpoint(tenant, to(channel, 'ops'));
    for (const other of [foreign.id, newId()]) {
      const body = { deliver_to: { channel_instance_id: other, conversation: 'ops' } };
      for (const refused of [await patch(id, body), await webhooks.post(tenant, body)]) {
        expect(refused.status).toBe(400);
        expect(refused.body.error).toMatchObject({
          code: 'invalid_value',
          param: 'deliver_to.channel_instance_id',
        });
      }
    }
    const endpoint = `/v1/webhooks/endpoints/${id}`;
    const dry = await webhooks.call('PATCH', `${endpoint}?dry_run=true`, {
      ...{ as: tenant.admin, body: { deliver_to: null } },
    });
    expect([dry.status, dry.body.deliver_to]).toEqual([200, null]);
    const read = async () => (await webhooks.call('GET', endpoint, { as: tenant.admin })).body.deliver_to;
    expect(await read()).toEqual(to(channel, 'ops').deliver_to);
    expect((await patch(id, to(channel, 'other'))).body.deliver_to?.conversation).toBe('other');
    expect((await patch(id, { name: 'Renamed' })).body.deliver_to?.conversation).toBe('other');
    expect((await patch(id, { deliver_to: null })).body.deliver_to).toBeNull();
    expect(await read()).toBeNull();
    const plain = await webhooks.makeEndpoint(tenant);
    const { body } = await webhooks.deliver(plain, { body: { input: 'without' } });
    expect((await callOf(body.call_id)).channel_delivery).toBeNull();
  });

  it('stays when its channel is deleted: then deliveries fail, and not the calls', async () => {
    const channel = await makeGeneric();
    const endpoint = await webhooks.makeEndpoint(tenant, to(channel, 'ops'));
    expect((await deleteChannel(channel)).status).toBe(204);
    const { body, status } = await webhooks.deliver(endpoint, { body: { input: 'to no channel' } });
    expect([status, body.output]).toEqual([200, 'echo: to no channel']);
    await untilDelivery(body.call_id, {
      ...{ status: 'failed', reason: 'The channel does not exist any more.' },
    });
    const shown = await webhooks.call('GET', `/v1/webhooks/endpoints/${endpoint.id}`, { as: tenant.admin });
    expect(shown.body.deliver_to).toEqual(to(channel, 'ops').deliver_to);
    expect((await callOf(body.call_id)).status).toBe('succeeded');
  });

  it('fails for messages that wait when their channel is deleted', async () => {
    receiver.answer = () => ({ status: 503 });
    const channel = await makeGeneric();
    const endpoint = await webhooks.makeEndpoint(tenant, to(channel, 'ops'));
    const { body } = await webhooks.deliver(endpoint, { body: { input: 'waiting' } });
    await eventually(() => expect(receiver.at(path)).not.toHaveLength(0));
    expect((await callOf(body.call_id)).channel_delivery).toMatchObject({ status: 'pending', reason: null });
    await deleteChannel(channel);
    await untilDelivery(body.call_id, {
      ...{ status: 'failed', reason: 'The channel does not exist any more.' },
    });
  });

  it('shows why an answer does not arrive', async () => {
    const channel = await makeSlack();
    const gone = await webhooks.makeEndpoint(tenant, to(channel, 'C-gone'));
    const rejected = await webhooks.deliver(gone, { body: { input: 'to a channel that is gone' } });
    await untilDelivery(rejected.body.call_id, {
      status: 'failed',
      reason: 'The channel did not take the answer. Messages of the conversation have the status failed.',
    });
    const endpoint = await webhooks.makeEndpoint(tenant, to(channel));
    const choices = [{ finish_reason: 'stop', message: { content: ' ' } }];
    webhooks.chat.prepare('Be silent', JSON.stringify({ choices }));
    const empty = await webhooks.deliver(endpoint, { body: { input: 'Be silent' } });
    await untilDelivery(empty.body.call_id, { status: 'failed', reason: 'The answer has no text.' });
    webhooks.chat.prepare('Fail', new AppError('agent_disabled', 'The agent is disabled.'));
    const id = newId();
    expect((await webhooks.deliver(endpoint, { id, body: { input: 'Fail' } })).status).toBe(403);
    const calls = `/v1/webhooks/endpoints/${endpoint.id}/calls?limit=1`;
    const [failed] = (await webhooks.call('GET', calls, { as: tenant.admin })).body.data;
    expect(failed?.delivery_id).toBe(id);
    await untilDelivery(failed?.call_id ?? '', { status: 'failed', reason: 'The call failed.' });
    expect(slack.bodies('chat.postMessage')).toEqual([]);
  });
});
