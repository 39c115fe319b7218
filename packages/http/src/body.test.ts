import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { hasBody, isJson, parseJson, readBody } from './body.ts';

const limit = 1_000;
let incoming: (request: IncomingMessage) => void = () => undefined;
const server = createServer((request, response) => {
  incoming(request);
  response.on('error', () => undefined);
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A request as its raw bytes, as the server sees it. */
async function send(
  head: string,
  body: string | Buffer = '',
): Promise<{ socket: Socket; request: IncomingMessage }> {
  const arrived = new Promise<IncomingMessage>((resolve) => (incoming = resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n`);
  socket.write(body);
  return { socket, request: await arrived };
}

const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'read',
    (error: unknown) => (error instanceof AppError ? error.code : error),
  );

describe('a request body', () => {
  it.each([
    ['with its length', `content-length: ${limit}`, 'x'.repeat(limit), limit],
    ['in chunks', 'transfer-encoding: chunked', '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', 5],
    ['that is empty', 'content-length: 0', '', 0],
  ])('%s is read up to the limit', async (_name, head, body, length) => {
    const { request, socket } = await send(head, body);
    expect(await readBody(request, limit)).toHaveLength(length);
    socket.destroy();
  });

  it('past the limit is refused, announced or not, before it has all come', async () => {
    for (const [head, body] of [
      ['content-length: 5000', 'x'.repeat(limit + 1)],
      ['transfer-encoding: chunked', `3e9\r\n${'x'.repeat(1_001)}\r\n`],
    ] as const) {
      const { request, socket } = await send(head, body);
      expect(await code(readBody(request, limit))).toBe('payload_too_large');
      socket.destroy();
    }
  });

  it('that its client breaks off is told from a whole one', async () => {
    const { request, socket } = await send('content-length: 10', 'half');
    const reading = code(readBody(request, limit));
    socket.destroy();
    expect(await reading).toBe('client_closed_request');
  });

  it('whose client left before anybody began to read is not waited for', async () => {
    const { request, socket } = await send('content-length: 10', 'half');
    const closed = once(request, 'close').catch(() => undefined);
    socket.destroy();
    await closed;
    expect(await code(readBody(request, limit))).toBe('client_closed_request');
  });

  it('is announced by a length or an encoding', async () => {
    const seen: boolean[] = [];
    for (const head of ['content-length: 1', 'transfer-encoding: chunked', 'content-length: 0', 'x-a: b']) {
      const { request, socket } = await send(head);
      seen.push(hasBody(request));
      socket.destroy();
    }
    expect(seen).toEqual([true, true, false, false]);
  });
});

describe('JSON', () => {
  it.each([
    ['broken', '{"a":'],
    ['empty', ''],
    ['followed by something', '{} x'],
    ['with a trailing comma', '{"a":1,}'],
    ['with single quotes', "{'a':1}"],
    ['that is no number', 'NaN'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['cut inside a character', Buffer.from('"ü"').subarray(0, 2)],
    ['with an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16', Buffer.from('{}', 'utf16le')],
  ])('%s is refused', (_name, body) => {
    expect(() => parseJson(Buffer.from(body))).toThrow(expect.objectContaining({ code: 'invalid_json' }));
  });

  it('keeps escapes that are no characters, and may begin with a byte order mark', () => {
    expect(parseJson(Buffer.from('"\\ud800\\u0000\u2028"'))).toBe('\ud800\u0000\u2028');
    expect(parseJson(Buffer.from('\ufeff{"a":1}'))).toEqual({ a: 1 });
  });

  it.each([
    ['application/json', true],
    ['Application/JSON; charset=utf-8', true],
    [' application/json ;x=y', true],
    ['application/vnd.api+json', true],
    ['application/merge-patch+json', true],
    ['text/json', false],
    ['application/jsonp', false],
    ['application/json-seq', false],
    ['text/plain; application/json', false],
    ['', false],
    [undefined, false],
  ])('is what content type %s announces: %s', (type, expected) => {
    expect(isJson(type)).toBe(expected);
  });
});
