import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { isSignatureHeader } from '@gatehouse/contract/signature-headers';
import { deliveryHeaders } from '@gatehouse/contract/webhook-calls';
import { webhookSchemes } from '@gatehouse/contract/webhook-endpoints';
import { AppError } from '@gatehouse/kit/errors';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import type { Service } from '@gatehouse/shell/service';
import { upToLimit } from '@gatehouse/test/minute';
import { signed } from '@gatehouse/test/webhook-senders';
import { CallStore } from '../src/calls/call-store.ts';
import { WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let replica: Service;
let tenant: TestTenant;
let endpoint: AnswerBody;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start();
  replica = await webhooks.startReplica();
  tenant = webhooks.makeTenant();
  endpoint = await webhooks.makeEndpoint(tenant);
});
afterAll(async () => {
  await replica.stop();
  await webhooks.stop();
});

const runsOf = (text: string) => webhooks.chat.runsOf(text);
const getCall = (id: string, as = tenant.admin) => webhooks.call('GET', `/v1/webhooks/calls/${id}`, { as });

describe('a delivery', () => {
  it('is answered by the agent of its endpoint, for the user and in the session that it names', async () => {
    const body = { input: 'disk of db-1', user_id: 'ann', session_id: 's 1', metadata: { rack: '7' } };
    const answer = await webhooks.deliver(endpoint, { body, id: 'msg_1' });
    expect(answer.status).toBe(200);
    const { call_id: callId, ...shown } = answer.body;
    expect(shown).toEqual({
      agent_id: tenant.agentId,
      output: 'echo: disk of db-1',
      finish_reason: 'stop',
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    const [run, ...more] = runsOf('disk of db-1');
    expect(more).toEqual([]);
    expect(run?.delegation).toEqual({ tenantId: tenant.id, agentId: tenant.agentId, userId: 'ann' });
    expect(run?.request).toMatchObject({ callId, channel: 'webhook', sessionId: 's 1' });
    const { body: stored } = await getCall(callId);
    expect(stored).toMatchObject({
      ...shown,
      ...{ status: 'succeeded', delivery_id: 'msg_1', mode: 'sync' },
    });
    expect(stored).toMatchObject({ endpoint_id: endpoint.id, user_id: 'ann', metadata: { rack: '7' } });
    const { body: list } = await webhooks.call('GET', `/v1/webhooks/endpoints/${endpoint.id}/calls`, {
      as: tenant.admin,
    });
    expect(list.data[0]?.call_id).toBe(callId);
  });

  it('may name its endpoint in capitals', async () => {
    const answer = await webhooks.deliver(endpoint, {
      body: { input: 'loud' },
      to: endpoint.id.toUpperCase(),
    });
    expect(answer.body.output).toBe('echo: loud');
  });

  it('may hold the messages of a chat completion', async () => {
    const input = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'x' }], name: 'ann' },
      { role: 'user', content: 'last \ud800\u0000' },
    ];
    expect((await webhooks.deliver(endpoint, { body: { input } })).status).toBe(200);
    const { messages } = JSON.parse(webhooks.chat.runs.at(-1)?.request.requestJson ?? '') as {
      messages: unknown;
    };
    expect(messages).toEqual(input);
  });

  it.each([
    ['no input', {}, 400, 'input'],
    ['an unknown field', { input: 'x', model: 'gpt' }, 400, 'model'],
    ['a callback to this machine', { input: 'x', callback_url: 'https://localhost/' }, 400, 'callback_url'],
    ['a user with a line break', { input: 'x', user_id: 'a\nb' }, 400, 'user_id'],
    ['an empty list', { input: [] }, 400, 'input'],
  ])('with %s is refused, and runs nothing', async (_what, body, status, param) => {
    const runs = webhooks.chat.runs.length;
    const answer = await webhooks.deliver(endpoint, { body });
    expect([answer.status, answer.body.error.param]).toEqual([status, param]);
    expect(webhooks.chat.runs).toHaveLength(runs);
  });

  it('must be JSON', async () => {
    const headers = { 'content-type': 'text/plain' };
    expect((await webhooks.deliver(endpoint, { body: { input: 'x' }, headers })).status).toBe(415);
    expect((await webhooks.deliver(endpoint, { body: '{"input": ' })).body.error.code).toBe('invalid_json');
  });
});

describe('what is not genuine gets the same 401', () => {
  const shapeOf = async (delivery: Parameters<typeof webhooks.deliver>[1], of = endpoint) => {
    const { status, body } = await webhooks.deliver(of, {
      from: `203.0.113.${1 + (next++ % 250)}`,
      ...delivery,
    });
    return { status, ...body.error, request_id: '' };
  };
  let next = 0;
  const body = { input: 'forged' };
  const now = (): number => Math.floor(Date.now() / 1_000);

  it('whatever is wrong with it', async () => {
    const text = JSON.stringify(body);
    const good = signed(endpoint, text, { id: 'm' });
    const disabled = await webhooks.makeEndpoint(tenant, { enabled: false });
    const fenced = await webhooks.makeEndpoint(tenant, { allowed_cidrs: ['192.0.2.0/24'] });
    const shapes = await Promise.all([
      shapeOf({ body, to: newId() }),
      shapeOf({ body, to: 'no-id' }),
      shapeOf({ body, at: now() - 301 }),
      shapeOf({ body, at: now() + 310 }),
      shapeOf({ body, sends: `${text} ` }),
      shapeOf({ body, sends: JSON.stringify({ input: 'forgeD' }) }),
      shapeOf({ body, headers: { 'webhook-signature': '' } }),
      shapeOf({ body, headers: { 'webhook-signature': [good['webhook-signature'] ?? '', 'v1,x'] } }),
      shapeOf({ body, headers: { 'webhook-id': 'other' } }),
      shapeOf({ body, headers: { 'x-webhook-endpoint': endpoint.id } }),
      shapeOf({ body }, { ...endpoint, secret: `whsec_${Buffer.alloc(32).toString('base64')}` }),
      shapeOf({ body }, { ...endpoint, scheme: 'github' }),
      shapeOf({ body }, disabled),
      shapeOf({ body }, fenced),
      shapeOf({ body: 'not even JSON', sends: '{' }),
    ]);
    expect(new Set(shapes.map((shape) => JSON.stringify(shape))).size).toBe(1);
    expect(shapes[0]).toMatchObject({ status: 401, code: 'signature_invalid', type: 'authentication_error' });
    expect(runsOf('forged')).toEqual([]);
    const inside = await webhooks.deliver(fenced, { body: { input: 'from inside' }, from: '192.0.2.77' });
    expect(inside.status).toBe(200);
  });

  it('and 429 beyond 60 a minute from one address, over all replicas, while genuine deliveries pass', async () => {
    const from = '198.51.100.99';
    const forge = (port?: number) =>
      webhooks.deliver(endpoint, { body, from, headers: { 'webhook-id': 'x' }, ...(port && { port }) });
    const statuses = await upToLimit(
      60,
      async (count) => (await forge(count % 2 === 0 ? replica.httpPort : undefined)).status,
    );
    expect(statuses.at(-1)).toBe(429);
    expect(statuses.length).toBeGreaterThan(60);
    const limited = await forge();
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect((await webhooks.deliver(endpoint, { body: { input: 'genuine' }, from })).status).toBe(200);
    expect((await webhooks.deliver(endpoint, { body, from: '198.51.100.98', at: 1 })).status).toBe(401);
  });
});

it.each(webhookSchemes.filter((scheme) => scheme !== 'token'))(
  'takes deliveries of the scheme %s',
  async (scheme) => {
    const secret = scheme === 'standard' ? undefined : `secret-of-${scheme}-0123456789`;
    const header = scheme === 'hmac' ? 'x-signature' : null;
    const own = await webhooks.makeEndpoint(tenant, { scheme, secret, header });
    const headers = Object.keys(signed(own, '', { id: 'x' }));
    if (header === null) expect(deliveryHeaders).toEqual(expect.arrayContaining(headers));
    else expect(headers.every(isSignatureHeader)).toBe(true);
    const body = { input: `by ${scheme}` };
    const first = await webhooks.deliver(own, { body, id: 'first' });
    expect(first.body.output).toBe(`echo: by ${scheme}`);
    // Without a signed id, another one makes no new delivery of the same body.
    const again = await webhooks.deliver(own, { body, id: scheme === 'standard' ? 'first' : 'other' });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(runsOf(`by ${scheme}`)).toHaveLength(1);
  },
);

it('takes tokens only while the operator allows them', async () => {
  const open = await webhooks.create({ ...webhooks.environment(), WEBHOOK_ALLOW_TOKEN: '1' });
  await open.start();
  const made = await webhooks.call('POST', '/v1/webhooks/endpoints', {
    as: tenant.admin,
    body: { name: 'Alertmanager', agent_id: tenant.agentId, scheme: 'token' },
    port: open.httpPort,
  });
  const deliver = (port: number, headers = {}) =>
    webhooks.deliver(made.body, { body: { input: 'by token' }, port, headers });
  expect((await deliver(open.httpPort)).status).toBe(200);
  expect((await deliver(open.httpPort, { authorization: `Bearer gwh_${'x'.repeat(43)}` })).status).toBe(401);
  expect((await deliver(webhooks.service.httpPort)).status).toBe(401);
  await open.stop();
});

describe('an endpoint with a template', () => {
  it('takes any JSON, and asks what the template makes of it', async () => {
    const own = await webhooks.makeEndpoint(tenant, { template: 'Alert: {{ alert.name }}', mode: 'sync' });
    const answer = await webhooks.deliver(own, {
      body: { alert: { name: 'DiskFull' }, input: 7, mode: 'x' },
    });
    expect(answer.body.output).toBe('echo: Alert: DiskFull');
    const { status, body } = await webhooks.deliver(own, { body: ['no', 'alert'] });
    expect(status).toBe(200);
    expect(body.output).toBe('echo: Alert:');
  });

  it('answers 422 with the line when the template fails, and keeps no call', async () => {
    const template = 'first\n{% include "x" %}';
    const own = await webhooks.makeEndpoint(tenant, { template });
    const { status, body } = await webhooks.deliver(own, { body: {} });
    expect([status, body.error.code]).toEqual([422, 'template_failed']);
    expect(body.error.message).toContain('line 2');
    const list = await webhooks.call('GET', `/v1/webhooks/endpoints/${own.id}/calls`, { as: tenant.admin });
    expect(list.body.data).toEqual([]);
  });

  it.each(['slack', 'github'])('takes forms of %s', async (scheme) => {
    const secret = `secret-of-${scheme}-0123456789`;
    const own = await webhooks.makeEndpoint(tenant, { scheme, secret, template: 'Form: {{ text }}' });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const fields = await webhooks.deliver(own, { body: 'text=a+%26+b&user=u', headers });
    expect(fields.body.output).toBe('echo: Form: a & b');
    const payload = encodeURIComponent(JSON.stringify({ text: 'in JSON' }));
    const nested = await webhooks.deliver(own, { body: `payload=${payload}`, headers });
    expect(nested.body.output).toBe('echo: Form: in JSON');
    const other = await webhooks.makeEndpoint(tenant, { template: 'Form: {{ text }}' });
    expect((await webhooks.deliver(other, { body: 'text=a', headers })).status).toBe(415);
  });

  it.each([
    ['fields', '&a', 413],
    ['spaces', '+', 200],
    ['escapes', '%41', 200],
  ])('takes or refuses a form with a million bytes of %s in little time', async (_what, part, status) => {
    const secret = 'secret-of-large-forms-0123456789';
    const template = 'Form: {{ text | truncate: 4 }}';
    const own = await webhooks.makeEndpoint(tenant, { scheme: 'github', secret, template });
    const form = `text=a${part.repeat(1_000_000 / part.length)}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const stalls = monitorEventLoopDelay({ resolution: 5 });
    stalls.enable();
    const answer = await webhooks.deliver(own, { body: form, headers });
    stalls.disable();
    expect(answer.status).toBe(status);
    if (status === 413) expect(answer.body.error.code).toBe('payload_too_large');
    expect(stalls.max / 1e6).toBeLessThan(1_000);
  });
});

it('takes a payload with a byte order mark', async () => {
  const own = await webhooks.makeEndpoint(tenant, { template: 'About {{ topic }}' });
  const answer = await webhooks.deliver(own, { body: '\ufeff{"topic": "disks"}' });
  expect(answer.body.output).toBe('echo: About disks');
});

it('shows a template the digits that were sent', async () => {
  const own = await webhooks.makeEndpoint(tenant, { template: 'About {{ id }} and {{ small }}' });
  const answer = await webhooks.deliver(own, { body: '{"id": 12345678901234567890, "small": 7}' });
  expect(answer.body.output).toBe('echo: About 12345678901234567890 and 7');
});

describe('repeats', () => {
  it('of one delivery, ten at once to two replicas, are one run with ten equal answers', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    webhooks.chat.gate = promise;
    const body = { input: 'ten times' };
    const ports = [webhooks.service.httpPort, replica.httpPort];
    const sent = Array.from({ length: 10 }, (_, index) =>
      webhooks.deliver(endpoint, { body, id: 'ten', port: ports[index % 2] ?? 0 }),
    );
    await eventually(() => expect(runsOf('ten times')).toHaveLength(1));
    resolve(undefined);
    const answers = await Promise.all(sent);
    expect(new Set(answers.map(({ status, body: each }) => JSON.stringify([status, each]))).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
    expect(runsOf('ten times')).toHaveLength(1);
  });

  it('of one delivery wait together: a hundred of them ask the database no more often than one', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    webhooks.chat.gate = promise;
    const looks = jest.spyOn(CallStore.prototype, 'progressOf');
    const sent = Array.from({ length: 100 }, () =>
      webhooks.deliver(endpoint, { body: { input: 'a hundred times' }, id: 'hundred' }),
    );
    // A repeat that reaches the other replica waits there.
    const elsewhere = webhooks.deliver(endpoint, {
      ...{ body: { input: 'a hundred times' }, id: 'hundred', port: replica.httpPort },
    });
    await eventually(() => expect(runsOf('a hundred times')).toHaveLength(1));
    await sleep(2_000);
    // Every 200 ms in the other replica; here they wait for the run itself.
    expect(looks.mock.calls.length).toBeLessThan(30);
    looks.mockRestore();
    resolve(undefined);
    const answers = await Promise.all([...sent, elsewhere]);
    expect(new Set(answers.map(({ status, body: { output } }) => `${status} ${output ?? ''}`)).size).toBe(1);
    expect(answers[0].body.output).toBe('echo: a hundred times');
  });

  it('that wait before their call runs leave it to the one that has stored it', async () => {
    const stored = Promise.withResolvers<undefined>();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    jest.spyOn(CallStore.prototype, 'add').mockImplementationOnce(async function (this: CallStore, ...call) {
      const known = await this.add(...call);
      stored.resolve(undefined);
      await promise;
      return known;
    });
    const looks = jest.spyOn(CallStore.prototype, 'progressOf');
    const claims = jest.spyOn(CallStore.prototype, 'claim');
    const deliver = () => webhooks.deliver(endpoint, { body: { input: 'overtaken' }, id: 'overtaken' });
    const first = deliver();
    await stored.promise;
    const repeat = deliver();
    await eventually(() => expect(looks).toHaveBeenCalled());
    resolve(undefined);
    expect((await first).body).toEqual((await repeat).body);
    const taken = await Promise.all(claims.mock.results.map(({ value }) => value as Promise<unknown>));
    expect(taken.filter((request) => request !== null)).toEqual([]);
    jest.restoreAllMocks();
  });

  it('with another body are refused', async () => {
    await webhooks.deliver(endpoint, { body: { input: 'mine' }, id: 'reused' });
    const other = await webhooks.deliver(endpoint, { body: { input: 'other' }, id: 'reused' });
    expect([other.status, other.body.error.code]).toEqual([409, 'idempotency_key_reused']);
    const elsewhere = await webhooks.makeEndpoint(tenant);
    expect((await webhooks.deliver(elsewhere, { body: { input: 'other' }, id: 'reused' })).status).toBe(200);
  });

  it('get the stored answer also after the template has changed', async () => {
    const templated = await webhooks.makeEndpoint(tenant, { template: 'About {{ topic }}' });
    const sent = { body: { topic: 'disks' }, id: 'msg_template' };
    const first = await webhooks.deliver(templated, sent);
    const path = `/v1/webhooks/endpoints/${templated.id}`;
    await webhooks.call('PATCH', path, {
      as: tenant.admin,
      body: { template: '{{ topic | divided_by: 0 }}' },
    });
    const again = await webhooks.deliver(templated, sent);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(again.body).toEqual(first.body);
  });

  it('of a failed delivery run again', async () => {
    webhooks.chat.prepare('fails once', new AppError('provider_error', 'The provider failed.'));
    const deliver = () => webhooks.deliver(endpoint, { body: { input: 'fails once' }, id: 'fails' });
    const failed = await deliver();
    expect([failed.status, failed.body.error.code]).toEqual([502, 'provider_error']);
    const second = await deliver();
    expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([200, null]);
    expect(runsOf('fails once')).toHaveLength(2);
  });

  it('of a delivery whose answer was lost get that answer, without another run', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    webhooks.chat.gate = promise;
    const dying = await webhooks.startReplica();
    const deliver = (port: number) =>
      webhooks.deliver(endpoint, { body: { input: 'answer lost' }, id: 'lost', port });
    const lost = deliver(dying.httpPort);
    lost.catch(() => undefined);
    await eventually(() => expect(runsOf('answer lost')).toHaveLength(1));
    // As if its process had died: the claim is over, and is not prolonged.
    await webhooks.rows(`update webhook.calls set claimed_until = now(), claim_id = gen_random_uuid()
      where delivery_id = 'lost'`);
    const repeat = deliver(replica.httpPort);
    resolve(undefined);
    expect((await repeat).body.output).toBe('echo: answer lost');
    expect(runsOf('answer lost')).toHaveLength(1);
    await lost;
    await dying.stop();
  });
});

it('limits the deliveries of an endpoint per minute', async () => {
  const limited = await webhooks.makeEndpoint(tenant, { rate_limit_per_minute: 2 });
  const statuses: number[] = [];
  for (let count = 0; count < 5; count += 1)
    statuses.push((await webhooks.deliver(limited, { body: { input: `n ${count}` } })).status);
  // The minute may end in between.
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(1);
  expect(statuses.slice(0, 2)).toEqual([200, 200]);
});

it('refuses deliveries of a suspended tenant', async () => {
  const suspended = webhooks.makeTenant();
  const theirs = await webhooks.makeEndpoint(suspended);
  webhooks.tenant.settings.set(suspended.id, { status: 'suspended' });
  const answer = await webhooks.deliver(theirs, { body: { input: 'suspended' } });
  expect([answer.status, answer.body.error.code]).toEqual([403, 'tenant_suspended']);
  expect(runsOf('suspended')).toEqual([]);
});
