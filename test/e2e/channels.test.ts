import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Trace } from '@gatehouse/contract/traces';
import { freePort } from '@gatehouse/local/ports';
import { newId } from '@gatehouse/kit/ids';
import { zaloHeaders } from '@gatehouse/test/channel-providers';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';

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
    environment: {
      EGRESS_ALLOW: '127.0.0.1',
      TELEGRAM_API_URL: down,
      SLACK_API_URL: down,
      PUBLIC_URL: 'http://127.0.0.1',
    },
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
  const id = newId();
  const user = { id: 'ann', name: 'Ann' };
  const body = JSON.stringify({ message_id: id, conversation_id: 'c-1', user, text: 'Where is my order?' });
  const headers = signed({ scheme: 'standard', secret: channel.secret }, body, { id });
  const taken = { status: 'accepted', message_id: expect.any(String) };
  expect(await send(channel, headers, body)).toEqual([202, taken]);
  const { data } = await eventually(() => {
    const [reply] = receiver.at('/');
    return JSON.parse(reply?.body ?? '') as { data: { text: string; in_reply_to: string[] } };
  });
  expect(data.in_reply_to).toEqual([id]);
  expect(data.text).not.toBe('');
  await eventually(async () => {
    const answer = await gateway.call('/v1/traces/follow?channel=generic', { key: tenant.adminKey });
    const { traces } = answer.body as { traces: Trace[] };
    expect(traces[0]).toMatchObject({ status: 'ok', user_id: `generic:${channel.id}:ann` });
  });
});

it('a browser gets the consent page by a link, and nothing without one', async () => {
  const channel = await makeChannel({
    ...{ type: 'zalo_oa', config: { app_id: '777' } },
    credentials: { app_secret: 'zalo-app-secret', oa_secret: 'zalo-oa-secret' },
  });
  const path = `/v1/channels/instances/${channel.id}/zalo-oa/consent`;
  const asked = await gateway.call(path, { key: tenant.adminKey });
  expect(asked.status).toBe(200);
  const link = new URL((asked.body as { authorization_url: string }).authorization_url);
  const page = await fetch(gateway.url + link.pathname + link.search);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const press = (headers: Record<string, string>) =>
    fetch(gateway.url + link.pathname + link.search, { method: 'POST', redirect: 'manual', headers });
  expect((await press({ 'sec-fetch-site': 'cross-site' })).status).toBe(410);
  expect((await press({})).status).toBe(410);
  const pressed = await press({ 'sec-fetch-site': 'same-origin' });
  expect(pressed.status).toBe(303);
  const cookie = pressed.headers.get('set-cookie')?.split(';')[0] ?? '';
  const state = new URL(pressed.headers.get('location') ?? '').searchParams.get('state') ?? '';
  const back = await fetch(`${gateway.url}/v1/channels/zalo-oa/callback?state=${state}&error=denied`, {
    headers: { cookie },
  });
  expect([back.status, await back.text()]).toEqual([400, expect.stringContaining('did not confirm')]);
  expect((await gateway.call(path)).status).toBe(401);
  expect((await fetch(`${gateway.url}${path}?ticket=unknown`)).status).toBe(410);
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
  const headers = signed({ scheme: 'slack', secret: signing }, check, { id: '' });
  expect(await send(slack, headers, check)).toEqual([200, { challenge: 'c' }]);
  expect((await send(slack, headers, `${check} `))[0]).toBe(401);

  const [app_secret, oa_secret] = ['zalo-app-secret', 'zalo-oa-secret'];
  const config = { app_id: '777' };
  const zalo = await makeChannel({ type: 'zalo_oa', config, credentials: { app_secret, oa_secret } });
  const news = JSON.stringify({ app_id: '777', event_name: 'follow', timestamp: String(Date.now()) });
  const proof = zaloHeaders({ app: '777', secret: oa_secret }, news);
  expect(await send(zalo, proof, news)).toEqual([200, ignored]);
  expect((await send(zalo, { 'x-zevent-signature': 'mac=00' }, news))[0]).toBe(401);
});
