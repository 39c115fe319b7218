import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Service } from '@gatehouse/shell/service';
import {
  startTelegram,
  type ProviderAnswer,
  type ProviderCall,
  type ProviderServer,
} from '@gatehouse/test/channel-providers';
import { eventually } from '@gatehouse/test/eventually';
import { makeChannel, messagesOf, postMessage, type TestChannel } from './channels-under-test.ts';
import { WebhookServiceUnderTest } from './webhook-service.ts';

const botToken = '12345:telegram-bot-token';
const secretToken = 'telegram-secret-token';
const [old, next] = [-5_201, -1_005_201];
const moved = [
  { chat: { id: old, type: 'group' }, migrate_to_chat_id: next },
  { chat: { id: next, type: 'supergroup' }, migrate_from_chat_id: old },
] as const;

let webhooks: WebhookServiceUnderTest;
let replica: Service;
let telegram: ProviderServer;
let channel: TestChannel;
let updateId = 1_000;

beforeAll(async () => {
  telegram = await startTelegram(new Set([botToken]));
  webhooks = await WebhookServiceUnderTest.start({ TELEGRAM_API_URL: telegram.url });
  replica = await webhooks.startReplica();
});
beforeEach(async () => {
  telegram.calls.splice(0);
  telegram.trouble = () => null;
  webhooks.chat.runs.splice(0);
  channel = await makeChannel(webhooks, webhooks.makeTenant(), {
    ...{ type: 'telegram', credentials: { bot_token: botToken, secret_token: secretToken } },
  });
});
afterAll(async () => {
  await replica.stop();
  await webhooks.stop();
  await telegram.stop();
});

const send = (message: object, port?: number) => {
  updateId += 1;
  const from = { id: 42, is_bot: false, first_name: 'Ann' };
  return postMessage(webhooks, channel.id, {
    headers: { 'x-telegram-bot-api-secret-token': secretToken },
    body: JSON.stringify({
      update_id: updateId,
      message: { message_id: updateId, from, date: 1, ...message },
    }),
    port,
  });
};
const say = async (text: string, chat: number) => {
  const type = chat === old ? 'group' : 'supergroup';
  expect((await send({ text, chat: { id: chat, type } })).body.status).toBe('accepted');
};
/** As Telegram answers replies to a group that has become a supergroup. */
const refusesOld = ({ body }: ProviderCall): ProviderAnswer | null => {
  const description = 'Bad Request: group chat was upgraded to a supergroup chat';
  const refusal = { ok: false, error_code: 400, description, parameters: { migrate_to_chat_id: next } };
  return body['chat_id'] === String(old) ? { status: 400, body: refusal } : null;
};
/** The texts that were sent to the group, by its ids. */
const sent = (count: number) =>
  eventually(() => {
    const texts = telegram.bodies('sendMessage').map(({ chat_id, text }) => [String(chat_id), text]);
    expect(texts).toHaveLength(count);
    return texts;
  });
const conversations = async () => {
  const path = `/v1/channels/instances/${channel.id}/conversations`;
  const { body } = await webhooks.call('GET', path, { as: channel.tenant.admin });
  return body.data as unknown as { id: string; external_id: string }[];
};
const texts = async () => (await messagesOf(webhooks, channel, String(next))).map(({ text }) => text);
/** Everything is in one conversation, with the new id. */
const untilTexts = (expected: string[]) =>
  eventually(async () => {
    expect((await conversations()).map(({ external_id: id }) => id)).toEqual([String(next)]);
    expect(await texts()).toEqual(expected);
  });
/** The requests to the agent in each turn whose last message is this one. */
const askedOf = (text: string): string[][] =>
  webhooks.chat.runs
    .map(({ request }) => JSON.parse(request.requestJson) as { messages: { content: string }[] })
    .map(({ messages }) => messages.map(({ content }) => content))
    .filter((contents) => contents.at(-1) === `Ann: ${text}`);
const untilAsked = (text: string) => eventually(() => expect(askedOf(text)).toHaveLength(1));
const held = () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  webhooks.chat.gate = promise;
  return () => {
    webhooks.chat.gate = Promise.resolve();
    resolve(undefined);
  };
};

describe('a group that becomes a supergroup', () => {
  it('gets the reply that its old id is refused for, and keeps its history', async () => {
    telegram.trouble = refusesOld;
    await say('Hello?', old);
    expect(await sent(1)).toEqual([[String(next), 'echo: Ann: Hello?']]);
    const [before] = await conversations();
    await say('And now?', next);
    expect(await sent(2)).toContainEqual([String(next), 'echo: Ann: And now?']);
    expect(askedOf('And now?')).toEqual([['Ann: Hello?', 'echo: Ann: Hello?', 'Ann: And now?']]);
    // Messages that Telegram repeats late from the old group belong to it too.
    await say('From before', old);
    await sent(3);
    await untilTexts([
      ...['Hello?', 'echo: Ann: Hello?', 'And now?', 'echo: Ann: And now?'],
      ...['From before', 'echo: Ann: From before'],
    ]);
    expect(await conversations()).toMatchObject([{ id: before?.id }]);
  });

  it('goes on with what waits and what is being answered, by the news in either group', async () => {
    const release = held();
    await say('Hello?', old);
    await untilAsked('Hello?');
    await say('Still there?', old);
    const answers = await Promise.all(
      [...moved, ...moved].map((news, n) => send({ ...news }, n % 2 === 0 ? undefined : replica.httpPort)),
    );
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.status}`))).toEqual(
      new Set(['200 ignored']),
    );
    release();
    expect(await sent(2)).toEqual([
      [String(next), 'echo: Ann: Hello?'],
      [String(next), 'echo: Ann: Still there?'],
    ]);
    await untilTexts(['Hello?', 'Still there?', 'echo: Ann: Hello?', 'echo: Ann: Still there?']);
  });

  it('is one conversation with what was written under its new id before the news', async () => {
    await say('Hello?', old);
    await sent(1);
    const release = held();
    await say('Old', old);
    await say('New', next);
    await untilAsked('Old');
    await untilAsked('New');
    await say('Newer', next);
    expect(await conversations()).toHaveLength(2);
    await Promise.all(moved.map((news, n) => send({ ...news }, n === 0 ? undefined : replica.httpPort)));
    release();
    const replies = await sent(4);
    expect(replies.slice(1).map(([id]) => id)).toEqual(Array(3).fill(String(next)));
    await eventually(async () => expect((await texts()).toSorted()).toHaveLength(8));
    expect(await conversations()).toHaveLength(1);
    // Each was asked once, though two were under way at the news.
    for (const text of ['Old', 'New', 'Newer']) expect(askedOf(text)).toHaveLength(1);
    await say('And now?', next);
    await sent(5);
    expect(askedOf('And now?')[0]).toEqual(
      expect.arrayContaining(['Ann: Hello?', 'Ann: Old', 'echo: Ann: New', 'Ann: Newer']),
    );
  });

  it('joins what was stored anew under its old id to the older conversation', async () => {
    await say('New', next);
    await sent(1);
    await say('Late', old);
    await send({ ...moved[0] });
    expect((await sent(2))[1]).toEqual([String(next), 'echo: Ann: Late']);
    await untilTexts(['New', 'echo: Ann: New', 'Late', 'echo: Ann: Late']);
    // The other way round, and without an earlier conversation, there is nothing to move.
    await send({ chat: { id: next, type: 'supergroup' }, migrate_to_chat_id: old });
    await send({ chat: { id: -9, type: 'group' }, migrate_to_chat_id: -8 });
    expect(await conversations()).toHaveLength(1);
  });

  it('loses and repeats nothing, in whatever order messages, news and replies come to two replicas', async () => {
    telegram.trouble = refusesOld;
    const messages = Array.from({ length: 24 }, (_, n) => ({
      ...{ text: `m${n}`, from: { id: n + 1, is_bot: false, first_name: 'Ann' } },
      chat: { id: n % 3 === 0 ? next : old, type: 'group' },
    }));
    const news = [...moved, ...moved, ...moved].map((each) => ({ ...each }));
    const all = messages.flatMap((message, n) => (n % 4 === 3 ? [message, news[(n - 3) / 4]] : [message]));
    const answers = await Promise.all(
      all.map((each, n) => send(each ?? {}, n % 2 === 0 ? undefined : replica.httpPort)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 202]));
    const replies = await sent(messages.length);
    expect(replies.toSorted()).toEqual(
      messages.map(({ text }) => [String(next), `echo: Ann: ${text}`]).toSorted(),
    );
    await eventually(async () => {
      expect((await conversations()).map(({ external_id: id }) => id)).toEqual([String(next)]);
      expect(await texts()).toHaveLength(2 * messages.length);
    });
  });

  it('takes along what a replica of an earlier release has stored under the old id', async () => {
    await say('Hello?', old);
    await sent(1);
    await send({ ...moved[0] });
    await say('Waits', next);
    const left = await webhooks.rows(
      `update webhook.channel_messages set conversation_id = (
         select id from webhook.conversations where instance_id = $1 and external_id = $2)
       where instance_id = $1 and status = 'received' returning id`,
      [channel.id, String(old)],
    );
    expect(left).toHaveLength(1);
    // Wakes all that waits in the channel.
    const as = channel.tenant.admin;
    await webhooks.call('PATCH', `/v1/channels/instances/${channel.id}`, { as, body: { name: 'Woken' } });
    expect((await sent(2))[1]).toEqual([String(next), 'echo: Ann: Waits']);
    await untilTexts(['Hello?', 'echo: Ann: Hello?', 'Waits', 'echo: Ann: Waits']);
  });
});
