import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import type { ErrorBody } from '@gatehouse/kit/errors';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { httpDuration, Registry } from '@gatehouse/kit/metrics';
import { Verifier } from '@gatehouse/identity/verifier';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal, testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { createApp, tenantOf, type AppOptions, type Call, type Handler } from './app.ts';
import type { Reply } from './reply.ts';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { HttpServer } from './server.ts';

const log = createLogger('test', 'silent');
const registry = new Registry();
const duration = httpDuration(registry);

let identity: TestIdentity;
let server: HttpServer;
let calls: Call[] = [];
let reply: () => Promise<Reply> = () => Promise.resolve({ body: {} });

const handler: Handler = (call) => {
  calls.push(call);
  return reply();
};
const agentRoutes = routes.filter(({ service }) => service === 'agent').map(({ id }) => id);
/** Tested separately. */
const idempotency = { once: () => Promise.reject(new Error('no request here has a key')) };
const handlers = Object.fromEntries(agentRoutes.map((id) => [id, handler]));

async function optionsOf(fields: Partial<AppOptions> = {}): Promise<AppOptions> {
  const verifier = await Verifier.create(identity.publicKeys);
  return { service: 'agent', handlers, verifier, log, duration, idempotency, ...fields };
}

beforeAll(async () => {
  identity = await testIdentity();
  server = new HttpServer(createApp(await optionsOf()), { host: '127.0.0.1', port: 0, drainTimeoutMs: 100 });
  await server.start();
});
afterAll(async () => server.stop());
beforeEach(() => {
  calls = [];
  reply = () => Promise.resolve({ body: {} });
});

interface Asked {
  method?: string;
  path?: string;
  body?: string | Buffer;
  type?: string;
  assertion?: string | null | undefined;
  headers?: Record<string, string>;
}

async function ask(asked: Asked = {}): Promise<Response> {
  const { method = 'GET', path = '/v1/agents', body, type = 'application/json', assertion, headers } = asked;
  const proof = assertion === undefined ? await identity.assertion() : assertion;
  return fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': type }),
      ...(proof === null ? {} : { 'x-gatehouse-assertion': proof }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  });
}

/** Status and code of an error response; also checks its shape. */
async function refusal(asked: Asked): Promise<string> {
  const response = await ask(asked);
  expect(response.headers.get('content-type')).toBe('application/json');
  const { error } = (await response.json()) as ErrorBody;
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'request_id', 'type']);
  expect(error.request_id).toBe(response.headers.get('x-request-id'));
  expect(calls).toEqual([]);
  return `${response.status} ${error.code} ${error.param ?? '-'}`;
}

const create = { key: 'helper', model: 'small' };

describe('creating an app', () => {
  it('fails when a route of the service has no handler, or a handler no route', async () => {
    const { 'agents.list': _list, ...missing } = handlers;
    for (const wrong of [
      missing,
      { ...handlers, 'agents.clone': handler },
      { ...handlers, whoami: handler },
      {},
    ]) {
      const options = await optionsOf({ handlers: wrong });
      expect(() => createApp(options)).toThrow(
        /agent has handlers for \[.*\] but the route table has \[.*\]/,
      );
    }
  });

  it('fails when a route takes an Idempotency-Key and nothing keeps a record of it', async () => {
    const { idempotency: _idempotency, ...options } = await optionsOf();
    expect(() => createApp(options)).toThrow(/accept an Idempotency-Key/);
  });

  it('takes a raw handler for one, but not both for the same route', async () => {
    const rawHandlers = { 'agents.list': () => Promise.resolve() };
    const { 'agents.list': _list, ...others } = handlers;
    const good = await optionsOf({ handlers: others, rawHandlers });
    expect(() => createApp(good)).not.toThrow();
    const both = await optionsOf({ rawHandlers });
    expect(() => createApp(both)).toThrow();
  });
});

describe('a dry run', () => {
  const posted = { method: 'POST', body: JSON.stringify(create) };

  it('reaches the handler without a claim, and returns no id and no location', async () => {
    reply = () =>
      Promise.resolve({ body: { id: 'new', key: 'helper' }, headers: { location: '/v1/agents/new' } });
    const headers = { 'idempotency-key': 'any' };
    const response = await ask({ ...posted, path: '/v1/agents?dry_run=true', headers });
    expect([response.status, response.headers.get('location')]).toEqual([201, null]);
    expect(await response.json()).toEqual({ id: null, key: 'helper' });
    expect(calls).toMatchObject([{ dryRun: true, claim: null, query: {} }]);
  });

  it('has no body where the change has none', async () => {
    reply = () => Promise.resolve({});
    const response = await ask({ method: 'DELETE', path: '/v1/agents/helper?dry_run=true' });
    expect([response.status, await response.text()]).toEqual([204, '']);
  });

  it('is no dry run with false, and refused with any other value and at other routes', async () => {
    for (const value of ['', '1', 'TRUE', 'true&dry_run=true'])
      expect(await refusal({ ...posted, path: `/v1/agents?dry_run=${value}` })).toBe(
        '400 invalid_value dry_run',
      );
    expect(await refusal({ path: '/v1/agents?dry_run=true' })).toBe('400 unknown_parameter dry_run');
    await ask({ ...posted, path: '/v1/agents?dry_run=false' });
    await ask(posted);
    expect(calls).toMatchObject([{ dryRun: false }, { dryRun: false }]);
  });
});

describe('a request', () => {
  it('reaches its handler with everything checked and parsed', async () => {
    const principal = makePrincipal({ role: 'user' });
    const assertion = await identity.assertion(principal);
    await ask({ path: '/v1/agents?limit=7&q=a%20b', assertion });
    await ask({ method: 'POST', body: JSON.stringify(create) });
    await ask({ method: 'PATCH', path: '/v1/agents/a%C3%A4', body: '{"name":"x"}' });
    const [list, post, patch] = calls;
    expect(list).toMatchObject({
      principal,
      assertion,
      query: { limit: 7, q: 'a b' },
      body: undefined,
      params: {},
    });
    expect(post).toMatchObject({ query: {}, body: { ...create, description: '' } });
    expect(patch).toMatchObject({ params: { agentID: 'aä' }, body: { name: 'x' } });
  });

  it('is answered with the route’s status, or the handler’s, and exact JSON', async () => {
    reply = () => Promise.resolve({ body: { text: 'größe' }, headers: { location: '/v1/agents/1' } });
    const created = await ask({ method: 'POST', body: JSON.stringify(create) });
    expect([created.status, created.headers.get('location')]).toEqual([201, '/v1/agents/1']);
    expect(created.headers.get('content-length')).toBe(String(Buffer.byteLength('{"text":"größe"}')));
    expect(await created.json()).toEqual({ text: 'größe' });
    reply = () => Promise.resolve({});
    const deleted = await ask({ method: 'DELETE', path: '/v1/agents/a' });
    expect([deleted.status, await deleted.text()]).toEqual([204, '']);
    reply = () => Promise.resolve({ status: 200, body: 1 });
    expect((await ask({ method: 'POST', body: JSON.stringify(create) })).status).toBe(200);
  });

  it('with HEAD is answered as GET without the body', async () => {
    reply = () => Promise.resolve({ body: { a: 1 } });
    const response = await ask({ method: 'HEAD' });
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      200,
      '7',
      '',
    ]);
  });

  it('has no header that names the server’s software', async () => {
    const { headers } = await ask();
    for (const name of ['x-powered-by', 'etag', 'server']) expect(headers.has(name)).toBe(false);
  });

  it('keeps a valid request id and trace, and gets new ones for bad or missing ones', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    const kept = await ask({ headers: { 'x-request-id': 'Client.id_1-2', traceparent } });
    expect(kept.headers.get('x-request-id')).toBe('Client.id_1-2');
    expect(calls[0]).toMatchObject({ requestId: 'Client.id_1-2', trace: { traceId } });
    for (const bad of ['', 'a b', 'ä', 'x'.repeat(129), 'a/b']) {
      const response = await ask({ headers: { 'x-request-id': bad, traceparent: 'bad' } });
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(calls[1]?.trace.traceId).not.toBe(traceId);
    expect(
      (await ask({ headers: { 'x-request-id': 'x'.repeat(128) } })).headers.get('x-request-id'),
    ).toHaveLength(128);
  });

  it.each<[string, Asked, string]>([
    ['an unknown path', { path: '/v1/nothing' }, '404 route_not_found -'],
    ['another service’s path', { path: '/v1/whoami' }, '404 route_not_found -'],
    ['a path with a trailing slash', { path: '/v1/agents/' }, '404 route_not_found -'],
    ['a broken escape', { path: '/v1/agents/%ff' }, '404 route_not_found -'],
    ['another method', { method: 'PUT' }, '405 method_not_allowed -'],
    ['no assertion', { assertion: null }, '401 service_unauthenticated -'],
    ['a forged assertion', { assertion: 'a.b.c' }, '401 service_unauthenticated -'],
    [
      'another content type',
      { method: 'POST', body: '{}', type: 'text/plain' },
      '415 unsupported_media_type -',
    ],
    [
      'an encoded body',
      { method: 'POST', body: '{}', headers: { 'content-encoding': 'gzip' } },
      '415 unsupported_media_type Content-Encoding',
    ],
    ['a body too large', { method: 'POST', body: Buffer.alloc(2 ** 20 + 1, ' ') }, '413 payload_too_large -'],
    ['broken JSON', { method: 'POST', body: '{' }, '400 invalid_json -'],
    ['bytes that are no UTF-8', { method: 'POST', body: Buffer.from([0xff]) }, '400 invalid_json -'],
    ['no object', { method: 'POST', body: '[]' }, '400 invalid_type -'],
    ['null', { method: 'POST', body: 'null' }, '400 invalid_type -'],
    ['no body where fields are needed', { method: 'POST' }, '400 missing_required_parameter key'],
    [
      'an unknown field',
      { method: 'POST', body: JSON.stringify({ ...create, x: 1 }) },
      '400 unknown_parameter x',
    ],
    ['an unknown query parameter', { path: '/v1/agents?limit=1&page=2' }, '400 unknown_parameter page'],
    ['a query parameter where none is known', { path: '/v1/agents/a?x=1' }, '400 unknown_parameter x'],
    ['a parameter called __proto__', { path: '/v1/agents/a?__proto__=1' }, '400 unknown_parameter __proto__'],
    ['a query parameter given twice', { path: '/v1/agents?limit=1&limit=2' }, '400 invalid_value limit'],
    [
      'a query parameter given twice, once encoded',
      { path: '/v1/agents?limit=1&%6cimit=2' },
      '400 invalid_value limit',
    ],
    ['a bad query value', { path: '/v1/agents?limit=0' }, '400 invalid_value limit'],
  ])('with %s is refused', async (_name, asked, expected) => {
    expect(await refusal(asked)).toBe(expected);
  });

  it('with a body beyond its tenant’s share waits for another one, and is refused if that takes long', async () => {
    const bodyBudget = new BodyBudget({ perTenant: 300, perProcess: 1_000, waitMs: 200 });
    const budgeted = new HttpServer(createApp(await optionsOf({ bodyBudget })), {
      host: '127.0.0.1',
      port: 0,
      drainTimeoutMs: 100,
    });
    await budgeted.start();
    const principal = makePrincipal();
    const post = async (): Promise<Response> =>
      fetch(`http://127.0.0.1:${budgeted.port}/v1/agents`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gatehouse-assertion': await identity.assertion(principal),
        },
        body: JSON.stringify(create) + ' '.repeat(200),
      });
    const held = Promise.withResolvers<Reply>();
    reply = () => held.promise;
    const first = post();
    await eventually(() => expect(calls).toHaveLength(1));
    const refused = await post();
    expect([refused.status, refused.headers.get('retry-after-ms')]).toEqual([429, '1000']);
    const next = post();
    setTimeout(() => held.resolve({ body: {} }), 50);
    expect([(await first).status, (await next).status]).toEqual([201, 201]);
    await eventually(() => expect(bodyBudget.inUse.bytes).toBe(0));
    await budgeted.stop();
  });

  it('with another method gets the allowed methods', async () => {
    for (const [path, allow] of [
      ['/v1/agents', 'GET, HEAD, POST'],
      ['/v1/agents/a', 'DELETE, GET, HEAD, PATCH'],
    ] as const) {
      expect((await ask({ method: 'PUT', path })).headers.get('allow')).toBe(allow);
    }
  });

  it('is checked in the contract’s order: 404, 405, 401, 403, 413, 415, 400', async () => {
    const reader = await identity.assertion({ role: 'user' });
    const everythingWrong = { body: Buffer.alloc(2 ** 20 + 1, '{'), type: 'text/plain', assertion: null };
    const order: string[] = [
      await refusal({ ...everythingWrong, method: 'POST', path: '/v1/nothing?x=1' }),
      await refusal({ ...everythingWrong, method: 'PUT', path: '/v1/agents?x=1' }),
      await refusal({ ...everythingWrong, method: 'POST', path: '/v1/agents?x=1' }),
      await refusal({ ...everythingWrong, method: 'POST', path: '/v1/agents?x=1', assertion: reader }),
      await refusal({ ...everythingWrong, method: 'POST', path: '/v1/agents?x=1', assertion: undefined }),
      await refusal({ method: 'POST', path: '/v1/agents?x=1', body: '{', type: 'text/plain' }),
      await refusal({ method: 'POST', path: '/v1/agents?x=1', body: '{' }),
      await refusal({ method: 'POST', path: '/v1/agents?x=1', body: JSON.stringify(create) }),
    ];
    expect(order.map((line) => line.split(' ')[1])).toEqual([
      'route_not_found',
      'method_not_allowed',
      'service_unauthenticated',
      'scope_missing',
      'payload_too_large',
      'unsupported_media_type',
      'invalid_json',
      'unknown_parameter',
    ]);
  });

  it('with 401 says how to authenticate', async () => {
    expect((await ask({ assertion: null })).headers.get('www-authenticate')).toBe('Bearer');
  });

  it('is held to the scope of its route once more', async () => {
    const reader = await identity.assertion({ scopes: ['agents.read'] });
    const writer = await identity.assertion({ scopes: ['agents.write'] });
    const neither = await identity.assertion({ scopes: ['chat'] });
    const owner = await identity.assertion({ role: 'owner' });
    expect(await refusal({ assertion: neither })).toBe('403 scope_missing -');
    expect(await refusal({ assertion: owner })).toBe('403 scope_missing -');
    expect(await refusal({ method: 'DELETE', path: '/v1/agents/a', assertion: reader })).toBe(
      '403 scope_missing -',
    );
    expect((await ask({ assertion: reader })).status).toBe(200);
    expect((await ask({ assertion: writer })).status).toBe(200);
  });

  it('after a refusal leaves its connection fit for the next', async () => {
    const large = { method: 'POST', body: Buffer.alloc(3 * 2 ** 20, ' ') };
    expect(await refusal(large)).toContain('413');
    expect((await ask()).status).toBe(200);
  });
});

describe('what a handler throws', () => {
  it('is shown when it is an AppError, with its headers', async () => {
    const headers = { 'retry-after': '1' };
    reply = () => Promise.reject(new AppError('agent_key_taken', 'Taken.', { param: 'key', headers }));
    const response = await ask();
    expect(await response.json()).toMatchObject({
      error: { message: 'Taken.', type: 'invalid_request_error', code: 'agent_key_taken', param: 'key' },
    });
    expect([response.status, response.headers.get('retry-after')]).toEqual([409, '1']);
  });

  it('is hidden when it is any other error', async () => {
    for (const thrown of [new Error('password is hunter2'), 'hunter2']) {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the worst a library may do
      reply = () => Promise.reject(thrown);
      const response = await ask();
      const text = await response.text();
      expect([response.status, text.includes('hunter2'), text.includes('"code":"internal"')]).toEqual([
        500,
        false,
        true,
      ]);
    }
  });

  it('is counted under its route, never under its path', async () => {
    reply = () => Promise.reject(new AppError('not_found', 'No.'));
    await ask({ path: '/v1/agents/secret-name' });
    await ask({ path: '/v1/other-secret' });
    const text = await registry.metrics();
    expect(text).toContain('gatehouse_http_request_duration_seconds_count{route="agents.get",status="404"}');
    expect(text).toContain('gatehouse_http_request_duration_seconds_count{route="none",status="404"}');
    expect(text).not.toContain('secret');
  });
});

it('an owner has no tenant to work in', () => {
  expect(() => tenantOf({ principal: makePrincipal({ role: 'owner' }) })).toThrow(
    expect.objectContaining({ status: 403 }),
  );
  const principal = makePrincipal();
  expect(tenantOf({ principal })).toBe(principal);
});

describe('a request target that is no path', () => {
  it.each(['*', 'http://[', 'http://gatehouse.example/v1/agents'])('such as %s is 404', async (path) => {
    const request = httpRequest({ host: '127.0.0.1', port: server.port, method: 'GET', path });
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const { error } = (await json(response)) as ErrorBody;
    expect([response.statusCode, error.code]).toEqual([404, 'route_not_found']);
    expect(error.request_id).toBe(response.headers['x-request-id']);
  });
});
