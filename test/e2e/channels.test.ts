import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Trace } from '@gatehouse/contract/traces';
import { freePort } from '@gatehouse/local/ports';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: TestGateway;
let receiver: Receiver;
let tenant: TenantAccess;
let agentId: string;

interface Made {
  id: string;
  secret: string;
  webhook_url: string;
}

beforeAll(async () => {
  receiver = await Receiver.start();
  // Nothing listens at the port of the providers.
  const down = `http://127.0.0.1:${await freePort()}`;
  gateway = await TestGateway.start({
    environment: { EGRESS_ALLOW: '127.0.0.1', TELEGRAM_API_URL: down, SLACK_API_URL: down },
  });
  tenant = await gateway.makeTenant();
  const body = { key: 'support', model: 'small', memory: { enabled: true, recall_limit: 3, write: true } };
  const agent = await gateway.call('/v1/agents', { key: tenant.adminKey, body });
  agentId = (agent.body as { id: string }).id;
});
afterAll(async () => {
  await gateway.stop();
  await receiver.stop();
});

async function makeChannel(fields: object): Promise<Made> {
  const body = { name: 'Support', agent_id: agentId, ...fields };
  const made = await gateway.call('/v1/channels/instances', { key: tenant.adminKey, body });
  expect(made.status).toBe(201);
  return made.body as Made;
}

/** Sends a message to the URL that the channel shows. */
async function send({ id }: Made, headers: Record<string, string>, body: string): Promise<unknown[]> {
  const response = await fetch(`${gateway.url}/v1/webhooks/message?channel=${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return [response.status, await response.json()];
}

it('a message is answered through the channel, as a run of its sender', async () => {
  const channel = await makeChannel({ type: 'generic', config: { callback_url: receiver.url('/') } });
  const [id, at] = [newId(), String(Math.floor(Date.now() / 1_000))];
  const user = { id: 'ann', name: 'Ann' };
  const body = JSON.stringify({ message_id: id, conversation_id: 'c-1', user, text: 'Where is my order?' });
  const key = Buffer.from(channel.secret.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` };
  const taken = { status: 'accepted', message_id: expect.any(String) };
  expect(await send(channel, headers, body)).toEqual([202, taken]);
  const { data } = await eventually(() => {
    const [reply] = receiver.at('/');
    return JSON.parse(reply?.body ?? '') as { data: { text: string; in_reply_to: string[] } };
  }, 30_000);
  expect(data.in_reply_to).toEqual([id]);
  expect(data.text).not.toBe('');
  await eventually(async () => {
    const answer = await gateway.call('/v1/traces/follow?channel=generic', { key: tenant.adminKey });
    const { traces } = answer.body as { traces: Trace[] };
    expect(traces[0]).toMatchObject({ status: 'ok', user_id: `generic:${channel.id}:ann` });
  });
});

it('the headers of each provider reach the service that verifies them', async () => {
  const [token, signing] = ['telegram-secret-token', 'slack-signing-secret'];
  const bot_token = 'a-token-of-no-bot';
  const telegram = await makeChannel({ type: 'telegram', credentials: { bot_token, secret_token: token } });
  const update = JSON.stringify({ update_id: 1 });
  const ignored = { status: 'ignored', message_id: null };
  const name = 'x-telegram-bot-api-secret-token';
  expect(await send(telegram, { [name]: token }, update)).toEqual([200, ignored]);
  expect((await send(telegram, { [name]: 'other' }, update))[0]).toBe(401);

  const slack = await makeChannel({ type: 'slack', credentials: { bot_token, signing_secret: signing } });
  const check = JSON.stringify({ type: 'url_verification', challenge: 'c' });
  const at = String(Math.floor(Date.now() / 1_000));
  const signature = `v0=${createHmac('sha256', signing).update(`v0:${at}:${check}`).digest('hex')}`;
  const headers = { 'x-slack-request-timestamp': at, 'x-slack-signature': signature };
  expect(await send(slack, headers, check)).toEqual([200, { challenge: 'c' }]);
  expect((await send(slack, headers, `${check} `))[0]).toBe(401);
});
