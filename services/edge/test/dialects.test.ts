import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EdgeUnderTest, type Arrival } from './edge-under-test.ts';

let edge: EdgeUnderTest;
beforeAll(async () => {
  edge = await EdgeUnderTest.start();
});
afterAll(() => edge.stop());
beforeEach(() => void edge.arrivals.splice(0));

interface Got {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  const response = await fetch(edge.url + path, { method, headers });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
}

/** As `get`, with headers that come more than once, which `fetch` would join. */
async function getTwice(
  path: string,
  headers: Record<string, string | string[]>,
): Promise<{ status: number; body: unknown }> {
  const sent = request(edge.url + path, { headers }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await json(response) };
}

function arrived(): Arrival {
  const [arrival, ...others] = edge.arrivals.splice(0);
  if (arrival === undefined || others.length > 0) throw new Error('not one request arrived');
  return arrival;
}

const anthropic = { 'anthropic-version': '2023-06-01' };
const google = { 'x-goog-api-client': 'google-genai-sdk/3.3.0' };

it('headers that two dialects pass on arrive once', async () => {
  const authorization = `Bearer ${edge.key}`;
  await get('/v1/models', { authorization, 'openai-beta': 'responses=experimental' });
  expect(arrived().headers['openai-beta']).toBe('responses=experimental');
});

describe('keys', () => {
  it.each([
    ['messages', '/v1/models', anthropic, 'x-api-key'],
    ['gemini', '/v1/models', google, 'x-goog-api-key'],
    ['gemini', '/v1beta/models', {}, 'x-goog-api-key'],
  ])(
    'of %s at %s stand where its clients put them, or in Authorization',
    async (dialect, path, own, name) => {
      const authorization = `Bearer ${edge.key}`;
      for (const keys of [{ [name]: edge.key }, { authorization }, { [name]: edge.key, authorization }]) {
        expect(await get(path, { ...own, ...keys })).toMatchObject({ status: 200 });
        const { headers, url } = arrived();
        expect(url).toBe(path);
        expect(headers['x-gatehouse-dialect']).toBe(dialect);
        expect(JSON.stringify(headers)).not.toContain(edge.key);
      }
    },
  );

  it('in a query reach no service, on the way through the relay neither', async () => {
    for (const path of ['/v1/models', '/v1beta/models'])
      for (const name of ['key', '%6Bey', 'k%65%79'])
        for (const prefix of ['', '/api-docs/proxy']) {
          const query = `pageSize=2&${name}=${edge.key}&pageToken=a%26b`;
          expect(await get(`${prefix}${path}?${query}`)).toMatchObject({ status: 200 });
          const { url, headers } = arrived();
          expect(url).toBe(`${path}?pageSize=2&pageToken=a%26b`);
          expect(headers['x-gatehouse-dialect']).toBe('gemini');
        }
  });

  it('that differ are refused in the shape of the dialect, whether one of them is valid or none', async () => {
    for (const key of [edge.key, 'none']) {
      const two = { ...anthropic, 'x-api-key': key, authorization: 'Bearer other' };
      expect(await get('/v1/models', two)).toMatchObject({
        status: 400,
        body: { type: 'error', error: { details: { error_code: 'conflicting_credentials' } } },
      });
      expect(await get('/v1/models?key=other', { 'x-goog-api-key': key })).toMatchObject({
        status: 400,
        body: { error: { code: 400, details: [{ reason: 'CONFLICTING_CREDENTIALS' }, {}] } },
      });
    }
    expect(edge.arrivals).toEqual([]);
  });

  it.each([
    ['/v1/agents', 'authorization', {}, { error: { code: 'conflicting_credentials' } }],
    ['/api-docs/proxy/v1/agents', 'authorization', {}, { error: { code: 'conflicting_credentials' } }],
    ['/openai/models', 'api-key', {}, { error: { code: 'conflicting_credentials' } }],
    ['/v1/models', 'authorization', anthropic, { type: 'error', error: { type: 'invalid_request_error' } }],
    ['/v1/models', 'x-api-key', anthropic, { type: 'error', error: { type: 'invalid_request_error' } }],
    ['/v1beta/models', 'authorization', {}, { error: { code: 400, status: 'INVALID_ARGUMENT' } }],
    ['/v1beta/models', 'x-goog-api-key', {}, { error: { code: 400, status: 'INVALID_ARGUMENT' } }],
  ])('at %s in two headers %s are refused if they differ', async (path, name, others, error) => {
    const valueOf = (key: string): string => (name === 'authorization' ? `Bearer ${key}` : key);
    const send = (second: string): Promise<{ status: number; body: unknown }> =>
      getTwice(path, { ...others, [name]: [valueOf(edge.key), valueOf(second)] });
    expect(await send('other')).toMatchObject({ status: 400, body: error });
    expect(edge.arrivals).toEqual([]);
    expect(await send(edge.key)).toMatchObject({ status: 200 });
    arrived();
  });

  it('of other dialects open no other route', async () => {
    for (const name of ['x-api-key', 'x-goog-api-key'])
      expect((await get('/v1/agents', { [name]: edge.key })).status).toBe(401);
    expect((await get(`/v1/agents?key=${edge.key}`)).status).toBe(401);
    expect((await get('/v1/models', { 'x-api-key': edge.key })).status).toBe(401);
    expect((await get('/v1/models', { ...google, 'x-api-key': edge.key })).status).toBe(401);
    expect(edge.arrivals).toEqual([]);
  });
});

describe('the dialect', () => {
  it('is the edge’s to say: a client’s own header reaches no service', async () => {
    const headers = { authorization: `Bearer ${edge.key}`, 'x-gatehouse-dialect': 'gemini' };
    expect((await get('/v1/agents', headers)).status).toBe(200);
    expect(arrived().headers).not.toHaveProperty('x-gatehouse-dialect');
  });
});

describe('answers', () => {
  it('of messages name the request in a header of their own', async () => {
    const headers = { ...anthropic, 'x-api-key': edge.key, 'x-request-id': 'r-1' };
    for (const [path, status] of [
      ['/v1/models', 200],
      ['/v1/messages/none', 404],
      ['/api-docs/proxy/v1/messages/none', 404],
    ] as const) {
      const answer = await get(path, headers);
      expect(answer.status).toBe(status);
      expect([answer.headers.get('request-id'), answer.headers.get('x-request-id')]).toEqual(['r-1', 'r-1']);
    }
    const other = await get('/v1/models', { authorization: `Bearer ${edge.key}` });
    expect([other.status, other.headers.has('request-id')]).toEqual([200, false]);
  });
});

describe('errors', () => {
  it('have the shape of the dialect from the first check on', async () => {
    expect(await get('/v1/messages/none', { 'x-request-id': 'r-1' }, 'POST')).toMatchObject({
      status: 404,
      body: { type: 'error', error: { type: 'not_found_error' }, request_id: 'r-1' },
    });
    const noKey = await get('/v1/models', anthropic);
    expect(noKey).toMatchObject({ status: 401, body: { error: { type: 'authentication_error' } } });
    expect(noKey.headers.get('x-should-retry')).toBe('false');
    expect(await get('/v1/models', google)).toMatchObject({
      status: 401,
      body: { error: { code: 401, status: 'UNAUTHENTICATED' } },
    });
    expect(await get('/v1/models')).toMatchObject({
      status: 401,
      body: { error: { code: 'invalid_api_key' } },
    });
  });

  it('name the headers for a key where there is none', async () => {
    const messageOf = async (path: string, headers = {}) =>
      (Object((await get(path, headers)).body) as { error: { message: string } }).error.message;
    const wanted = 'The request has no API key. Send it as "Authorization: Bearer gwk_..."';
    expect(await messageOf('/v1/agents')).toBe(`${wanted}.`);
    expect(await messageOf('/v1/models', anthropic)).toBe(`${wanted} or "x-api-key: gwk_...".`);
    expect(await messageOf('/v1beta/models')).toBe(`${wanted} or "x-goog-api-key: gwk_...".`);
    expect(await messageOf('/v1/agents', { authorization: 'Bearer nothing' })).toMatch(/malformed/);
  });

  it('repeat the method and the path where there is no route, without the query', async () => {
    const messageOf = async (path: string, method: string) =>
      (Object((await get(path, {}, method)).body) as { error: { message: string } }).error.message;
    expect(await messageOf('/v1/agent?key=hush', 'POST')).toBe('There is no such endpoint: POST /v1/agent.');
    expect(await messageOf('/api-docs/proxy/v1/agent', 'GET')).toBe(
      'There is no such endpoint: GET /v1/agent.',
    );
    expect(await messageOf('/chat/completions?key=hush', 'POST')).toBe(
      "There is no such endpoint: POST /chat/completions. Did you mean /v1/chat/completions? Check the client's base URL.",
    );
    expect(await messageOf('/v1/v1/messages', 'POST')).toMatch(/ Did you mean \/v1\/messages\? /);
    const long = await messageOf(`/v1/${'x'.repeat(5_000)}`, 'GET');
    expect(long).toMatch(/^There is no such endpoint: GET \/v1\/x+\.\.\.\.$/);
    expect(long.length).toBeLessThan(250);
  });

  it('say 404 for an unknown method or resource of Google’s API, and 405 for one of HTTP', async () => {
    for (const [method, path] of [
      ['POST', '/v1beta/models/some:unknownMethod'],
      ['POST', '/v1/models/agent:some:unknownMethod'],
      ['GET', '/v1beta/cachedContents'],
      ['POST', '/v1/cachedContents'],
    ] as const)
      expect(await get(path, { 'x-goog-api-key': edge.key }, method)).toMatchObject({
        status: 404,
        body: { error: { code: 404, status: 'NOT_FOUND' } },
      });
    const put = await get('/v1beta/models', { 'x-goog-api-key': edge.key }, 'PUT');
    expect(put).toMatchObject({ status: 405, body: { error: { code: 405 } } });
    expect(put.headers.get('allow')).toBe('GET, HEAD');
    expect((await get('/v1/models/some', {}, 'DELETE')).body).toMatchObject({
      error: { code: 'method_not_allowed' },
    });
  });
});

it.each(['/v1beta/models/some:generateContent', '/v1/models/a%2Fb%3Ac%3AstreamGenerateContent?alt=sse'])(
  'content of Google’s API at %s reaches its service, without its key',
  async (path) => {
    const withKey = `${path}${path.includes('?') ? '&' : '?'}key=${edge.key}`;
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(edge.url + withKey, { method: 'POST', headers, body: '{}' });
    expect(response.status).toBe(200);
    const { url, headers: passed } = arrived();
    expect([url, passed['x-gatehouse-dialect']]).toEqual([path, 'gemini']);
  },
);

it('a stream of messages that its service breaks off ends with an error event', async () => {
  const broken = await EdgeUnderTest.start({}, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: some\ndata: {}\n\n');
    setTimeout(() => response.destroy(), 50);
  });
  const headers = { ...anthropic, 'x-api-key': broken.key };
  const text = await (await fetch(`${broken.url}/v1/models`, { headers })).text();
  await broken.stop();
  const [, data = ''] = /^event: some\ndata: \{\}\n\nevent: error\ndata: (.*)\n\n$/.exec(text) ?? [];
  expect(JSON.parse(data)).toMatchObject({
    type: 'error',
    error: { type: 'api_error', details: { error_code: 'bad_gateway' } },
  });
});
