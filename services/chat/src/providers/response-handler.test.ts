import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { newId } from '@gatehouse/kit/ids';
import { collect, failureOf, ProviderFixture, streamCall, unaryCall } from '../../test/provider-fixture.ts';

let fixture: ProviderFixture;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterEach(async () => fixture.reset());
afterAll(async () => fixture.stop());

describe('a provider that takes its time', () => {
  it('is given up without headers after timeout_ms, and in silence after idle_timeout_ms', async () => {
    const began = performance.now();
    const adapter = fixture.adapter({ timeout_ms: 200, idle_timeout_ms: 200 });
    expect(await failureOf(adapter.complete(unaryCall({ silent: 'before_headers' })))).toMatchObject({
      kind: 'timeout',
    });
    expect(await failureOf(adapter.stream(streamCall({ silent: 'before_headers' })))).toMatchObject({
      kind: 'timeout',
    });
    expect(await failureOf(adapter.stream(streamCall({ silent: 'after_headers' })))).toMatchObject({
      kind: 'timeout',
    });
    expect(
      await collect(await adapter.stream(streamCall({ silent: 'mid_stream', chunks: 4 }))),
    ).toMatchObject({
      end: 'timeout',
    });
    expect(performance.now() - began).toBeLessThan(8_000);
  });

  it('may take longer in sum, as long as it says something', async () => {
    const adapter = fixture.adapter({ timeout_ms: 1_500, idle_timeout_ms: 1_500 });
    expect(
      await collect(await adapter.stream(streamCall({ chunks: 12, chunk_delay_ms: 150 }))),
    ).toMatchObject({
      end: 'end',
    });
  });
});

describe('a provider’s refusal', () => {
  it.each<[string, Record<string, string>, string, object]>([
    [
      'OpenAI’s',
      {},
      '{"error":{"message":"m","type":"t","param":"p","code":"c"}}',
      { message: 'm', param: 'p', code: 'c' },
    ],
    [
      'without param and code',
      {},
      '{"error":{"message":"m","param":null,"code":400}}',
      { message: 'm', param: undefined, code: undefined },
    ],
    ['a bare message', {}, '{"message":"m"}', { message: 'm' }],
    ['an error that is text', {}, '{"error":"m"}', { message: 'm' }],
    ['FastAPI’s', {}, '{"detail":"m"}', { message: 'm' }],
    ['FastAPI’s list', {}, '{"detail":[{"msg":"m"}]}', { message: 'm' }],
    ['a page', { 'content-type': 'text/html' }, '<h1>Bad gateway</h1>', { message: undefined }],
    ['empty', {}, '', { message: undefined }],
    ['null', {}, 'null', { message: undefined }],
    ['null inside', {}, '{"error":null}', { message: undefined }],
    ['a number', {}, '7', { message: undefined }],
    ['a list', {}, '[]', { message: undefined }],
    ['with a time to wait', { 'retry-after': '7' }, '{}', { retryAfterMs: 7_000 }],
    [
      'with milliseconds to wait',
      { 'retry-after': '7', 'retry-after-ms': '120' },
      '{}',
      { retryAfterMs: 120 },
    ],
    [
      'endless words',
      {},
      JSON.stringify({
        error: { message: 'x'.repeat(5_000), code: 'y'.repeat(500), param: 'z'.repeat(500) },
      }),
      { message: 'x'.repeat(2_000), code: 'y'.repeat(100), param: 'z'.repeat(200) },
    ],
  ])('in the shape of %s is read', async (_name, headers, text, expected) => {
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      response.writeHead(400, headers).end(text);
    });
    const adapter = fixture.adapter({ base_url });
    for (const method of ['complete', 'stream'] as const) {
      const failure = await failureOf(adapter[method](streamCall()));
      expect(failure).toMatchObject({ kind: 'status', retryable: false });
      expect({ message: undefined, ...failure.details }).toMatchObject({ status: 400, ...expected });
    }
  });

  it('does not count as accepted', async () => {
    let accepted = 0;
    const refused = streamCall({ status: 500 }, { onHeaders: () => (accepted += 1) });
    expect(await failureOf(fixture.adapter().stream(refused))).toMatchObject({
      kind: 'status',
      blame: 'tenant',
    });
    expect(await failureOf(fixture.adapter({}, 'wrong').complete(unaryCall()))).toMatchObject({
      details: { status: 401 },
    });
    expect(accepted).toBe(0);
  });

  it('is read for 64 KiB and no longer, and its connection closed', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      closed = once(response, 'close');
      response.writeHead(503, { 'content-type': 'application/json' });
      const more = setInterval(() => response.write(Buffer.alloc(16 * 1024, ' ')), 1);
      response.on('close', () => clearInterval(more));
    });
    expect(await failureOf(fixture.adapter({ base_url }).complete(streamCall()))).toMatchObject({
      details: { status: 503 },
    });
    await closed;
  });

  it('that breaks off, or falls silent, is a refusal all the same', async () => {
    for (const after of ['cut', 'silent']) {
      const base_url = await fixture.serve((request, response) => {
        request.resume();
        response.writeHead(429, { 'retry-after': '3', 'content-length': '1000' }).write('{"error":');
        if (after === 'cut') setTimeout(() => response.destroy(), 20);
      });
      const failure = await failureOf(
        fixture.adapter({ base_url, idle_timeout_ms: 100 }).complete(streamCall()),
      );
      expect(failure.details).toMatchObject({ status: 429, retryAfterMs: 3_000 });
    }
  });
});

describe('a client that leaves', () => {
  it.each([
    ['before the headers', { silent: 'before_headers' }],
    ['before the first frame', { silent: 'after_headers' }],
  ])('%s closes the provider’s connection at once', async (_name, fault) => {
    for (const method of ['stream', 'complete'] as const) {
      const id = newId();
      const gone = new AbortController();
      const asked = {
        ...(method === 'stream' ? streamCall({ id, ...fault }) : unaryCall({ id, ...fault })),
        signal: gone.signal,
      };
      const work = failureOf(fixture.adapter()[method](asked));
      await fixture.simulator.waitForRequest((request) => request.id === id);
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(await fixture.closedAfter(id, () => gone.abort())).toBeLessThan(1_000);
      const failure = await work;
      expect(failure).toMatchObject({ kind: 'aborted', retryable: false, fallbackHelps: false });
      expect(failure.details.isUnsent).toBeUndefined();
    }
  });

  it('in the middle of a stream closes the provider’s connection at once', async () => {
    const id = newId();
    const gone = new AbortController();
    const stream = await fixture
      .adapter()
      .stream(streamCall({ id, chunks: 500, chunk_delay_ms: 10 }, { signal: gone.signal }));
    const collected = collect(stream);
    expect(await fixture.closedAfter(id, () => gone.abort())).toBeLessThan(1_000);
    expect((await collected).end).toBe('aborted');
  });

  it('before the call means no call', async () => {
    const asked = streamCall({}, { signal: AbortSignal.abort() });
    const unsent = { kind: 'aborted', details: { isUnsent: true } };
    expect(await failureOf(fixture.adapter().stream(asked))).toMatchObject(unsent);
    expect(await failureOf(fixture.adapter().complete(asked))).toMatchObject(unsent);
    expect(fixture.simulator.requests).toEqual([]);
  });

  it.each(['stream', 'complete'] as const)(
    'while %s waits for a connection sends nothing',
    async (method) => {
      // A handshake of TLS gets no answer there.
      const silent = createServer().listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const connected = once(silent, 'connection');
      const adapter = fixture.adapter({
        base_url: `https://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`,
      });
      const gone = new AbortController();
      const failed = failureOf(adapter[method]({ ...unaryCall(), signal: gone.signal }));
      const [socket] = (await connected) as [Socket];
      gone.abort();
      expect(await failed).toMatchObject({ kind: 'aborted', details: { isUnsent: true } });
      socket.destroy();
      silent.close();
    },
  );

  it('after the answer changes nothing', async () => {
    const gone = new AbortController();
    const adapter = fixture.adapter();
    await adapter.complete({ ...unaryCall(), signal: gone.signal });
    const { end } = await collect(await adapter.stream(streamCall({}, { signal: gone.signal })));
    gone.abort();
    expect(end).toBe('end');
  });

  it('is what cancelling a stream looks like to the provider', async () => {
    const id = newId();
    const stream = await fixture.adapter().stream(streamCall({ id, chunks: 500, chunk_delay_ms: 10 }));
    void collect(stream);
    expect(await fixture.closedAfter(id, () => stream.cancel())).toBeLessThan(1_000);
  });
});
