import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { EdgeUnderTest } from './edge-under-test.ts';

const named = 'https://app.example.com';
const alsoNamed = 'http://localhost:3000';
const stranger = 'https://app.example.com.evil.test';

let edge: EdgeUnderTest;
let without: EdgeUnderTest;
beforeAll(async () => {
  edge = await EdgeUnderTest.start({ CORS_ORIGINS: `${named}, ${alsoNamed}` }, (request, response) => {
    request.resume();
    const type = request.headers.accept === 'text/event-stream' ? 'text/event-stream' : 'application/json';
    const status = request.url === '/v1/models/missing' ? 404 : 200;
    const varies = request.url === '/v1/api-keys' ? { vary: 'Accept' } : {};
    response.writeHead(status, { 'content-type': type, 'x-run-id': 'r', ...varies }).end('{}');
  });
  without = await EdgeUnderTest.start();
});
afterAll(async () => {
  await edge.stop();
  await without.stop();
});

interface Asked {
  method?: string;
  path: string;
  origin?: string | undefined;
  headers?: Record<string, string>;
  body?: string;
}

function ask(at: EdgeUnderTest, { method = 'GET', path, origin, headers, body }: Asked): Promise<Response> {
  return fetch(at.url + path, {
    method,
    headers: {
      authorization: `Bearer ${at.key}`,
      ...(origin === undefined ? {} : { origin }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body ?? null,
  });
}

function corsHeaders({ headers }: Response): Record<string, string> {
  const all = [...headers].filter(([name]) => name === 'vary' || name.startsWith('access-control-'));
  return Object.fromEntries(all);
}

const preflight = (path: string, method: string, origin = named, headers = 'authorization'): Asked => ({
  method: 'OPTIONS',
  path,
  origin,
  headers: { 'access-control-request-method': method, 'access-control-request-headers': headers },
});

const answers: [name: string, asked: Asked, status: number][] = [
  ['a completion', { method: 'POST', path: '/v1/chat/completions', body: '{}' }, 200],
  [
    'a stream',
    { method: 'POST', path: '/v1/chat/completions', body: '{}', headers: { accept: 'text/event-stream' } },
    200,
  ],
  ['a list', { path: '/v1/agents' }, 200],
  ['a route for any key', { path: '/v1/whoami' }, 200],
  ['an error of a service', { path: '/v1/models/missing' }, 404],
  ['an error of the edge', { path: '/v1/agents', headers: { authorization: 'Bearer x' } }, 401],
  [
    'an error about the body',
    { method: 'POST', path: '/v1/agents', body: '{}', headers: { 'content-type': 'text/plain' } },
    415,
  ],
];

const closed: [name: string, asked: Asked, status: number][] = [
  ['an owner’s route', { path: '/internal/v1/owner/tenants' }, 200],
  ['the console', { path: '/api-docs' }, 200],
  ['a file of the console', { path: '/api-docs/assets/console.js' }, 200],
  ['the relay', { path: '/api-docs/proxy/v1/agents' }, 200],
  ['the OpenAPI document', { path: '/openapi.json' }, 200],
  ['health', { path: '/health' }, 200],
  ['an unknown path', { path: '/v1/nothing' }, 404],
  ['the operator surface', { method: 'POST', path: '/v1/mcp/servers' }, 200],
];

describe('with CORS_ORIGINS', () => {
  it.each(answers)('%s is open to the pages of a named origin', async (_name, asked, status) => {
    for (const origin of [named, alsoNamed]) {
      const response = await ask(edge, { ...asked, origin });
      expect(response.status).toBe(status);
      const headers = corsHeaders(response);
      expect(headers).toMatchObject({ vary: 'Origin', 'access-control-allow-origin': origin });
      const exposed = headers['access-control-expose-headers']?.split(', ');
      expect(exposed).toEqual(
        expect.arrayContaining(['x-request-id', 'x-run-id', 'retry-after-ms', 'x-ratelimit-limit-tokens']),
      );
      expect(Object.keys(headers)).not.toContain('access-control-allow-credentials');
      await response.arrayBuffer();
    }
  });

  it.each(answers)('%s sends other origins only Vary: Origin', async (_name, asked, status) => {
    for (const origin of [undefined, stranger, 'null', named.toUpperCase(), `${named}:8443`, `${named}/`]) {
      const response = await ask(edge, { ...asked, origin });
      expect([response.status, corsHeaders(response)]).toEqual([status, { vary: 'Origin' }]);
      await response.arrayBuffer();
    }
  });

  it('keeps what else a response varies by', async () => {
    const path = '/v1/api-keys';
    const ofNamed = await ask(edge, { path, origin: named });
    expect(corsHeaders(ofNamed)).toMatchObject({
      vary: 'Origin, Accept',
      'access-control-allow-origin': named,
    });
    expect(corsHeaders(await ask(edge, { path }))).toEqual({ vary: 'Origin, Accept' });
    expect(corsHeaders(await ask(without, { path }))).toEqual({});
  });

  it.each(closed)('%s is closed to pages of other origins', async (_name, asked, status) => {
    const response = await ask(edge, { ...asked, origin: named });
    expect([response.status, corsHeaders(response)]).toEqual([status, {}]);
    await response.arrayBuffer();
  });

  it.each([
    ['/v1/chat/completions', 'POST', 'POST'],
    ['/v1/models', 'GET', 'GET, HEAD'],
    ['/v1/agents/a', 'PATCH', 'DELETE, GET, HEAD, PATCH'],
  ])('answers the preflight for %s', async (path, method, methods) => {
    // As OpenAI's SDK 6 sends it from a browser.
    const sdk = 'authorization,content-type,x-stainless-arch,x-stainless-lang,x-stainless-retry-count,x-evil';
    const response = await ask(edge, preflight(path, method, named, sdk));
    expect(response.status).toBe(204);
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const headers = corsHeaders(response);
    expect(headers).toMatchObject({
      vary: 'Origin',
      'access-control-allow-origin': named,
      'access-control-allow-methods': methods,
      'access-control-max-age': '7200',
    });
    const allowed = headers['access-control-allow-headers']?.split(', ');
    const needed = [...sdk.split(',').slice(0, -1), 'idempotency-key', 'x-service-user-id', 'x-session-id'];
    expect(allowed).toEqual(expect.arrayContaining(needed));
    expect(allowed).not.toContain('x-evil');
    expect(Object.keys(headers)).not.toContain('access-control-allow-credentials');
  });

  it('allows the headers of Anthropic’s and Google’s SDKs, and shows pages the headers of messages', async () => {
    const headers = [
      'anthropic-beta,anthropic-dangerous-direct-browser-access,anthropic-version,x-api-key',
      'x-goog-api-client,x-goog-api-key,x-stainless-helper-method',
    ].join(',');
    const response = await ask(edge, preflight('/v1/models', 'GET', named, headers));
    expect(response.headers.get('access-control-allow-headers')?.split(', ')).toEqual(
      expect.arrayContaining(headers.split(',')),
    );
    const answer = await ask(edge, {
      path: '/v1/models',
      origin: named,
      headers: { 'anthropic-version': 'x' },
    });
    await answer.arrayBuffer();
    expect(answer.headers.has('request-id')).toBe(true);
    expect(corsHeaders(answer)['access-control-expose-headers']?.split(', ')).toEqual(
      expect.arrayContaining(['request-id', 'anthropic-ratelimit-unified-reset']),
    );
  });

  it('needs no key for a preflight, since browsers send none', async () => {
    const { method, headers } = preflight('/v1/models', 'GET');
    const response = await fetch(`${edge.url}/v1/models`, {
      method: method ?? '',
      headers: { origin: named, ...headers },
    });
    expect(response.status).toBe(204);
  });

  it('measures a preflight under the route that it asks for', async () => {
    await ask(edge, preflight('/v1/traces/a', 'GET'));
    await eventually(async () =>
      expect(await edge.metrics()).toMatch(/_count\{.*route="traces.get",status="204".*\} 1\n/),
    );
  });

  it.each<[string, Asked, number]>([
    ['of another origin', preflight('/v1/models', 'GET', stranger), 405],
    ['for a method that the path lacks', preflight('/v1/models', 'DELETE'), 405],
    ['for an owner’s route', preflight('/internal/v1/owner/tenants', 'GET'), 405],
    ['for a public route', preflight('/health', 'GET'), 405],
    ['for the console', preflight('/api-docs', 'GET'), 405],
    ['for the relay', preflight('/api-docs/proxy/v1/agents', 'GET'), 405],
    ['for the operator surface', preflight('/v1/mcp/servers', 'POST'), 405],
    ['for no path', preflight('/v1/nothing', 'GET'), 404],
    ['that names no method', { method: 'OPTIONS', path: '/v1/models', origin: named }, 405],
  ])('refuses a preflight %s as any OPTIONS request', async (_name, asked, status) => {
    const response = await ask(edge, asked);
    expect([response.status, corsHeaders(response)]).toEqual([status, {}]);
  });
});

it.each([...answers.slice(0, 3), ['a preflight', preflight('/v1/models', 'GET'), 405] as const])(
  'sends no CORS headers without CORS_ORIGINS: %s',
  async (_name, asked, status) => {
    const response = await ask(without, { ...asked, origin: named });
    expect([response.status, corsHeaders(response)]).toEqual([status, {}]);
  },
);
