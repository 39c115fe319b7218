import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { AppError, type ErrorBody } from '@gatehouse/kit/errors';
import { testIdentity } from '@gatehouse/test/identity';
import { appParts } from '../test/app-parts.ts';
import { createApp, type RawHandler } from './app.ts';
import { HttpServer } from './server.ts';

let server: HttpServer;
let good: Record<string, string>;

const raw: RawHandler = async (_request, response, { route, principal, params }) => {
  response.end(`${route.id} for ${[principal.role, ...Object.values(params)].join(' ')}`);
};

beforeAll(async () => {
  const identity = await testIdentity();
  const ofChat = routes.filter(({ service }) => service === 'chat');
  const [passing, handled] = [true, false].map((is) =>
    ofChat.filter(({ passThrough }) => passThrough === is),
  );
  const app = createApp({
    service: 'chat',
    handlers: Object.fromEntries((handled ?? []).map(({ id }) => [id, () => Promise.resolve({ body: {} })])),
    rawHandlers: {
      ...Object.fromEntries((passing ?? []).map(({ id }) => [id, raw])),
      'embeddings.create': () => Promise.reject(new AppError('not_found', 'No.')),
    },
    ...(await appParts(identity)),
  });
  server = new HttpServer(app, { host: '127.0.0.1', port: 0, drainTimeoutMs: 100 });
  await server.start();
  good = { 'x-gatehouse-assertion': await identity.assertion() };
});
afterAll(() => server.stop());

async function post(path: string, headers: Record<string, string>, method = 'POST'): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers });
  const text = await response.text();
  return `${response.status} ${text.startsWith('{') ? (JSON.parse(text) as ErrorBody).error.code : text}`;
}

describe('a raw handler', () => {
  it('serves no administrative change, since it gets no dry_run', async () => {
    const parts = await appParts(await testIdentity());
    const ids = routes.filter(({ service }) => service === 'agent').map(({ id }) => id);
    const handlers = Object.fromEntries(
      ids.filter((id) => id !== 'agents.create').map((id) => [id, () => Promise.resolve({ body: {} })]),
    );
    const rawHandlers = { 'agents.create': raw };
    expect(() => createApp({ service: 'agent', handlers, rawHandlers, ...parts })).toThrow(
      /raw handlers for \[agents.create\]/,
    );
  });

  it('writes the answer itself, after the same checks of path, identity and query', async () => {
    expect(await post('/v1/chat/completions', good)).toBe('200 chat.completions for admin');
    expect(await post('/v1/chat/completions', {})).toBe('401 service_unauthenticated');
    const stream = '/v1beta/models/m:streamGenerateContent?alt=';
    expect(await post(`${stream}${'x'.repeat(257)}`, good)).toBe('400 invalid_value');
    expect(await post('/v1/chat/completions', good, 'GET')).toBe('405 method_not_allowed');
    expect(await post('/v1/embeddings', good)).toBe('404 not_found');
  });

  it.each([
    '/v1/chat/completions',
    '/v1/messages?beta=true',
    '/v1beta/models/m:streamGenerateContent?alt=sse',
    '/openai/deployments/m/chat/completions?api-version=v1',
  ])('gets %s past express', async (path) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', headers: good });
    expect(response.status).toBe(200);
    // The edge sets it.
    expect(response.headers.get('date')).toBeNull();
  });

  it.each([
    ['/v1beta/models/a%2Fb%3Ac%3AgenerateContent?alt=sse', '200 gemini.generateContent for admin a/b:c'],
    ['/v1/models/a/b:streamGenerateContent', '200 gemini.v1.streamGenerateContent for admin a/b'],
    ['/v1/models/a:other', '405 method_not_allowed'],
    ['/v1/models/%2e%2e/b:generateContent', '404 route_not_found'],
  ])('of a path that calls a method, %s, gets what stands before it: %s', async (path, expected) => {
    expect(await post(path, good)).toBe(expected);
    if (expected.startsWith('200')) expect(await post(path, {})).toBe('401 service_unauthenticated');
  });
});
