import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { assertionHeader } from '@gatehouse/identity/verifier';
import { eventually } from '@gatehouse/test/eventually';
import { EdgeUnderTest } from './edge-under-test.ts';

const running: EdgeUnderTest[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  jest.useRealTimers();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const edge of running.splice(0)) await edge.stop();
});

async function start(...options: Parameters<typeof EdgeUnderTest.start>): Promise<EdgeUnderTest> {
  const edge = await EdgeUnderTest.start(...options);
  running.push(edge);
  return edge;
}

interface Upload {
  socket: Socket;
  /** All that came back, once the connection is closed. */
  answer: Promise<string>;
}

function upload(edge: EdgeUnderTest, path: string, length: number, headers = ''): Upload {
  const socket = connect(edge.port, '127.0.0.1').setEncoding('latin1');
  sockets.push(socket);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${edge.key}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${headers}\r\n`,
  );
  let received = '';
  socket.on('data', (text: string) => (received += text)).on('error', () => undefined);
  return { socket, answer: once(socket, 'close').then(() => received) };
}

/** Moves the wall clock and leaves timers alone. */
function setDate(now: number): void {
  jest.useFakeTimers({
    now,
    doNotFake: [
      ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
      ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
    ],
  });
}

/** Small enough to be gathered on the short way, and too large for that. */
const [small, large] = [1_000, 200_000];
const ways = [
  { way: 'the general way', path: '/v1/agents', length: small },
  { way: 'the short way', path: '/v1/chat/completions', length: small },
  { way: 'the short way as a stream', path: '/v1/chat/completions', length: large },
];

describe('a slow upload', () => {
  it.each(ways.filter(({ length }) => length === small))(
    'reaches its service with an assertion that was signed when it had arrived: $way',
    async ({ path, length }) => {
      const edge = await start();
      const headers = 'connection: close\r\nexpect: 100-continue\r\n';
      const { socket, answer } = upload(edge, path, length, headers);
      // From here on the edge reads the body.
      expect(String(await once(socket, 'data'))).toBe('HTTP/1.1 100 Continue\r\n\r\n');
      const arrivedAt = Date.now() + 5_000;
      setDate(arrivedAt);
      socket.write('x'.repeat(length));
      expect(await answer).toContain('\r\n\r\nHTTP/1.1 200 ');
      const assertion = String(edge.arrivals[0]?.headers[assertionHeader]);
      const claims = Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString();
      expect((JSON.parse(claims) as { iat: number }).iat).toBe(Math.floor(arrivedAt / 1_000));
    },
  );

  it.each(ways)(
    'that stops is answered with 408 and its connection closed: $way',
    async ({ path, length }) => {
      let broken = 0;
      const edge = await start(
        {},
        (request, response) => {
          request.on('error', () => undefined).resume();
          response.on('close', () => (broken += 1));
        },
        { pace: { minBytesPerSecond: 1_000, windowMs: 600 } },
      );
      const { socket, answer } = upload(edge, path, length);
      socket.write('x'.repeat(length / 2));
      const text = await answer;
      expect(text).toMatch(/^HTTP\/1\.1 408 /);
      expect(text.toLowerCase()).toContain('\r\nconnection: close\r\n');
      expect(text).toContain('"type":"timeout_error","code":"request_timeout"');
      await eventually(() => expect(broken).toBe(length === large ? 1 : 0));
    },
  );

  it('time in which the service doesn’t read doesn’t count as slow', async () => {
    const arrived = Promise.withResolvers<number>();
    const edge = await start(
      {},
      (request, response) => {
        let bytes = 0;
        setTimeout(() => request.on('data', (chunk: Buffer) => (bytes += chunk.length)), 1_000);
        request.on('end', () => {
          arrived.resolve(bytes);
          response.end('{}');
        });
      },
      { pace: { minBytesPerSecond: 1_000, windowMs: 300 } },
    );
    const length = 19 * 1024 * 1024;
    const { socket } = upload(edge, '/v1/chat/completions', length);
    socket.write(Buffer.alloc(length, 'x'));
    expect(await arrived.promise).toBe(length);
  });
});

it('keeps a tenant’s bodies in flight within its share, until they are over', async () => {
  const edge = await start({ BODY_BYTES_PER_TENANT: '100000' });
  const first = upload(edge, '/v1/agents', 70_000);
  first.socket.write('x'.repeat(60_000));
  const attempt = (): Promise<Response> =>
    fetch(`${edge.url}/v1/agents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json' },
      body: 'x'.repeat(50_000),
    });
  const refused = await eventually(async () => {
    const answer = await attempt();
    expect(answer.status).toBe(429);
    return answer;
  });
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('retry-after-ms')).toBe('1000');
  expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  first.socket.destroy();
  await eventually(async () => expect((await attempt()).status).toBe(200));
});

it.each(['/v1/chat/completions', '/v1/agents', '/api-docs/proxy/v1/agents'])(
  'refuses an encoded body with 415: %s',
  async (path) => {
    const edge = await start();
    const send = (encoding: string): Promise<Response> =>
      fetch(edge.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${edge.key}`,
          'content-type': 'application/json',
          'content-encoding': encoding,
        },
        body: '{}',
      });
    for (const encoding of ['gzip', 'BR', 'identity, deflate']) {
      const answer = await send(encoding);
      expect([answer.status, await answer.json()]).toMatchObject([
        415,
        { error: { code: 'unsupported_media_type', param: 'Content-Encoding' } },
      ]);
    }
    expect(edge.arrivals).toEqual([]);
    expect((await send('Identity')).status).toBe(200);
  },
);

describe('a response that its client does not read', () => {
  it.each([
    ['the short way, a stream', '/v1/chat/completions', 'text/event-stream'],
    ['the short way', '/v1/chat/completions', 'application/json'],
    ['the general way', '/v1/agents', 'application/json'],
  ])('ends at both sides: %s', async (_name, path, type) => {
    const cancelled = Promise.withResolvers<undefined>();
    const edge = await start({ UNREAD_TIMEOUT_MS: '500' }, (request, response) => {
      request.resume();
      response.on('close', () => cancelled.resolve(undefined));
      response.writeHead(200, { 'content-type': type });
      endless(response);
    });
    const { socket } = upload(edge, path, 2);
    socket.write('{}');
    socket.pause();
    await cancelled.promise;
    // What had arrived before can still be read; then the connection ends.
    const closed = once(socket, 'close');
    socket.resume();
    await closed;
  });
});

function endless(response: ServerResponse): void {
  while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
  if (!response.destroyed) response.once('drain', () => endless(response));
}
