import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { removableEndpoints } from '../src/endpoints/endpoint-system-store.ts';
import { removeDeleted } from '../src/shared/removal-system-store.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start();
  tenant = webhooks.makeTenant();
});
afterAll(() => webhooks.stop());

const endpoints = '/v1/webhooks/endpoints';
const get = (id: string, as = tenant.admin) => webhooks.call('GET', `${endpoints}/${id}`, { as });
const patch = (id: string, body: unknown) =>
  webhooks.call('PATCH', `${endpoints}/${id}`, { as: tenant.admin, body });
const rotate = (id: string, body: unknown = {}) =>
  webhooks.call('POST', `${endpoints}/${id}/rotate-secret`, { as: tenant.admin, body });

it('a deleted endpoint is gone at once with its calls, which are removed in batches', async () => {
  const mine = webhooks.makeTenant();
  const as = mine.admin;
  const endpoint = await webhooks.makeEndpoint(mine);
  const calls = [];
  for (const input of ['a', 'b', 'c'])
    calls.push((await webhooks.deliver(endpoint, { body: { input } })).body.call_id);
  const path = `${endpoints}/${endpoint.id}`;
  expect((await webhooks.call('DELETE', path, { as })).status).toBe(204);
  for (const gone of [path, `${path}/calls`, `/v1/webhooks/calls/${calls[0] ?? ''}`])
    expect((await webhooks.call('GET', gone, { as })).status).toBe(404);
  expect((await webhooks.call('GET', endpoints, { as })).body.data).toEqual([]);
  expect((await webhooks.deliver(endpoint, { body: { input: 'd' } })).status).toBe(401);
  const { url } = webhooks.database;
  const system = createPool({ url, role: 'webhook_system', max: 1, log: createLogger('test', 'silent') });
  const remove = () => removeDeleted(system, removableEndpoints, 2);
  const removed = [await remove(), await remove()];
  await system.end();
  expect(removed).toEqual([2, 1]);
  expect(await webhooks.rows('select 1 from webhook.endpoints where tenant_id = $1', [mine.id])).toEqual([]);
});

describe('creating an endpoint', () => {
  it('is possible a thousand times', async () => {
    const crowded = webhooks.makeTenant();
    const first = await webhooks.makeEndpoint(crowded);
    await webhooks.rows(
      `insert into webhook.endpoints (id, tenant_id, name, agent_id, scheme, mode, allowed_cidrs, enabled, secret,
         callback_secret)
       select gen_random_uuid(), tenant_id, name, agent_id, scheme, mode, allowed_cidrs, enabled, secret, callback_secret
       from webhook.endpoints, generate_series(1, 998) where id = $1`,
      [first.id],
    );
    const statuses = await Promise.all([1, 2, 3].map(async () => (await webhooks.post(crowded)).status));
    expect(statuses.sort()).toEqual([201, 403, 403]);
  });

  it('shows every field, the omitted ones at their defaults, and the secrets this once', async () => {
    const answer = await webhooks.post(tenant);
    expect(answer.status).toBe(201);
    const { id, url, secret, callback_secret: callbackSecret, ...shown } = answer.body;
    expect(url).toBe(`/v1/webhooks/llm?endpoint=${id}`);
    expect(answer.headers.get('location')).toBe(`${endpoints}/${id}`);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(callbackSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(callbackSecret).not.toBe(secret);
    expect(shown).toEqual({
      name: 'Alerts',
      agent_id: tenant.agentId,
      scheme: 'standard',
      template: null,
      mode: 'sync',
      callback_url: null,
      rate_limit_per_minute: null,
      allowed_cidrs: [],
      enabled: true,
      deliver_to: null,
      header: null,
      encoding: null,
      prefix: null,
      previous_secret_expires_at: null,
      previous_callback_secret_expires_at: null,
      created_at: shown.updated_at,
      updated_at: shown.created_at,
    });
    expect((await get(id)).body).toEqual({ id, url, ...shown });
  });

  it('takes the key of an agent in place of its id, and shows the id', async () => {
    const next = webhooks.agents.add(tenant.id, 'next');
    const { id, agent_id: agentId } = await webhooks.makeEndpoint(tenant, { agent_id: 'next' });
    expect(agentId).toBe(next);
    await patch(id, { agent_id: tenant.agentId });
    expect((await patch(id, { agent_id: 'next' })).body.agent_id).toBe(next);
    const unknown = await patch(id, { agent_id: 'nobody' });
    expect([unknown.status, unknown.body.error.param]).toEqual([400, 'agent_id']);
  });

  it('keeps every field as it was given', async () => {
    const settings = {
      name: '“Störung” 🐘',
      scheme: 'github',
      template: '{{ payload.action }}\n',
      mode: 'async',
      callback_url: 'https://93.184.215.14:8443/path?q=1',
      rate_limit_per_minute: 100_000,
      allowed_cidrs: ['192.0.2.0/24', '2001:db8::/32', '203.0.113.7/32'],
      enabled: false,
    };
    const made = await webhooks.makeEndpoint(tenant, settings);
    expect(made).toMatchObject(settings);
    expect((await get(made.id)).body).toMatchObject(settings);
  });

  it('keeps a secret that is given, for schemes whose senders make their own', async () => {
    for (const scheme of ['stripe', 'slack', 'pagerduty', 'sentry', 'hmac']) {
      const given = `given by ${scheme} 0123456789`.replaceAll(' ', '-');
      const header = scheme === 'hmac' ? 'x-signature' : null;
      expect((await webhooks.makeEndpoint(tenant, { scheme, header, secret: given })).secret).toBe(given);
      const without = await webhooks.post(tenant, { scheme, header });
      expect(without).toMatchObject({
        status: 400,
        body: { error: { code: 'missing_required_parameter', param: 'secret' } },
      });
    }
    const vector = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect((await webhooks.makeEndpoint(tenant, { secret: vector })).secret).toBe(vector);
    for (const scheme of ['github', 'grafana'])
      expect((await webhooks.makeEndpoint(tenant, { scheme })).secret).toMatch(/^[\w-]{43}$/);
  });

  it.each([
    [
      'an agent of another tenant',
      () => ({ agent_id: webhooks.makeTenant().agentId }),
      'invalid_value',
      'agent_id',
    ],
    ['an agent that does not exist', () => ({ agent_id: newId() }), 'invalid_value', 'agent_id'],
    ['a secret of another form', () => ({ secret: 'not-of-standard-webhooks' }), 'invalid_value', 'secret'],
    ['a short secret', () => ({ scheme: 'github', secret: 'x'.repeat(15) }), 'invalid_value', 'secret'],
    [
      'a callback to this machine',
      () => ({ callback_url: 'https://127.1/' }),
      'url_not_allowed',
      'callback_url',
    ],
    [
      'a callback without TLS',
      () => ({ callback_url: 'http://example.com/' }),
      'url_not_allowed',
      'callback_url',
    ],
    [
      'no network',
      () => ({ allowed_cidrs: ['10.0.0.0/8', '10.0.0.0'] }),
      'invalid_value',
      'allowed_cidrs[1]',
    ],
    [
      'a network with host bits',
      () => ({ allowed_cidrs: ['10.0.0.1/8'] }),
      'invalid_value',
      'allowed_cidrs[0]',
    ],
    ['the scheme token, which is off', () => ({ scheme: 'token' }), 'invalid_value', 'scheme'],
    ['a template that is none', () => ({ template: 'x\n{% if %}' }), 'invalid_value', 'template'],
    [
      'the scheme hmac without a header',
      () => ({ scheme: 'hmac', secret: 'x'.repeat(16) }),
      'missing_required_parameter',
      'header',
    ],
    ['a header of another scheme', () => ({ header: 'x-signature' }), 'invalid_value', 'header'],
    ['an encoding of another scheme', () => ({ encoding: 'hex' }), 'invalid_value', 'encoding'],
    ['a prefix of another scheme', () => ({ prefix: '' }), 'invalid_value', 'prefix'],
    ...['Cookie', 'X-Gatehouse-Client-IP', 'content-type', 'x y', '__proto__', ''].map(
      (header): [string, () => Record<string, unknown>, string, string] => [
        `the header "${header}" for a signature`,
        () => ({ scheme: 'hmac', header, secret: 'x'.repeat(16) }),
        'invalid_value',
        'header',
      ],
    ),
    ['an unknown scheme', () => ({ scheme: 'gitlab' }), 'invalid_value', 'scheme'],
    ['an unknown field', () => ({ callback: 'x' }), 'unknown_parameter', 'callback'],
  ])('is refused with %s', async (_what, fields, code, param) => {
    const before = await webhooks.rows('select id from webhook.endpoints');
    const answer = await webhooks.post(tenant, fields());
    expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([400, code, param]);
    expect(await webhooks.rows('select id from webhook.endpoints')).toHaveLength(before.length);
  });

  it('makes one endpoint of requests with the same Idempotency-Key, and shows the same secret', async () => {
    const headers = { 'idempotency-key': newId() };
    const body = { name: 'Once', agent_id: tenant.agentId };
    const as = { ...tenant.admin, keyId: newId() };
    const post = () => webhooks.call('POST', endpoints, { as, body, headers });
    const [first, second] = [await post(), await post()];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
  });
});

it('lets the operator allow tokens, which the gateway makes', async () => {
  const service = await webhooks.create({ ...webhooks.environment(), WEBHOOK_ALLOW_TOKEN: '1' });
  await service.start();
  const post = (fields: object) =>
    webhooks.call('POST', endpoints, {
      as: tenant.admin,
      body: { name: 'Alertmanager', agent_id: tenant.agentId, scheme: 'token', ...fields },
      port: service.httpPort,
    });
  expect((await post({})).body.secret).toMatch(/^gwh_[\w-]{43}$/);
  expect((await post({ secret: `gwh_${'x'.repeat(43)}` })).body.error.param).toBe('secret');
  await service.stop();
});

describe('changing an endpoint', () => {
  it('keeps what the patch does not name', async () => {
    const made = await webhooks.makeEndpoint(tenant, {
      template: 'x',
      mode: 'async',
      allowed_cidrs: ['10.0.0.0/8'],
    });
    const answer = await patch(made.id, { template: null, rate_limit_per_minute: 5 });
    expect(answer.status).toBe(200);
    const { secret: _secret, callback_secret: _callback, updated_at: _updated, ...before } = made;
    expect(answer.body).toMatchObject({ ...before, template: null, rate_limit_per_minute: 5 });
    expect(Date.parse(answer.body.updated_at)).toBeGreaterThan(Date.parse(made.updated_at));
  });

  it('refuses what creation refuses, and the scheme', async () => {
    const { id } = await webhooks.makeEndpoint(tenant);
    for (const [body, code] of [
      [{ callback_url: 'https://[::1]/' }, 'url_not_allowed'],
      [{ agent_id: newId() }, 'invalid_value'],
      [{ allowed_cidrs: ['everyone'] }, 'invalid_value'],
      [{ scheme: 'github' }, 'unknown_parameter'],
      [{ secret: 'x'.repeat(20) }, 'unknown_parameter'],
    ] as const)
      expect((await patch(id, body)).body.error.code).toBe(code);
  });
});

it('keeps the settings of the scheme hmac, which a patch changes', async () => {
  const fields = {
    scheme: 'hmac',
    header: 'X-Shopify-Hmac-SHA256',
    secret: 'the secret'.padEnd(16, '-').replace(' ', '-'),
  };
  const made = await webhooks.makeEndpoint(tenant, fields);
  expect(made).toMatchObject({ scheme: 'hmac', header: fields.header, encoding: 'hex', prefix: '' });
  const next = { header: 'linear-signature', encoding: 'base64', prefix: 'sha256=' };
  expect((await patch(made.id, next)).body).toMatchObject(next);
  expect((await patch(made.id, { encoding: null })).body).toMatchObject({ ...next, encoding: 'hex' });
  expect((await patch(made.id, { header: null })).body.error).toMatchObject({
    code: 'missing_required_parameter',
    param: 'header',
  });
  const standard = await webhooks.makeEndpoint(tenant);
  expect((await patch(standard.id, { header: 'x-signature' })).body.error).toMatchObject({
    code: 'invalid_value',
    param: 'header',
  });
});

describe('rotating a secret', () => {
  it('shows the new secret once, and says until when the old one is accepted', async () => {
    const { id, secret } = await webhooks.makeEndpoint(tenant);
    const rotated = await rotate(id, { overlap_seconds: 3_600 });
    expect(rotated.status).toBe(200);
    expect(rotated.body.secret).not.toBe(secret);
    expect(rotated.body).not.toHaveProperty('callback_secret');
    const until = Date.parse(rotated.body.previous_secret_expires_at ?? '');
    expect(Math.abs(until - Date.now() - 3_600_000)).toBeLessThan(60_000);
    expect((await get(id)).body.previous_secret_expires_at).toBe(rotated.body.previous_secret_expires_at);
    expect((await rotate(id)).body.previous_secret_expires_at).toBeNull();
  });

  it('needs the secret where the sender makes it', async () => {
    const { id } = await webhooks.makeEndpoint(tenant, {
      scheme: 'stripe',
      secret: 'whsec_of_stripe_0123456789',
    });
    expect((await rotate(id)).body.error).toMatchObject({
      code: 'missing_required_parameter',
      param: 'secret',
    });
    const secret = 'whsec_of_stripe_9876543210';
    expect((await rotate(id, { secret })).body.secret).toBe(secret);
  });
});

it('deletes an endpoint for good', async () => {
  const { id } = await webhooks.makeEndpoint(tenant);
  const remove = () => webhooks.call('DELETE', `${endpoints}/${id}`, { as: tenant.admin });
  expect((await remove()).status).toBe(204);
  expect([(await remove()).status, (await get(id)).status, (await patch(id, {})).status]).toEqual([
    404, 404, 404,
  ]);
});

it('lists a tenant’s own endpoints, newest first, a page at a time', async () => {
  const own = webhooks.makeTenant();
  const made = [];
  for (const name of ['one', 'two', 'three']) made.push(await webhooks.makeEndpoint(own, { name }));
  const names: string[] = [];
  let cursor = '';
  do {
    const { body } = await webhooks.call('GET', `${endpoints}?limit=2${cursor}`, { as: own.admin });
    names.push(...body.data.map(({ name }) => name));
    cursor = body.has_more ? `&cursor=${body.next_cursor ?? ''}` : '';
  } while (cursor !== '');
  expect(names).toEqual(['three', 'two', 'one']);
});

it('keeps tenants apart: another tenant’s endpoint is as one that does not exist', async () => {
  const { id } = await webhooks.makeEndpoint(tenant);
  const other = webhooks.makeTenant();
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate-secret'],
  ] as const) {
    const answers = [id, newId()].map((each) =>
      webhooks.call(method, `${endpoints}/${each}${path}`, {
        as: other.admin,
        ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }),
      }),
    );
    const [theirs, none] = await Promise.all(answers);
    expect(theirs?.status).toBe(404);
    expect({ ...theirs?.body.error, request_id: '' }).toEqual({ ...none?.body.error, request_id: '' });
  }
  expect((await get(id)).status).toBe(200);
});

it('stores no secret as text, and audits no secret and no template', async () => {
  const own = webhooks.makeTenant();
  const fields = { template: 'Answer as Merlin: {{ payload.text }}' };
  const { id, secret, callback_secret: callback } = await webhooks.makeEndpoint(own, fields);
  const { body: rotated } = await webhooks.call('POST', `${endpoints}/${id}/rotate-secret`, {
    as: own.admin,
    body: { overlap_seconds: 60 },
  });
  await eventually(() => {
    const entries = webhooks.tenant.entries.filter(({ tenant_id: of }) => of === own.id);
    expect(entries.map(({ action }) => action)).toEqual([
      'webhook_endpoint.created',
      'webhook_endpoint.rotated',
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/whsec_|Merlin/);
  });
  const tables = await webhooks.rows<{ text: string }>('select e::text as text from webhook.endpoints e');
  const all = JSON.stringify(tables);
  for (const text of [secret, callback, rotated.secret]) {
    expect(all).not.toContain(text);
    expect(all).not.toContain(Buffer.from(text).toString('hex'));
  }
});
