import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EdgeUnderTest } from './edge-under-test.ts';

const origin = 'https://app.example.com';

let edge: EdgeUnderTest;
beforeAll(async () => {
  edge = await EdgeUnderTest.start({ PUBLIC_URL: 'https://gateway.example.com', CORS_ORIGINS: origin });
});
afterAll(() => edge.stop());
beforeEach(() => void edge.arrivals.splice(0));

/** The headers by which a page of the gateway uses the session. */
const page = (): Record<string, string> => ({
  cookie: `theme=dark; __Host-gatehouse=${edge.session}`,
  'sec-fetch-site': 'same-origin',
  'x-gatehouse-page': '1',
});

async function send(path: string, headers: Record<string, string>, init: RequestInit = {}) {
  const response = await fetch(edge.url + path, { headers, ...init });
  const text = await response.text();
  const body = (text === '' ? {} : JSON.parse(text)) as { error?: { code: string } };
  return { status: response.status, code: body.error?.code, headers: response.headers };
}

describe('a session', () => {
  it.each([
    ['GET', '/v1/agents'],
    ['POST', '/v1/agents'],
    ['GET', '/v1/session'],
    ['GET', '/internal/v1/owner/tenants'],
  ])('is as good as its key for %s %s by a page of the gateway', async (method, path) => {
    const given = method === 'POST' ? { method, body: '{}' } : { method };
    expect(await send(path, { ...page(), 'content-type': 'application/json' }, given)).toMatchObject({
      status: 200,
    });
    const [arrival] = edge.arrivals;
    const [, claims = ''] = String(arrival?.headers['x-gatehouse-assertion']).split('.');
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      principal: {
        role: 'owner',
        sessionId: expect.any(String),
      },
    });
    expect(arrival?.headers).not.toHaveProperty('cookie');
    expect(JSON.stringify(arrival?.headers)).not.toContain(edge.session);
  });

  it('is what GET /v1/session needs: a key gets 401', async () => {
    const { status, code } = await send('/v1/session', { authorization: `Bearer ${edge.key}` });
    expect([status, code]).toEqual([401, 'invalid_session']);
    expect(await send('/v1/session', {})).toMatchObject({ status: 401, code: 'invalid_session' });
  });

  it('does not disturb requests with other cookies, and paths that take no session', async () => {
    const authorization = `Bearer ${edge.key}`;
    const other = { cookie: 'gatehouse=x; theme=dark', authorization };
    expect(await send('/v1/agents', other)).toMatchObject({ status: 200 });
    expect(await send('/v1beta/models', { cookie: page()['cookie'] ?? '', authorization })).toMatchObject({
      status: 200,
    });
    expect(await send('/v1beta/models', page())).toMatchObject({ status: 401 });
    expect(await send('/openapi.json', page())).toMatchObject({ status: 200 });
  });
});

/** Each attack: the change of the headers, and the answer. */
const attacks: Record<string, [headers: () => Record<string, string>, status: number, code: string]> = {
  'a request of another site': [() => ({ 'sec-fetch-site': 'cross-site' }), 403, 'cross_site_request'],
  'a request of another host of the site': [
    () => ({ 'sec-fetch-site': 'same-site' }),
    403,
    'cross_site_request',
  ],
  'a link that is opened by hand': [() => ({ 'sec-fetch-site': 'none' }), 403, 'cross_site_request'],
  'a browser that does not say its site': [() => ({ 'sec-fetch-site': '' }), 403, 'cross_site_request'],
  'a simple request, as a form sends it': [() => ({ 'x-gatehouse-page': '' }), 403, 'cross_site_request'],
  'a page of an origin that CORS allows': [
    () => ({ origin, 'sec-fetch-site': 'cross-site' }),
    403,
    'cross_site_request',
  ],
  'a key beside it': [() => ({ authorization: `Bearer ${edge.key}` }), 400, 'conflicting_credentials'],
  'another scheme beside it': [() => ({ authorization: 'Basic YTpi' }), 400, 'conflicting_credentials'],
  'a key beside it, without the header of pages': [
    () => ({ authorization: `Bearer ${edge.key}`, 'x-gatehouse-page': '' }),
    400,
    'conflicting_credentials',
  ],
  'two cookies of the name': [
    () => ({ cookie: `__Host-gatehouse=${edge.session}; __Host-gatehouse=${edge.session}` }),
    401,
    'invalid_session',
  ],
  'a cookie without the prefix': [() => ({ cookie: `gatehouse=${edge.session}` }), 401, 'invalid_api_key'],
  'a token that no session has': [
    () => ({ cookie: `__Host-gatehouse=${'a'.repeat(43)}` }),
    401,
    'invalid_session',
  ],
  'an empty cookie': [() => ({ cookie: '__Host-gatehouse=' }), 401, 'invalid_session'],
  'a long cookie': [() => ({ cookie: `__Host-gatehouse=${'a'.repeat(8_000)}` }), 401, 'invalid_session'],
  'a huge cookie': [
    () => ({ cookie: `__Host-gatehouse=${edge.session}; x=${'a'.repeat(20_000)}` }),
    431,
    'invalid_http',
  ],
};

describe.each(['/v1/agents', '/internal/v1/owner/api-keys'])('a change at %s', (path) => {
  it.each(Object.entries(attacks))('by %s has no effect', async (_name, [headers, status, code]) => {
    const given = { ...page(), 'content-type': 'application/json', ...headers() };
    const sent = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
    expect(await send(path, sent, { method: 'POST', body: '{}' })).toMatchObject({ status, code });
    expect(edge.arrivals).toEqual([]);
  });

  it('through the relay has no effect', async () => {
    const headers = { ...page(), 'content-type': 'application/json' };
    const { status } = await send(`/api-docs/proxy${path}`, headers, { method: 'POST', body: '{}' });
    expect(status).toBe(path.startsWith('/internal') ? 403 : 401);
    expect(edge.arrivals).toEqual([]);
  });
});

it('CORS allows neither the header of pages nor cookies', async () => {
  const preflight = await fetch(`${edge.url}/v1/agents`, {
    method: 'OPTIONS',
    headers: {
      ...{ origin, 'access-control-request-method': 'POST' },
      'access-control-request-headers': 'x-gatehouse-page',
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).not.toContain('x-gatehouse-page');
  expect(preflight.headers.has('access-control-allow-credentials')).toBe(false);
});
