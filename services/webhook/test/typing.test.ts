import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { makeChannel, postMessage, type TestChannel } from './channels-under-test.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

/** Calls that a tenant may have under way at one host: `packages/egress`. */
const share = 48;
const secretToken = 'telegram-secret-token';

/** A Telegram that never answers `sendChatAction`, or limits it, and notes which messages it has taken. */
const hanging: ServerResponse[] = [];
const taken: string[] = [];
let limitsTyping = false;
const telegram = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const method = request.url?.split('/').at(-1);
    if (method === 'sendChatAction' && limitsTyping)
      answer(429, { ok: false, error_code: 429, parameters: { retry_after: 600 } });
    else if (method === 'sendChatAction') hanging.push(response);
    else {
      const { chat_id: chat } = JSON.parse(Buffer.concat(chunks).toString()) as { chat_id?: string };
      if (method === 'sendMessage' && chat !== undefined) taken.push(chat);
      answer(200, { ok: true, result: { message_id: 1 } });
    }
  });
});

let webhooks: WebhookServiceUnderTest;
let tenant: TestTenant;
let channel: TestChannel;

beforeAll(async () => {
  await new Promise<void>((resolve) => telegram.listen(0, '127.0.0.1', resolve));
  webhooks = await WebhookServiceUnderTest.start({
    TELEGRAM_API_URL: `http://127.0.0.1:${(telegram.address() as AddressInfo).port}`,
  });
});
beforeEach(async () => {
  hanging.splice(0);
  taken.splice(0);
  limitsTyping = false;
  tenant = webhooks.makeTenant();
  channel = await makeChannel(webhooks, tenant, {
    ...{ type: 'telegram', credentials: { bot_token: '12345:bot', secret_token: secretToken } },
  });
});
afterAll(async () => {
  await webhooks.stop();
  telegram.closeAllConnections();
  await new Promise((resolve) => telegram.close(resolve));
});

const write = (chat: number) =>
  postMessage(webhooks, channel.id, {
    headers: { 'x-telegram-bot-api-secret-token': secretToken },
    body: JSON.stringify({
      update_id: chat,
      message: {
        ...{ message_id: chat, text: 'Hello', date: 1 },
        ...{ from: { id: chat, is_bot: false }, chat: { id: chat, type: 'private' } },
      },
    }),
  });
/** How often sending the replies has failed. */
const failedAttempts = async () => {
  const [row] = await webhooks.rows<{ attempts: number }>(
    `select sum(attempts)::integer as attempts from webhook.channel_messages
     where tenant_id = $1 and direction = 'out'`,
    [tenant.id],
  );
  return row?.attempts;
};

it('signs of typing that hang take none of the calls of replies', async () => {
  const chats = Array.from({ length: 2 * share }, (_, chat) => chat + 1);
  await Promise.all(chats.map(write));
  await eventually(() => expect(new Set(taken).size).toBe(chats.length), 60_000);
  // More than one tenant may have under way: the others wait or are left out.
  expect(hanging.length).toBeGreaterThanOrEqual(share);
  expect(await failedAttempts()).toBe(0);
});

it('a limit of signs of typing postpones no reply', async () => {
  limitsTyping = true;
  await write(1);
  await eventually(() => expect(taken).toEqual(['1']), 30_000);
  expect(await failedAttempts()).toBe(0);
});
