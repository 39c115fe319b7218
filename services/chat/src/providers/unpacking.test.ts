import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { collect, failureOf, ProviderFixture, streamCall, unaryCall } from '../../test/provider-fixture.ts';
import type { HttpAdapter } from './http-adapter.ts';

let fixture: ProviderFixture;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterEach(async () => fixture.reset());
afterAll(async () => fixture.stop());

type Encoding = string | string[] | undefined;

/** An adapter for a provider that answers with an encoding. `write` writes the body. */
async function answering(
  encoding: Encoding,
  write: (response: ServerResponse) => void,
): Promise<HttpAdapter> {
  const base_url = await fixture.serve((request, response) => {
    request.resume();
    if (encoding !== undefined) response.setHeader('content-encoding', encoding);
    write(response);
  });
  return fixture.adapter({ base_url });
}

const frame = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const whole = JSON.stringify({ choices: [{ index: 0, message: { content: 'Hé' }, finish_reason: 'stop' }] });
const stream = `${frame('H')}${frame('é')}data: [DONE]\n\n`;
const plain = (text: string): Buffer => Buffer.from(text);
/** Packed, and not at its end. */
const begun = (text: string): Buffer => gzipSync(text, { finishFlush: constants.Z_SYNC_FLUSH });

describe('an answer with an encoding', () => {
  it.each<[string, Encoding, (text: string) => Buffer]>([
    ['not one', undefined, plain],
    ['an empty one', '', plain],
    ['identity', 'identity', plain],
    ['one in capitals', 'GZIP', gzipSync],
    ['two in one line', 'gzip, br', (text) => brotliCompressSync(gzipSync(text))],
    ['two in two lines', ['deflate', 'zstd'], (text) => zstdCompressSync(deflateSync(text))],
    ['three', 'br, gzip, deflate', (text) => deflateSync(gzipSync(brotliCompressSync(text)))],
  ])('is read: %s', async (_name, encoding, pack) => {
    const unary = await answering(encoding, (response) => response.end(pack(whole)));
    expect((await unary.complete(unaryCall())).toString()).toBe(whole);
    const streaming = await answering(encoding, (response) => response.end(pack(stream)));
    const { bytes, end } = await collect(await streaming.stream(streamCall()));
    expect([bytes.toString(), end]).toEqual([stream, 'end']);
  });

  it('that comes byte by byte is read behind a hint, and its connection serves the next call', async () => {
    const ports = new Set<number | undefined>();
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      ports.add(request.socket.remotePort);
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(200, { 'content-encoding': 'gzip' });
      for (const byte of gzipSync(whole)) response.write(Buffer.of(byte));
      response.end();
    });
    const adapter = fixture.adapter({ base_url });
    for (let call = 0; call < 2; call += 1)
      expect((await adapter.complete(unaryCall())).toString()).toBe(whole);
    expect(ports.size).toBe(1);
  });

  it.each([
    ['without a body', (response: ServerResponse) => response.end(), 'invalid'],
    ['cut off', (response: ServerResponse) => response.end(begun(whole)), 'invalid'],
    ['unreadable', (response: ServerResponse) => response.end(Buffer.alloc(64, 0xff)), 'invalid'],
  ])('that is %s is a failure of the provider', async (_name, write, kind) => {
    const adapter = await answering('gzip', write);
    expect(await failureOf(adapter.complete(unaryCall()))).toMatchObject({ kind });
    expect(await failureOf(adapter.stream(streamCall()))).toMatchObject({ kind });
  });

  it('with more than one answer may have is a failure of the provider', async () => {
    const adapter = await answering('gzip,gzip,gzip,gzip,gzip,gzip', (response) => response.end('x'));
    expect(await failureOf(adapter.complete(unaryCall()))).toMatchObject({ kind: 'connection' });
    expect(await failureOf(adapter.stream(streamCall()))).toMatchObject({ kind: 'connection' });
  });

  it.each([
    ['unreadable', (response: ServerResponse) => response.end(Buffer.alloc(64, 0xff)), 'invalid'],
    ['over', (response: ServerResponse) => response.end(), 'invalid'],
    ['lost', (response: ServerResponse) => response.destroy(), 'connection'],
  ])('gives the frames before it is %s', async (_name, end, kind) => {
    const adapter = await answering('gzip', (response) => {
      response.write(begun(frame('H')));
      setTimeout(() => end(response), 30);
    });
    const { bytes, end: ended } = await collect(await adapter.stream(streamCall()));
    expect([bytes.toString(), ended]).toEqual([frame('H'), kind]);
  });

  it('waits for a slower consumer, and comes in order', async () => {
    const frames = Array.from({ length: 2_000 }, () => frame(randomBytes(512).toString('hex')));
    const adapter = await answering('gzip', (response) => response.end(gzipSync(frames.join(''))));
    const opened = await adapter.stream(streamCall());
    const taken: Buffer[] = [];
    let isReady = false;
    const ended = new Promise<string>((resolve) => {
      opened.consume({
        frames: (more) => taken.push(...more) > 0 && isReady,
        end: () => resolve('end'),
        fail: ({ kind }) => resolve(kind),
      });
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = taken.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(taken.length).toBe(before);
    expect(before).toBeLessThan(frames.length / 2);
    opened.resume();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(taken.length).toBeGreaterThan(before);
    expect(taken.length).toBeLessThan(frames.length);
    isReady = true;
    opened.resume();
    expect(await ended).toBe('end');
    expect(Buffer.concat(taken).toString()).toBe(frames.join(''));
  });

  it('waits for room as it is unpacked', async () => {
    const adapter = await answering('gzip', (response) => response.end(gzipSync(' '.repeat(3_000_000))));
    const budget = new AnswerBudget({ perTenant: 1_000_000, perProcess: 1_000_000 });
    let most = 0;
    const calls = Array.from({ length: 3 }, async () => {
      const room = budget.open('tenant');
      const hold = room.hold.bind(room);
      jest.spyOn(room, 'hold').mockImplementation((bytes) => {
        const isAdmitted = hold(bytes);
        most = Math.max(most, budget.bytes);
        return isAdmitted;
      });
      const { length } = await adapter.complete({ ...unaryCall(), room });
      room.close();
      return length;
    });
    expect(await Promise.all(calls)).toEqual([3_000_000, 3_000_000, 3_000_000]);
    // One answer and the first pieces of the others.
    expect(most).toBeLessThan(4_500_000);
    expect(budget.bytes).toBe(0);
  });

  it.each(['stream', 'complete'] as const)(
    'closes its connection when its client leaves: %s',
    async (method) => {
      const gone = new AbortController();
      const { promise: closed, resolve } = Promise.withResolvers<unknown>();
      const adapter = await answering('gzip', (response) => {
        response.write(begun(frame('H')));
        resolve(once(response, 'close'));
        setTimeout(() => gone.abort(), 50);
      });
      const call = { ...(method === 'stream' ? streamCall() : unaryCall()), signal: gone.signal };
      if (method === 'stream') expect((await collect(await adapter.stream(call))).end).toBe('aborted');
      else expect(await failureOf(adapter.complete(call))).toMatchObject({ kind: 'aborted' });
      await closed;
    },
  );

  it('is read where it is an error', async () => {
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      response.writeHead(429, { 'content-encoding': 'gzip, br', 'retry-after': '7' });
      response.end(brotliCompressSync(gzipSync('{"error":{"message":"slow","code":"rate"}}')));
    });
    expect(await failureOf(fixture.adapter({ base_url }).complete(unaryCall()))).toMatchObject({
      details: { status: 429, retryAfterMs: 7_000 },
    });
  });
});
