import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Trace } from '@gatehouse/contract/traces';
import type { WebhookCallWithResult, WebhookResult } from '@gatehouse/contract/webhook-calls';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';

let gateway: SomeGateway;
let tenant: TenantAccess;
let agentId: string;
let endpoint: { id: string; secret: string };

beforeAll(async () => {
  gateway = await openGateway();
  tenant = await gateway.makeTenant();
  const memory = { enabled: true, recall_limit: 3, write: true };
  const agent = await gateway.call('/v1/agents', {
    key: tenant.adminKey,
    body: { key: 'on-call', model: 'small', system_prompt: 'Summarise alerts.', memory },
  });
  agentId = (agent.body as { id: string }).id;
  const made = await gateway.call('/v1/webhooks/endpoints', {
    key: tenant.adminKey,
    body: { name: 'Alerts', agent_id: agentId },
  });
  expect(made.status).toBe(201);
  endpoint = made.body as typeof endpoint;
});
afterAll(() => gateway.stop());

interface DeliveryOptions {
  id?: string;
  to?: string;
  headers?: Record<string, string>;
}

async function deliver(
  body: string,
  { id = newId(), to = endpoint.id, headers = {} }: DeliveryOptions = {},
): Promise<{ status: number; headers: Headers; body: unknown }> {
  const signature = signed({ scheme: 'standard', secret: endpoint.secret }, body, { id });
  const response = await fetch(`${gateway.url}/v1/webhooks/llm?endpoint=${to}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...signature,
      ...headers,
    },
    body,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

it('a signed delivery is answered by the agent, metered, and traced as a run without a key', async () => {
  const sent = JSON.stringify({ input: 'disk of db-1 is full', user_id: 'ann', session_id: 'alerts' });
  const answer = await deliver(sent, { id: 'msg_e2e' });
  expect(answer.status).toBe(200);
  const result = answer.body as WebhookResult;
  expect(result).toMatchObject({
    agent_id: agentId,
    finish_reason: 'stop',
    output: expect.any(String),
  });
  const { traces } = await eventually(async () => {
    const answered = await gateway.call('/v1/traces/follow?channel=webhook', { key: tenant.adminKey });
    const followed = answered.body as { traces: Trace[] };
    expect(followed.traces[0]?.status).toBe('ok');
    return followed;
  });
  expect(traces).toHaveLength(1);
  expect(traces[0]).toMatchObject({
    trace_id: result.trace_id,
    ...{ channel: 'webhook', api_key_id: null, agent_id: agentId, user_id: 'ann', session_id: 'alerts' },
    input_preview: 'disk of db-1 is full',
  });
  const again = await deliver(sent, { id: 'msg_e2e' });
  expect(again.body).toEqual(result);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
});

it('a delivery may name the headers of its signature as Svix does', async () => {
  const body = JSON.stringify({ input: 'a user signed up' });
  const standard = signed({ scheme: 'standard', secret: endpoint.secret }, body, { id: 'msg_svix' });
  const names = Object.entries(standard).map(([name, value]): [string, string] => [
    name.replace('webhook-', 'svix-'),
    value,
  ]);
  const response = await fetch(`${gateway.url}/v1/webhooks/llm?endpoint=${endpoint.id}`, {
    method: 'POST',
    headers: [['content-type', 'application/json'], ...names],
    body,
  });
  expect(response.status).toBe(200);
});

it('the header of a signature may be one that the tenant names, and no other header comes in', async () => {
  const secret = 'a secret of the sender'.replaceAll(' ', '-');
  const made = await gateway.call('/v1/webhooks/endpoints', {
    key: tenant.adminKey,
    body: {
      name: 'Shop',
      agent_id: agentId,
      scheme: 'hmac',
      header: 'X-Shop-Hmac',
      encoding: 'base64',
      secret,
    },
  });
  const { id } = made.body as { id: string };
  const post = async (body: string, headers: Record<string, string>): Promise<unknown[]> => {
    const response = await fetch(`${gateway.url}/v1/webhooks/llm?endpoint=${id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    const { output } = (await response.json()) as { output?: string };
    return [response.status, output !== undefined, response.headers.get('idempotency-replayed')];
  };
  const proof = (text: string) =>
    signed({ scheme: 'hmac', secret, header: 'x-shop-hmac', encoding: 'base64' }, text, { id: '' });
  const [first, second] = [JSON.stringify({ input: 'order 1' }), JSON.stringify({ input: 'order 2' })];
  expect(await post(first, proof(first))).toEqual([200, true, null]);
  // Ids of senders are not signed: the body alone makes a repeat.
  const noise = { 'x-shopify-webhook-id': 'w1', constructor: 'x', 'x-service-user-id': 'eve', cookie: 'a=b' };
  expect(await post(second, { ...proof(second), ...noise })).toEqual([200, true, null]);
  expect(await post(second, { ...proof(second), 'x-shopify-webhook-id': 'w2' })).toEqual([200, true, 'true']);
  expect(await post(first, proof(second))).toEqual([401, false, null]);
});

it('an async delivery keeps its result', async () => {
  const accepted = await deliver(JSON.stringify({ input: 'later', mode: 'async' }));
  expect(accepted.status).toBe(202);
  const { call_id: callId } = accepted.body as { call_id: string };
  await eventually(async () => {
    const answered = await gateway.call(`/v1/webhooks/calls/${callId}`, { key: tenant.adminKey });
    const body = answered.body as WebhookCallWithResult;
    expect(body).toMatchObject({
      call_id: callId,
      status: 'succeeded',
      output: expect.any(String),
    });
    expect(body.finished_at).not.toBeNull();
  });
});

it('nothing else opens the route: no key, no header of the inside, no other endpoint', async () => {
  const body = JSON.stringify({ input: 'forged' });
  const wrong = [
    await deliver(body, { to: newId() }),
    await deliver(body, { headers: { 'webhook-signature': `v1,${'A'.repeat(43)}=` } }),
    await deliver(body, { headers: { 'x-gatehouse-assertion': 'x', 'webhook-timestamp': '1' } }),
    await gateway.call(`/v1/webhooks/llm?endpoint=${endpoint.id}`, { key: tenant.adminKey, body }),
  ];
  for (const { status, body: each } of wrong) {
    expect(status).toBe(401);
    expect(each).toMatchObject({
      error: { code: 'signature_invalid', type: 'authentication_error', param: null },
    });
  }
});

it('a body of a byte over 1 MiB is too large, whatever its signature', async () => {
  const largest = JSON.stringify({ input: 'x'.repeat(2 ** 20 - 12) });
  expect(largest).toHaveLength(2 ** 20);
  expect((await deliver(`${largest} `)).status).toBe(413);
  expect((await deliver(`${largest} `, { to: newId() })).status).toBe(413);
  expect((await deliver(largest, { headers: { 'webhook-timestamp': '1' } })).status).toBe(401);
});
