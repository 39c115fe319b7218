import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RouteMatcher } from '@gatehouse/contract/match';
import { relayId } from '@gatehouse/contract/console';
import { isClosedToRelay } from '@gatehouse/contract/operator-surface';
import { routes } from '@gatehouse/contract/routes';
import fc from 'fast-check';
import { EdgeUnderTest } from './edge-under-test.ts';
import { oddPath } from './odd-path.ts';
import { RawClient } from './raw-client.ts';

/** The relay as raw sockets see it, with a key that may do everything: only the relay's own rules are in the way. */

let edge: EdgeUnderTest;
let raw: RawClient;

beforeAll(async () => {
  edge = await EdgeUnderTest.start();
  raw = new RawClient(edge.port, { authorization: `Bearer ${edge.key}` });
  // A key that was checked keeps `/health` at 200 through any reconnect to the tenant service.
  await raw.request('GET', '/v1/whoami');
  edge.arrivals.splice(0);
});
afterEach(() => {
  edge.arrivals.splice(0);
});
afterAll(async () => {
  raw.close();
  await edge.stop();
});

const matcher = new RouteMatcher();
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

describe('thousands of odd targets', () => {
  const at = (prefix: string) => oddPath.map((path) => prefix + path);
  const target = fc.oneof(
    { weight: 20, arbitrary: at('/api-docs/proxy') },
    { weight: 1, arbitrary: at('http://gateway/api-docs/proxy') },
    { weight: 1, arbitrary: at('//api-docs/proxy') },
    { weight: 1, arbitrary: at('/api-docs/proxy/..') },
    { weight: 1, arbitrary: at('/api-docs/proxy/api-docs/proxy') },
    { weight: 1, arbitrary: at('/api-docs/proxy/http://127.0.0.1:9000') },
    { weight: 1, arbitrary: oddPath.map((path) => `/api-docs/proxy/v1/agents?next=${path}`) },
  );

  it('reach nothing under /internal and nothing on the operator surface', async () => {
    const requests = fc.sample(fc.tuple(fc.constantFrom(...methods), target), 10_000);
    const statuses = new Map<number, number>();
    const workers = Array.from({ length: 8 }, async (_, worker) => {
      const client = new RawClient(edge.port, { authorization: `Bearer ${edge.key}` });
      for (const [method, sent] of requests.filter((_request, index) => index % 8 === worker)) {
        const { status } = await client.request(method, sent);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (![200, 400, 403, 404, 405].includes(status)) throw new Error(`${status}: ${method} ${sent}`);
      }
      client.close();
    });
    await Promise.all(workers);
    const closed = edge.arrivals.filter(({ method, url }) => {
      const [path = ''] = url.split('?', 1);
      const match = matcher.match(method, path);
      return match.kind !== 'route' || isClosedToRelay(match.route.method, match.route.path);
    });
    expect(closed).toEqual([]);
    // Every kind of answer came: the relay was neither closed to everything nor unused.
    for (const status of [200, 400, 403, 404, 405]) expect(statuses.get(status)).toBeGreaterThan(30);
  });

  it('would reach both by the same key without the relay', async () => {
    expect(await raw.request('GET', '/internal/v1/owner/tenants')).toMatchObject({ status: 200 });
    expect(edge.arrivals).toMatchObject([{ url: '/internal/v1/owner/tenants' }]);
  });
});

describe('the relay', () => {
  it.each([
    ['GET', '/api-docs/proxy/internal/v1/owner/tenants', 403, 'relay_forbidden'],
    ['DELETE', '/api-docs/proxy/internal', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy/../internal/v1/owner/tenants', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy/../../internal/v1/owner/tenants', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy//internal/v1/owner/tenants', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy/%2finternal/v1/owner/tenants', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy/\\internal/v1', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy/internal#x', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy/%ef%bd%89nternal', 403, 'relay_forbidden'],
    // Node's parser takes ASCII only.
    ['GET', '/api-docs/proxy/\u00ef\u00bd\u0089nternal', 400, 'invalid_http'],
    ['POST', '/api-docs/proxy/v1/mcp/servers', 403, 'relay_forbidden'],
    ['OPTIONS', '/api-docs/proxy/v1/mcp/servers', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy/v1/tenant/resource-transfers/x', 403, 'relay_forbidden'],
    ['GET', '/api-docs/proxy/v1/../v1/agents', 400, 'relay_path_ambiguous'],
    ['GET', '/api-docs/proxy/%', 400, 'relay_path_ambiguous'],
    ['GET', '/api-docs/proxy/http://gateway/v1/agents', 400, 'relay_path_ambiguous'],
    ['GET', '/api-docs/proxy/nothing', 404, 'route_not_found'],
    ['GET', '/api-docs/proxy/', 404, 'route_not_found'],
    ['GET', '/api-docs/proxy', 404, 'route_not_found'],
    ['GET', '/api-docs/proxyv1/agents', 404, 'route_not_found'],
    ['GET', '/api-docs/proxy/api-docs', 404, 'route_not_found'],
    ['POST', '/api-docs/proxy/api-docs', 404, 'route_not_found'],
    ['GET', '/api-docs/proxy/api-docs/proxy/v1/agents', 404, 'route_not_found'],
    ['GET', '/api-docs/proxy/app', 404, 'route_not_found'],
    ['GET', '/api-docs/proxy/app/usage', 404, 'route_not_found'],
    ['GET', '/api-docs/proxy/v1%2Fagents', 404, 'route_not_found'],
    ['GET', '/API-DOCS/proxy/v1/agents', 404, 'route_not_found'],
    ['GET', '/api-docs/%70roxy/v1/agents', 404, 'route_not_found'],
    ['GET', '/api-docs//proxy/v1/agents', 404, 'route_not_found'],
    ['GET', 'http://gateway/api-docs/proxy/v1/agents', 404, 'route_not_found'],
    ['GET', 'http://[', 404, 'route_not_found'],
    ['OPTIONS', '*', 404, 'route_not_found'],
    ['DELETE', '/api-docs/proxy/v1/agents', 405, 'method_not_allowed'],
    ['PURGE', '/api-docs/proxy/v1/agents', 405, 'method_not_allowed'],
    ['GET', '/api-docs/proxy/v1/agents', 200, null],
    ['GET', '/api-docs/proxy/v1/models/agent%3Ademo', 200, null],
    ['GET', '/api-docs/proxy/health', 200, null],
  ])(
    'answers %s %s with %i %s, also without a key unless it is fine',
    async (method, target, status, code) => {
      expect(await raw.request(method, target)).toMatchObject({ status, code });
      const keyless = new RawClient(edge.port, {});
      const expected = status === 200 && !target.endsWith('/health') ? { status: 401 } : { status, code };
      expect(await keyless.request(method, target)).toMatchObject(expected);
      keyless.close();
    },
  );

  it('reaches every other route by its own path, with the query as it was sent', async () => {
    // The key is one of an owner, to whom routes for admins and for keys of tenants are closed, as are those for sessions to
    // all keys.
    const open = routes.filter(
      ({ id, service, method, path, access }) =>
        id !== relayId &&
        service !== 'edge' &&
        !['admin', 'session'].includes(access.kind) &&
        !('ofTenant' in access) &&
        !isClosedToRelay(method, path),
    );
    for (const { method, path } of open) {
      const url = `${path.replaceAll(/\{\w+\}/g, 'a%3Ab').replaceAll(/\{\w+\+\}/g, 'a/b%2Fc')}?x=%2e%2e/internal&y`;
      expect(await raw.request(method, `/api-docs/proxy${url}`)).toEqual(
        expect.objectContaining({ status: 200 }),
      );
      expect(edge.arrivals.splice(0)).toMatchObject([{ method, url }]);
    }
  });

  it('hands on the key, the content and its type, what is accepted and the idempotency key, and nothing else', async () => {
    const response = await fetch(`${edge.url}/api-docs/proxy/v1/agents`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${edge.key}`,
        accept: 'application/json',
        'content-type': 'application/json',
        'idempotency-key': 'once',
        'x-gatehouse-client-ip': '127.0.0.1',
        cookie: 'session=1',
        'x-service-user-id': 'ann',
        'x-session-id': 's-1',
        'x-request-id': 'r-1',
        'x-webhook-endpoint': 'e-1',
        'x-gatehouse-assertion': 'forged',
        'x-forwarded-for': '10.0.0.1',
        tracestate: 'a=b',
        'user-agent': 'browser',
        referer: 'http://gateway/api-docs',
      },
      body: '{"key":"a","model":"small"}',
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-request-id')).toBe('r-1');
    const [arrival] = edge.arrivals;
    expect(arrival?.body).toBe('{"key":"a","model":"small"}');
    const { 'x-gatehouse-assertion': assertion, ...headers } = arrival?.headers ?? {};
    expect(assertion).not.toBe('forged');
    expect(headers).toEqual({
      accept: 'application/json',
      'content-type': 'application/json',
      'idempotency-key': 'once',
      'content-length': '27',
      'x-gatehouse-client-ip': '127.0.0.1',
      'x-request-id': 'r-1',
      traceparent: expect.any(String),
      host: expect.any(String),
      connection: expect.any(String),
    });
  });

  it('hands on as little to what the edge itself answers', async () => {
    const url = `${edge.url}/api-docs/proxy/openapi.json`;
    const etag = (await fetch(url)).headers.get('etag') ?? '';
    expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(200);
  });

  it.each(['Basic dXNlcjpwYXNz', 'Token abc', 'DPoP abc', ''])(
    'drops the key of scheme "%s"',
    async (value) => {
      const client = new RawClient(edge.port, { authorization: value });
      expect(await client.request('GET', '/api-docs/proxy/v1/agents')).toEqual(
        expect.objectContaining({ status: 401, code: 'invalid_api_key' }),
      );
      client.close();
    },
  );

  it('minds no acting user, not even one that would be refused', async () => {
    const headers = { authorization: `Bearer ${edge.key}`, 'x-service-user-id': '' };
    const client = new RawClient(edge.port, headers);
    expect((await client.request('GET', '/v1/agents')).status).toBe(400);
    expect((await client.request('GET', '/api-docs/proxy/v1/agents')).status).toBe(200);
    client.close();
  });

  it('holds bodies to the limits and types of the route they are for', async () => {
    const post = async (path: string, body: string, type = 'application/json'): Promise<number> => {
      const headers = { authorization: `Bearer ${edge.key}`, 'content-type': type };
      return (await fetch(`${edge.url}/api-docs/proxy${path}`, { method: 'POST', headers, body })).status;
    };
    const big = JSON.stringify('x'.repeat(1_100_000));
    expect(await post('/v1/agents', big)).toBe(413);
    expect(await post('/v1/chat/completions', big)).toBe(200);
    expect(await post('/v1/agents', '{}', 'text/plain')).toBe(415);
  });

  it('answers with the headers of a direct request', async () => {
    for (const path of ['/v1/agents', '/nothing', '/v1/chat/completions']) {
      const headers = { authorization: `Bearer ${edge.key}`, 'x-request-id': 'r-1' };
      const of = async (prefix: string): Promise<unknown> => {
        const response = await fetch(edge.url + prefix + path, { headers });
        const { date: _date, ...rest } = Object.fromEntries(response.headers);
        return { status: response.status, ...rest };
      };
      expect(await of('/api-docs/proxy')).toEqual(await of(''));
    }
  });
});
