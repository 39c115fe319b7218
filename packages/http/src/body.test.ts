import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { eventually } from '@gatehouse/test/eventually';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { checkBodyHeaders, hasBody, isJson, maxJsonValues, parseBody, parseJson, readBody } from './body.ts';

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

/** The request with these raw bytes, as the server receives it. */
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

  it('past the limit is refused, announced or not, whether all of it has come or not', async () => {
    for (const [head, body] of [
      ['content-length: 5000', 'x'.repeat(limit + 1)],
      [`content-length: ${limit + 1}`, 'x'.repeat(limit + 1)],
      ['transfer-encoding: chunked', `3e9\r\n${'x'.repeat(1_001)}\r\n`],
    ] as const) {
      const { request, socket } = await send(head, body);
      expect(await code(readBody(request, limit))).toBe('payload_too_large');
      socket.destroy();
    }
  });

  it('that came with its headers is read without listeners, and the connection stays', async () => {
    const arrived = new Promise<IncomingMessage>((resolve) => (incoming = resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nwhole`);
    const request = await arrived;
    const ended = once(request, 'end');
    const reading = readBody(request, limit);
    expect(String(await reading)).toBe('whole');
    expect([request.complete, request.listenerCount('data')]).toEqual([true, 0]);
    await ended;
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it('that came with its headers is there for a caller within their event', async () => {
    const read = new Promise<{ body: Buffer; listeners: number }>((resolve, reject) => {
      incoming = (request) => {
        let listeners = 0;
        request.on('newListener', (name) => (listeners += name === 'data' ? 1 : 0));
        readBody(request, limit).then((body) => resolve({ body, listeners }), reject);
      };
    });
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nwhole`);
    const { body, listeners } = await read;
    expect([String(body), listeners]).toEqual(['whole', 0]);
    socket.destroy();
  });

  it('that its client breaks off is not taken for a whole one', async () => {
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

  it.each([
    ['stops', () => undefined],
    ['drips', (socket: Socket) => void setInterval(() => socket.write('x'), 20).unref()],
  ])('that %s is refused after its window, and what it was charged is returned', async (_name, goOn) => {
    const budget = new BodyBudget({ perTenant: limit, perProcess: limit });
    const { request, socket } = await send('content-length: 900', 'x'.repeat(100));
    goOn(socket);
    const share = budget.open('a', 900);
    const began = performance.now();
    const reading = readBody(request, limit, { share, minBytesPerSecond: 500, windowMs: 480 });
    await eventually(() => expect(budget.inUse.bytes).toBeGreaterThanOrEqual(100));
    expect(await code(reading)).toBe('request_timeout');
    expect(performance.now() - began).toBeGreaterThan(400);
    expect(budget.inUse.bytes).toBe(0);
    socket.destroy();
  });

  it('that pauses for less than its window is read', async () => {
    // Longer than a tick (40 ms), shorter than the window.
    const pauseMs = 300;
    const { request, socket } = await send('content-length: 900', 'x'.repeat(450));
    const reading = readBody(request, limit, { minBytesPerSecond: 500, windowMs: 480 });
    await sleep(pauseMs);
    socket.write('x'.repeat(450));
    expect(await reading).toHaveLength(900);
    socket.destroy();
  });

  it('charges its share as it arrives, and keeps it charged until its owner releases it', async () => {
    const budget = new BodyBudget({ perTenant: 100, perProcess: 100 });
    const { request, socket } = await send('transfer-encoding: chunked', '3c\r\n' + 'x'.repeat(60) + '\r\n');
    const share = budget.open('a', null);
    const reading = readBody(request, limit, { share });
    await eventually(() => expect(budget.inUse.bytes).toBe(60));
    const second = await send('transfer-encoding: chunked', '29\r\n' + 'x'.repeat(41) + '\r\n');
    const secondShare = budget.open('a', null);
    expect(await code(readBody(second.request, limit, { share: secondShare }))).toBe('rate_limit_exceeded');
    socket.write('0\r\n\r\n');
    expect(await reading).toHaveLength(60);
    expect(budget.inUse.bytes).toBe(60);
    share.release();
    expect(budget.inUse.bytes).toBe(0);
    for (const each of [socket, second.socket]) each.destroy();
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

describe('the headers of a body', () => {
  const json = 'content-type: application/json\r\ncontent-length: 2';
  it.each([
    ['are accepted', json, null],
    ['may say identity', `${json}\r\ncontent-encoding: Identity`, null],
    ['may not say gzip', `${json}\r\ncontent-encoding: gzip`, 'unsupported_media_type'],
    ['may not list encodings', `${json}\r\ncontent-encoding: identity, br`, 'unsupported_media_type'],
    ['may not say text', 'content-type: text/plain\r\ncontent-length: 2', 'unsupported_media_type'],
    ['may not be too long', `content-length: ${limit + 1}`, 'payload_too_large'],
    ['do not matter where there is no body', 'content-encoding: gzip', null],
  ])('%s', async (_name, head, expected) => {
    const { request, socket } = await send(head, '{}');
    const check = (): void => checkBodyHeaders(request, { bodyLimit: limit });
    if (expected === null) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ code: expected }));
    socket.destroy();
  });

  it('an error about Content-Encoding names that header', async () => {
    const { request, socket } = await send(`${json}\r\ncontent-encoding: zstd`, '{}');
    expect(() => checkBodyHeaders(request, { bodyLimit: limit })).toThrow(
      expect.objectContaining({ param: 'Content-Encoding', status: 415 }),
    );
    socket.destroy();
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

it('a body of too many values is refused before it is parsed', () => {
  const many = (values: number): Buffer => Buffer.from(`[${'[],'.repeat(values / 2)}[]]`);
  expect(() => parseJson(many(maxJsonValues + 2))).toThrow(
    expect.objectContaining({ code: 'payload_too_large' }),
  );
  expect(() => parseJson(Buffer.from('['.repeat(201) + ']'.repeat(201)))).toThrow(
    expect.objectContaining({ code: 'invalid_json', message: expect.stringContaining('levels deep') }),
  );
  expect(() => parseJson(Buffer.from('['.repeat(200) + ']'.repeat(200)))).not.toThrow();
  expect(parseJson(many(maxJsonValues - 2))).toHaveLength(maxJsonValues / 2);
  const text = Buffer.from(JSON.stringify({ content: '[],{"\\'.repeat(300_000) }));
  expect(parseJson(text)).toHaveProperty('content');
});

it('a body is scanned no further than to what it has too much of', async () => {
  // All of it would be refused for its values.
  const body = Buffer.from(`[${' '.repeat(5 * 1024 * 1024)}${'[],'.repeat(maxJsonValues)}1]`);
  const refused = expect.objectContaining({
    code: 'payload_too_large',
    message: expect.stringContaining('bytes outside the texts'),
  });
  expect(() => parseJson(body)).toThrow(refused);
  await expect(parseBody(body, null)).rejects.toEqual(refused);
});
