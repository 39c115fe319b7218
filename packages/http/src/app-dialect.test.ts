import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { Verifier } from '@gatehouse/identity/verifier';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { httpDuration, Registry } from '@gatehouse/kit/metrics';
import { testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { createApp, type Handler } from './app.ts';
import { HttpServer } from './server.ts';

let identity: TestIdentity;
let server: HttpServer;
let answer: Handler;

beforeAll(async () => {
  identity = await testIdentity();
  const app = createApp({
    service: 'analytics',
    handlers: Object.fromEntries(
      routes.filter(({ service }) => service === 'analytics').map(({ id }) => [id, (call) => answer(call)]),
    ),
    verifier: await Verifier.create(identity.publicKeys),
    log: createLogger('test', 'silent'),
    duration: httpDuration(new Registry()),
  });
  server = new HttpServer(app, { host: '127.0.0.1', port: 0, drainTimeoutMs: 100 });
  await server.start();
});
afterAll(async () => server.stop());

async function asking(dialect: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}/v1/usage/summary`, {
    headers: { 'x-gatehouse-assertion': await identity.assertion(), 'x-gatehouse-dialect': dialect },
  });
}

function failing(error: AppError): Handler {
  return () => Promise.reject(error);
}

describe('the dialect of a client', () => {
  it('is that of the header of the edge, for the handler too', async () => {
    answer = ({ dialect }) => Promise.resolve({ body: { dialect } });
    for (const [header, dialect] of [
      ['messages', 'messages'],
      ['gemini', 'gemini'],
      ['other', 'chat'],
      ['toString', 'chat'],
    ] as const)
      expect(await (await asking(header)).json()).toEqual({ dialect });
  });

  it('decides the shape of errors', async () => {
    answer = failing(new AppError('not_found', 'No.'));
    const ofMessages = await asking('messages');
    expect(await ofMessages.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
    expect(ofMessages.headers.get('request-id')).toBe(ofMessages.headers.get('x-request-id'));
    expect(await (await asking('gemini')).json()).toMatchObject({
      error: { code: 404, status: 'NOT_FOUND' },
    });
    expect(await (await asking('other')).json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it('decides whether its clients retry, whatever the error says', async () => {
    const headers = { 'retry-after': '5', 'x-should-retry': 'true' };
    answer = failing(new AppError('insufficient_quota', 'Spent.', { headers }));
    const { headers: got } = await asking('messages');
    expect([got.get('x-should-retry'), got.get('retry-after')]).toEqual(['false', '5']);
    expect((await asking('gemini')).headers.get('x-should-retry')).toBe('true');
  });
});
