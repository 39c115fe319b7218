import { once } from 'node:events';
import { IncomingMessage, request } from 'node:http';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { assertionHeader } from '@gatehouse/identity/verifier';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import type { EdgeUnderTest } from './edge-under-test.ts';
import { ask, mebibyte, sending, startEdge, stopAll, ways } from './proxy-fixture.ts';

/** How bodies go through the edge, whichever of its proxies they take. */

afterEach(async () => {
  jest.useRealTimers();
  await stopAll();
});

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

const oneMebibyte = Buffer.alloc(mebibyte, 'x');
const chunk = Buffer.concat([Buffer.from('100000\r\n'), oneMebibyte, Buffer.from('\r\n')]);

describe.each(ways)('$way', ({ path, bodyLimit, bodySizes }) => {
  it('a body in the packet of its headers is read without listeners once its key is known', async () => {
    const edge = await startEdge();
    await ask(edge, path);
    const on = jest.spyOn(IncomingMessage.prototype, 'on');
    const headers = { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json' };
    const [answer] = (await once(
      request(edge.url + path, { method: 'POST', headers: { ...headers, 'content-length': 7 } }).end(
        '{"b":2}',
      ),
      'response',
    )) as [IncomingMessage];
    // The edge's request has the key, and its service's has none.
    const read = on.mock.contexts.filter((_each, at) => String(on.mock.calls[at]?.[0]) === 'data');
    const atEdge = read.filter((each) =>
      (each as IncomingMessage).rawHeaders.includes(headers.authorization),
    );
    on.mockRestore();
    expect([answer.resume().statusCode, edge.arrivals.at(-1)?.body]).toEqual([200, '{"b":2}']);
    expect([read.length > 0, atEdge.length]).toEqual([true, 0]);
  });

  describe('a slow upload', () => {
    it('reaches its service with an assertion that was signed when it had arrived', async () => {
      const edge = await startEdge();
      const [size = 0] = bodySizes;
      const framing = `content-length: ${size}\r\nconnection: close\r\nexpect: 100-continue`;
      const { socket, answer } = sending(edge, path, framing);
      // From here on the edge reads the body.
      expect(String(await once(socket, 'data'))).toBe('HTTP/1.1 100 Continue\r\n\r\n');
      const arrivedAt = Date.now() + 5_000;
      setDate(arrivedAt);
      socket.write('x'.repeat(size));
      expect(await answer).toContain('\r\n\r\nHTTP/1.1 200 ');
      const assertion = String(edge.arrivals[0]?.headers[assertionHeader]);
      const claims = Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString();
      expect((JSON.parse(claims) as { iat: number }).iat).toBe(Math.floor(arrivedAt / 1_000));
    });

    it.each(bodySizes)(
      'that stops is answered with 408 and its connection closed: %i bytes',
      async (size) => {
        let broken = 0;
        const edge = await startEdge(
          {},
          (incoming, response) => {
            incoming.on('error', () => undefined).resume();
            response.on('close', () => (broken += 1));
          },
          { pace: { minBytesPerSecond: 1_000, windowMs: 600 } },
        );
        const { socket, answer } = sending(edge, path, size);
        socket.write('x'.repeat(size / 2));
        const text = await answer;
        expect(text).toMatch(/^HTTP\/1\.1 408 /);
        expect(text.toLowerCase()).toContain('\r\nconnection: close\r\n');
        expect(text).toContain('"type":"timeout_error","code":"request_timeout"');
        // A body that streams had reached the service.
        await eventually(() => expect(broken).toBe(size > 64 * 1024 ? 1 : 0));
      },
    );

    it('is not slow while the service doesn’t read', async () => {
      const arrived = Promise.withResolvers<number>();
      const edge = await startEdge(
        {},
        (incoming, response) => {
          let bytes = 0;
          setTimeout(() => incoming.on('data', (part: Buffer) => (bytes += part.length)), 1_000);
          incoming.on('end', () => {
            arrived.resolve(bytes);
            response.end('{}');
          });
        },
        { pace: { minBytesPerSecond: 1_000, windowMs: 300 } },
      );
      const length = bodyLimit - mebibyte / 2;
      const { socket } = sending(edge, path, length);
      socket.write(Buffer.alloc(length, 'x'));
      expect(await arrived.promise).toBe(length);
    });
  });

  describe('an answer that comes before the end of the body', () => {
    /** Sends every part, reads nothing before, and resolves to what came until the connection closed. */
    async function exchange(edge: EdgeUnderTest, framing: number | string, parts: readonly Buffer[]) {
      const { socket, answer } = sending(edge, path, framing);
      socket.pause();
      for (const part of parts) await new Promise((resolve) => socket.write(part, resolve));
      socket.resume();
      return answer;
    }

    function expectEarly(answer: string, status: number, code: string): void {
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer.toLowerCase()).toContain('\r\nconnection: close\r\n');
      expect(answer).toContain(`"code":"${code}"`);
    }

    // It reads as much as there is.
    const tooLarge = () => startEdge({}, (incoming) => void incoming.resume());
    const over = bodyLimit / mebibyte + 4;

    it('because it is too large by its length reaches a client that sends on', async () => {
      const parts = Array<Buffer>(over).fill(oneMebibyte);
      expectEarly(await exchange(await tooLarge(), over * mebibyte, parts), 413, 'payload_too_large');
    });

    it('because it is too large in chunks reaches a client that sends on', async () => {
      const parts = [...Array<Buffer>(over).fill(chunk), Buffer.from('0\r\n\r\n')];
      const answer = await exchange(await tooLarge(), 'transfer-encoding: chunked', parts);
      expectEarly(answer, 413, 'payload_too_large');
    });

    it('closes on a client that stops in the middle of its body', async () => {
      const answer = await exchange(await tooLarge(), over * mebibyte, [oneMebibyte]);
      expect(answer).toMatch(/^HTTP\/1.1 413 /);
    });

    it('because the service refuses it reaches a client that sends on', async () => {
      const edge = await startEdge({}, (_request, response) => {
        response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"code":"early"}}');
      });
      const count = Math.min(16, bodyLimit / mebibyte);
      // The service sees nothing of a gathered body before its end: the client has to ask for the close itself.
      const framing = `content-length: ${count * mebibyte}${count > 1 ? '' : '\r\nconnection: close'}`;
      expectEarly(await exchange(edge, framing, Array<Buffer>(count).fill(oneMebibyte)), 400, 'early');
    });
  });

  it('keeps a tenant’s bodies in flight within its share, until they are over', async () => {
    const edge = await startEdge({ BODY_BYTES_PER_TENANT: '100000' });
    const first = sending(edge, path, 60_000);
    first.socket.write('x'.repeat(55_000));
    await eventually(async () => expect(await edge.metrics()).toMatch(/^gatehouse_body_bytes\{.*\} 55000$/m));
    const attempt = (): Promise<Response> => ask(edge, path, { body: 'x'.repeat(50_000) });
    const refused = await attempt();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('retry-after-ms')).toBe('1000');
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    first.socket.destroy();
    await eventually(async () => expect((await attempt()).status).toBe(200));
  });

  it.each(['', '/api-docs/proxy'])('refuses an encoded body with 415: %s', async (prefix) => {
    const edge = await startEdge();
    const send = (encoding: string): Promise<Response> =>
      ask(edge, prefix + path, { headers: { 'content-encoding': encoding } });
    for (const encoding of ['gzip', 'BR', 'identity, deflate']) {
      const answer = await send(encoding);
      expect([answer.status, await answer.json()]).toMatchObject([
        415,
        { error: { code: 'unsupported_media_type', param: 'Content-Encoding' } },
      ]);
    }
    expect(edge.arrivals).toEqual([]);
    expect((await send('Identity')).status).toBe(200);
  });
});

it('refuses a body of more than a mebibyte by its length where a route takes none', async () => {
  const edge = await startEdge();
  const framing = `content-length: ${mebibyte + 1}\r\nexpect: 100-continue\r\nconnection: close`;
  const { answer } = sending(edge, '/v1/mcp/servers/x/refresh', framing);
  expect(await answer).toMatch(/^HTTP\/1.1 413 /);
});

it('keeps bodies without a key within 4 MiB of an address, apart from those of tenants', async () => {
  const edge = await startEdge();
  const path = `/v1/webhooks/llm?endpoint=${newId()}`;
  const uploads = Array.from({ length: 4 }, () => sending(edge, path, mebibyte));
  for (const { socket } of uploads) socket.write(Buffer.alloc(mebibyte - 10, 'x'));
  // Only announced, so that it takes nothing from the others while they still arrive.
  const answerToAnother = () =>
    Promise.race([once(sending(edge, path, mebibyte).socket, 'data'), sleep(300)]);
  await eventually(async () => expect(String(await answerToAnother())).toMatch(/^HTTP\/1.1 429 /));
  expect((await ask(edge, '/v1/agents')).status).toBe(200);
  for (const { socket } of uploads) socket.destroy();
  await eventually(async () => expect((await ask(edge, path)).status).toBe(200));
});

it('frees a body without a key once its service has it, however long the answer takes', async () => {
  let arrived = 0;
  const held = Promise.withResolvers<undefined>();
  const edge = await startEdge({}, (incoming, response) => {
    incoming.resume().once('end', () => {
      arrived += 1;
      void held.promise.then(() => response.end('{}'));
    });
  });
  const path = `/v1/webhooks/llm?endpoint=${newId()}`;
  const answers: Promise<Response>[] = [];
  for (let sent = 1; sent <= 6; sent += 1) {
    answers.push(ask(edge, path, { body: 'x'.repeat(mebibyte) }));
    await eventually(() => expect(arrived).toBe(sent));
  }
  held.resolve(undefined);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(6).fill(200));
});
