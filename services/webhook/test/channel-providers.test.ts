import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { makeChannel, messagesOf, postMessage, type TestChannel } from './channels-under-test.ts';
import { startSlack, startTelegram, type ProviderServer } from '@gatehouse/test/channel-providers';
import { signed } from '@gatehouse/test/webhook-senders';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

const botToken = '12345:telegram-bot-token';
const secretToken = 'telegram-secret-token';
const slackToken = 'xoxb-slack-token';
const signingSecret = 'slack-signing-secret';
const slackHeaders = (body: string) => signed({ scheme: 'slack', secret: signingSecret }, body, { id: '' });

let webhooks: WebhookServiceUnderTest;
let telegram: ProviderServer;
let slack: ProviderServer;
let tenant: TestTenant;
let channel: TestChannel;
const telegramTokens = new Set<string>();
const slackTokens = new Set<string>();

beforeAll(async () => {
  telegram = await startTelegram(telegramTokens);
  slack = await startSlack(slackTokens);
  webhooks = await WebhookServiceUnderTest.start({
    TELEGRAM_API_URL: telegram.url,
    SLACK_API_URL: `${slack.url}/api/`,
  });
});
beforeEach(() => {
  tenant = webhooks.makeTenant();
  telegramTokens.add(botToken);
  slackTokens.add(slackToken);
  for (const provider of [telegram, slack]) provider.calls.splice(0);
});
afterAll(async () => {
  await webhooks.stop();
  await telegram.stop();
  await slack.stop();
});

const stateOf = async (): Promise<unknown> => {
  const { body } = await webhooks.call('GET', `/v1/channels/instances/${channel.id}`, { as: tenant.admin });
  return [body.status, body.status_reason];
};
const patch = (body: object) =>
  webhooks.call('PATCH', `/v1/channels/instances/${channel.id}`, { as: tenant.admin, body });
const untilState = (status: string, reason: string | null = null) =>
  eventually(async () => expect(await stateOf()).toEqual([status, reason]));

describe('Telegram', () => {
  let updateId = 1_000;
  const credentials = { bot_token: botToken, secret_token: secretToken };
  const update = (message: object, headers: Record<string, string> = {}) => {
    updateId += 1;
    const from = { id: 42, is_bot: false, first_name: 'Ann' };
    const body = JSON.stringify({
      update_id: updateId,
      message: { message_id: updateId, from, chat: { id: 42, type: 'private' }, date: 1, ...message },
    });
    return postMessage(webhooks, channel.id, {
      headers: { 'x-telegram-bot-api-secret-token': secretToken, ...headers },
      body,
    });
  };
  const sent = (count: number) =>
    eventually(() => {
      const bodies = telegram.bodies('sendMessage');
      expect(bodies).toHaveLength(count);
      return bodies;
    });

  beforeEach(async () => {
    channel = await makeChannel(webhooks, tenant, { type: 'telegram', credentials });
    await untilState('connected');
  });

  it('gets answers as HTML, while it shows that they are being written', async () => {
    webhooks.chat.prepare(
      'Compare',
      JSON.stringify({ choices: [{ finish_reason: 'stop', message: { content: '**1 < 2**' } }] }),
    );
    expect((await update({ text: 'Compare' })).status).toBe(202);
    expect(await sent(1)).toEqual([{ chat_id: '42', text: '<b>1 &lt; 2</b>', parse_mode: 'HTML' }]);
    expect(telegram.bodies('sendChatAction')).toEqual([{ chat_id: '42', action: 'typing' }]);
    expect(webhooks.chat.runsOf('Compare')[0]?.delegation?.userId).toBe(`telegram:${channel.id}:42`);
    await eventually(async () =>
      expect((await messagesOf(webhooks, channel, '42')).map(({ text }) => text)).toEqual([
        'Compare',
        '1 < 2',
      ]),
    );
  });

  it('replies to a message, which the agent gets as a quote', async () => {
    await update({ text: 'And this one?', reply_to_message: { from: { first_name: 'Bo' }, text: 'LH 454' } });
    await sent(1);
    const text = '[In reply to this message of Bo:]\n> LH 454\n\nAnd this one?';
    expect(webhooks.chat.runs.at(-1)?.request.requestJson).toBe(
      JSON.stringify({ messages: [{ role: 'user', content: text }] }),
    );
    expect(await messagesOf(webhooks, channel, '42')).toMatchObject([{ text }, {}]);
  });

  it('gets a long answer in messages of 4,096 characters', async () => {
    const content = 'A sentence of some length. '.repeat(400);
    webhooks.chat.prepare(
      'Tell me a lot',
      JSON.stringify({ choices: [{ finish_reason: 'stop', message: { content } }] }),
    );
    await update({ text: 'Tell me a lot' });
    const texts = (await sent(3)).map(({ text }) => String(text));
    expect(texts.map((text) => text.trim()).join(' ')).toBe(content.trim());
  });

  it('is declined what is no text, and is waited for where it limits', async () => {
    telegram.failures.push({
      status: 429,
      body: { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } },
    });
    await update({ photo: [{ file_id: 'x' }] });
    expect((await sent(1))[0]?.['text']).toContain('only read text');
  });

  it('is answered in the topic of a group', async () => {
    const chat = { id: -100, type: 'supergroup' };
    await update({ text: 'in a topic', chat, is_topic_message: true, message_thread_id: 7 });
    expect((await sent(1))[0]).toMatchObject({ chat_id: '-100', message_thread_id: 7 });
  });

  it('is answered in the direct messages of a channel, each person apart from the others', async () => {
    const chat = { id: -100, type: 'supergroup', is_direct_messages: true };
    const write = (text: string, id: number) =>
      update({ text, chat, from: { id, is_bot: false }, direct_messages_topic: { topic_id: id } });
    await write('my secret', 41);
    await sent(1);
    await write('anything else?', 43);
    expect((await sent(2)).map(({ text: _text, ...place }) => place)).toEqual([
      { chat_id: '-100', parse_mode: 'HTML', direct_messages_topic_id: 41 },
      { chat_id: '-100', parse_mode: 'HTML', direct_messages_topic_id: 43 },
    ]);
    expect(webhooks.chat.runs.at(-1)?.request).toMatchObject({
      group: true,
      requestJson: JSON.stringify({ messages: [{ role: 'user', content: 'anything else?' }] }),
    });
    const own = { sender_chat: { id: -7, type: 'channel' }, from: { id: 136_817_688, is_bot: true } };
    const answer = { text: 'Answered by the channel', chat, direct_messages_topic: { topic_id: 43 }, ...own };
    expect(await update(answer)).toMatchObject({ status: 200, body: { status: 'ignored' } });
  });

  it.each([
    ['no text', { new_chat_members: [] }],
    ['a bot', { text: 'beep', from: { id: 1, is_bot: true } }],
  ])('is not answered for %s', async (_what, message) => {
    expect(await update(message)).toMatchObject({ status: 200, body: { status: 'ignored' } });
  });

  it('is refused with another secret token', async () => {
    expect((await update({ text: 'x' }, { 'x-telegram-bot-api-secret-token': 'other' })).status).toBe(401);
  });

  it('gets a plain text where it does not understand the other, and names of any characters', async () => {
    const description = "Bad Request: can't parse entities: Unexpected end tag";
    telegram.failures.push({ status: 400, body: { ok: false, error_code: 400, description } });
    const from = { id: 42, is_bot: false, first_name: 'A\u0000nn' };
    expect((await update({ text: '**bold**', from })).status).toBe(202);
    expect(await sent(1)).toEqual([{ chat_id: '42', text: 'echo: bold' }]);
  });

  it('is not led astray by a token', async () => {
    const bot_token = '/../../admin/x?y=';
    const tokens = { bot_token, secret_token: secretToken };
    const asked: string[] = [];
    telegram.onCall = ({ path }) => asked.push(path);
    channel = await makeChannel(webhooks, tenant, { type: 'telegram', credentials: tokens });
    await untilState('needs_reauth', 'Unauthorized');
    telegram.onCall = () => undefined;
    expect(asked).toEqual(['/bot%2F..%2F..%2Fadmin%2Fx%3Fy%3D/getMe']);
  });

  it('that answers with the page of a proxy is asked again', async () => {
    telegram.failures.push({ status: 404, body: '<html>' });
    await update({ text: 'behind a proxy' });
    await sent(1);
    await untilState('connected');
  });

  it('that is down for ten minutes gets everything afterwards, in order', async () => {
    // By the schedule of the attempts.
    const attemptsInTenMinutes = 15;
    const hurry = () =>
      webhooks.rows(
        `with hurried as (update webhook.channel_messages set due_at = now() where status = 'queued' and due_at > now())
         update webhook_jobs.job set start_after = now() where name = 'send_replies' and state = 'created'`,
      );
    telegram.trouble = () => ({ status: 502, body: 'Bad Gateway' });
    for (const text of ['first', 'second', 'third'])
      for (const id of [51, 52]) {
        await update({
          text: `${text} of ${id}`,
          from: { id, is_bot: false },
          chat: { id, type: 'private' },
        });
        await eventually(() => expect(webhooks.chat.runsOf(`${text} of ${id}`)).toHaveLength(1));
      }
    await eventually(async () => {
      await hurry();
      const rows = await webhooks.rows<{ attempts: number }>(
        `select max(attempts) as attempts from webhook.channel_messages where instance_id = $1 and status = 'queued'
         group by conversation_id`,
        [channel.id],
      );
      expect(Math.min(...rows.map(({ attempts }) => attempts))).toBeGreaterThanOrEqual(attemptsInTenMinutes);
      expect(rows).toHaveLength(2);
    });
    expect(await stateOf()).toEqual(['error', 'Telegram responds with 502.']);
    telegram.trouble = () => null;
    const bodies = await eventually(async () => {
      // Again and again: an attempt that was under way when the trouble ended sets its own next time.
      await hurry();
      const sentBodies = telegram.bodies('sendMessage');
      expect(sentBodies).toHaveLength(6);
      return sentBodies;
    });
    for (const id of ['51', '52'])
      expect(bodies.filter(({ chat_id }) => chat_id === id).map(({ text }) => text)).toEqual(
        ['first', 'second', 'third'].map((text) => `echo: ${text} of ${id}`),
      );
    await untilState('connected');
  });

  it('with a revoked token needs a new one; then what waits is sent', async () => {
    telegramTokens.delete(botToken);
    await update({ text: 'waits' });
    await untilState('needs_reauth', 'Unauthorized');
    telegramTokens.add('67890:new-token');
    expect((await patch({ credentials: { bot_token: '67890:new-token' } })).status).toBe(200);
    await untilState('connected');
    await sent(1);
  });
});

describe('Slack', () => {
  const credentials = { bot_token: slackToken, signing_secret: signingSecret };
  let ts = 1_700_000_000;
  const event = (fields: object, envelope: object = {}): ReturnType<typeof postMessage> => {
    ts += 1;
    const body = JSON.stringify({
      type: 'event_callback',
      event_id: `Ev${newId()}`,
      authorizations: [{ user_id: 'UBOT', is_bot: true }],
      event: { type: 'message', user: 'U1', channel: 'C1', ts: `${ts}.000100`, ...fields },
      ...envelope,
    });
    return postMessage(webhooks, channel.id, { headers: slackHeaders(body), body });
  };
  const sent = (count: number) =>
    eventually(() => {
      const bodies = slack.bodies('chat.postMessage');
      expect(bodies).toHaveLength(count);
      return bodies;
    });

  beforeEach(async () => {
    channel = await makeChannel(webhooks, tenant, { type: 'slack', credentials });
    await untilState('connected');
  });

  it('has its URL verified', async () => {
    const body = JSON.stringify({ type: 'url_verification', challenge: 'c-1', token: 'x' });
    const headers = slackHeaders(body);
    expect(await postMessage(webhooks, channel.id, { headers, body })).toMatchObject({
      ...{ status: 200, body: { challenge: 'c-1' } },
    });
    expect((await postMessage(webhooks, channel.id, { headers: {}, body })).status).toBe(401);
  });

  it('is answered once in the thread of a mention, which comes as two events', async () => {
    const at = `${ts + 100}.000100`;
    const text = '<@UBOT> is 1 &lt; 2?';
    await event({ type: 'app_mention', text, ts: at });
    expect((await event({ text, ts: at, channel_type: 'channel' })).body.status).toBe('duplicate');
    expect(await sent(1)).toEqual([{ channel: 'C1', thread_ts: at, text: 'echo: @U1: is 1 &lt; 2?' }]);
    expect(webhooks.chat.runsOf('@U1: is 1 < 2?')).toHaveLength(1);
  });

  it('is answered without a thread in a direct conversation, in the order of its times', async () => {
    const direct = { channel: 'D1', channel_type: 'im' };
    await event({ ...direct, text: 'second', ts: '1700009999.000200' });
    await event({ ...direct, text: 'first', ts: '1700009999.000100' });
    expect(await sent(1)).toEqual([{ channel: 'D1', text: 'echo: first\nsecond' }]);
  });

  it.each([
    ['its own messages', { text: 'x', bot_id: 'B1' }],
    ['edits', { subtype: 'message_changed' }],
    ['what its user says', { text: 'x', user: 'UBOT' }],
  ])('is not answered for %s', async (_what, fields) => {
    expect(await event(fields)).toMatchObject({ status: 200, body: { status: 'ignored' } });
  });

  it('that is never going to take a reply does not hold up the next one', async () => {
    await event({ channel: 'C-gone', text: 'lost', thread_ts: '1700000000.000001' });
    await eventually(async () => {
      const messages = await messagesOf(webhooks, channel, 'C-gone:1700000000.000001');
      expect(messages.map(({ status }) => status)).toEqual(['answered', 'failed']);
    });
    expect(await stateOf()).toEqual(['connected', null]);
  });

  it('with a revoked token is checked at creation', async () => {
    slackTokens.delete(slackToken);
    channel = await makeChannel(webhooks, tenant, { type: 'slack', credentials });
    await untilState('needs_reauth', 'Slack responds with invalid_auth.');
  });
});
