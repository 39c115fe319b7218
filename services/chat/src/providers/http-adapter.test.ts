import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { freePort } from '@gatehouse/local/ports';
import {
  collect,
  failureOf,
  providerKey,
  ProviderFixture,
  streamCall,
  unaryCall,
  type Collected,
} from '../../test/provider-fixture.ts';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { Pieces } from '@gatehouse/dialects/wire/pieces';

let fixture: ProviderFixture;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterEach(async () => fixture.reset());
afterAll(async () => fixture.stop());

const streamed = async (x_simulator: object): Promise<Collected> =>
  collect(await fixture.adapter().stream(streamCall(x_simulator)));

describe('a provider’s whole answer', () => {
  it('comes back byte for byte, for a request that went out byte for byte', async () => {
    const exact = Buffer.from('{ "choices" : [1.0, 12345678901234567890,"\\ud800"] }\n');
    let received = Buffer.alloc(0);
    let headers: Record<string, unknown> = {};
    const base_url = await fixture.serve((request, response) => {
      headers = { ...request.headers, url: request.url, method: request.method };
      void request.toArray().then((chunks) => {
        received = Buffer.concat(chunks as Buffer[]);
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(exact.subarray(0, 20));
        setTimeout(() => response.end(exact.subarray(20)), 20);
      });
    });
    const body = Buffer.from('{"seed":-9223372036854775808123, "a":1.0}');
    const trace = continueTrace(undefined);
    let accepted = 0;
    const answer = await fixture
      .adapter({ base_url })
      .complete(streamCall({}, { body: Pieces.from(body), trace, onHeaders: () => (accepted += 1) }));
    expect([answer, received, accepted]).toEqual([exact, body, 1]);
    expect(headers).toMatchObject({
      url: '/v1/chat/completions',
      method: 'POST',
      authorization: `Bearer ${providerKey}`,
      'content-type': 'application/json',
      'content-length': String(body.length),
      traceparent: `00-${trace.traceId}-${trace.spanId}-${trace.flags}`,
    });
  });

  it('goes without credentials to a server that wants none, and to the right path', async () => {
    const seen: unknown[] = [];
    const base_url = await fixture.serve((request, response) => {
      seen.push([request.url, request.headers.authorization]);
      request.resume();
      response.end('{}');
    });
    const adapter = fixture.adapter({ base_url: base_url.replace('/v1', '') }, null);
    await adapter.complete(streamCall({}, { operation: 'embeddings' }));
    await adapter.complete(streamCall());
    expect(seen).toEqual([
      ['/embeddings', undefined],
      ['/chat/completions', undefined],
    ]);
  });

  it('that is cut, or never comes, is a failure of that kind', async () => {
    const adapter = fixture.adapter();
    for (const cut of ['before_headers', 'after_headers', 'before_done'] as const) {
      expect(await failureOf(adapter.complete(unaryCall({ cut })))).toMatchObject({
        kind: 'connection',
        provider: 'acme',
      });
    }
    const gone = fixture.adapter({ base_url: `http://127.0.0.1:${await freePort()}/v1` });
    expect(await failureOf(gone.complete(unaryCall()))).toMatchObject({
      kind: 'unreachable',
      retryable: true,
    });
    const unknown = fixture.adapter({ base_url: 'http://no-such-host.invalid/v1' });
    expect(await failureOf(unknown.complete(unaryCall()))).toMatchObject({ kind: 'unreachable' });
  });
});

describe('a stream', () => {
  it('is open at its first frame, not at its headers', async () => {
    const events: string[] = [];
    const opening = fixture
      .adapter()
      .stream(streamCall({ first_chunk_delay_ms: 300 }, { onHeaders: () => events.push('headers') }));
    void opening.then(() => events.push('open'));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(events).toEqual(['headers']);
    await collect(await opening);
    expect(events).toEqual(['headers', 'open']);
  });

  it('is not open at a comment: another call can take its place until data comes', async () => {
    const comment = ': working on it\n\n';
    let cutOff = true;
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(comment.repeat(3));
      if (cutOff) setImmediate(() => response.destroy());
      else response.end(`${comment}data: {"choices":[]}\n\n${comment}data: [DONE]\n\n`);
    });
    const adapter = fixture.adapter({ base_url });
    expect(await failureOf(adapter.stream(streamCall()))).toMatchObject({ kind: 'connection' });
    cutOff = false;
    const { bytes } = await collect(await adapter.stream(streamCall()));
    expect(bytes.toString()).toBe(`data: {"choices":[]}\n\n${comment}data: [DONE]\n\n`);
  });

  it.each([
    ['as it is', {}],
    ['in one write', { one_write: true }],
    ['with CRLF', { crlf: true }],
    ['with comments', { comments: true }],
    ['cut inside characters', { split_utf8: true }],
  ])('comes byte for byte %s', async (_name, fault) => {
    const content = 'größe 你好 🎉 end';
    const { bytes, data, end } = await streamed({ content, ...fault });
    expect([end, data.at(-1)]).toEqual(['end', '[DONE]']);
    const deltas = data
      .filter((text) => text?.startsWith('{'))
      .map((text) => JSON.parse(text ?? '') as { choices: { delta?: { content?: string } }[] });
    expect(deltas.map((chunk) => chunk.choices[0]?.delta?.content ?? '').join('')).toBe(content);
    expect(bytes.toString('utf8')).not.toContain('\ufffd');
    if ('crlf' in fault) expect(bytes.toString()).toContain('\r\n\r\n');
    if ('comments' in fault) expect(bytes.toString()).toMatch(/^:/m);
  });

  it('may hold a huge frame', async () => {
    const { data, end } = await streamed({ huge_chunk_bytes: 3_000_000 });
    expect(end).toBe('end');
    expect(Math.max(...data.map((text) => text?.length ?? 0))).toBeGreaterThan(3_000_000);
  });

  it('is refused when it is no event stream, or ends before it began', async () => {
    const page = await fixture.serve((request, response) => {
      request.resume();
      response.end('<html>');
    });
    expect(await failureOf(fixture.adapter({ base_url: page }).stream(streamCall()))).toMatchObject({
      kind: 'invalid',
    });
    expect(await failureOf(fixture.adapter().stream(streamCall({ cut: 'before_headers' })))).toMatchObject({
      kind: 'connection',
    });
    expect(await failureOf(fixture.adapter().stream(streamCall({ cut: 'after_headers' })))).toMatchObject({
      kind: 'connection',
    });
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
    });
    expect(await failureOf(fixture.adapter({ base_url }).stream(streamCall()))).toMatchObject({
      kind: 'connection',
    });
  });

  it('that breaks off gives what came, and then says so', async () => {
    const { data, end } = await streamed({
      cut: 'mid_stream',
      cut_after_chunks: 3,
      chunks: 8,
      chunk_delay_ms: 5,
    });
    expect(end).toBe('connection');
    expect(data.length).toBeGreaterThanOrEqual(3);
    expect(data).not.toContain('[DONE]');
  });

  it('whose last frame has no blank line is given whole', async () => {
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      response
        .writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
        .end('data: 1\n\ndata: [DONE]');
    });
    const { data, end } = await collect(await fixture.adapter({ base_url }).stream(streamCall()));
    expect([data, end]).toEqual([['1', '[DONE]'], 'end']);
  });

  it('keeps what comes before anybody takes it, and how it ended', async () => {
    for (const [fault, expected] of [
      [{}, 'end'],
      [{ cut: 'mid_stream', cut_after_chunks: 2, chunks: 4 }, 'connection'],
    ] as const) {
      const stream = await fixture.adapter().stream(streamCall(fault));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const { data, end } = await collect(stream);
      expect(end).toBe(expected);
      expect(data.length).toBeGreaterThanOrEqual(2);
    }
  });

  it('waits for a slower consumer until it resumes', async () => {
    const stream = await fixture.adapter().stream(streamCall({ chunks: 20, chunk_delay_ms: 5 }));
    let taken = 0;
    let ready = false;
    const ended = new Promise<void>((resolve) => {
      stream.consume({
        frames: (frames) => {
          taken += frames.length;
          return ready;
        },
        end: resolve,
        fail: () => resolve(),
      });
    });
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(taken).toBeLessThan(20);
    ready = true;
    stream.resume();
    await ended;
    expect(taken).toBeGreaterThanOrEqual(20);
  });
});

it('an adapter that closes ends what is under way', async () => {
  const adapter = fixture.adapter();
  const work = failureOf(adapter.complete(unaryCall({ silent: 'before_headers' })));
  await fixture.simulator.waitForRequest(() => true);
  await adapter.close();
  expect(await work).toMatchObject({ kind: 'connection' });
});

describe('answers that are large', () => {
  it('wait for one another past the memory that they may have, and all arrive', async () => {
    const budget = new AnswerBudget({ perTenant: 1_000_000, perProcess: 1_000_000 });
    const adapter = fixture.adapter();
    let most = 0;
    const sizes = await Promise.all(
      ['unary', 'stream', 'unary', 'stream'].map(async (kind) => {
        const room = budget.open('tenant');
        const hold = room.hold.bind(room);
        jest.spyOn(room, 'hold').mockImplementation((bytes) => {
          const admitted = hold(bytes);
          most = Math.max(most, budget.bytes);
          return admitted;
        });
        const fault = { huge_chunk_bytes: 3_000_000 };
        const size =
          kind === 'unary'
            ? (await adapter.complete({ ...unaryCall(fault), room })).length
            : (await collect(await adapter.stream({ ...streamCall(fault), room }))).bytes.length;
        room.close();
        return size;
      }),
    );
    expect(Math.min(...sizes)).toBeGreaterThan(3_000_000);
    // One answer and the first pieces of the others; without the budget, twelve million.
    expect(most).toBeLessThan(6_000_000);
    expect(budget.bytes).toBe(0);
  });
});

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const streamText = `${chunk({ role: 'assistant', content: 'Hé' })}${chunk({}, 'stop')}data: [DONE]\n\n`;
const wholeText = JSON.stringify({
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hé' }, finish_reason: 'stop' }],
});

/** The model's texts in a whole answer and in a stream, when a provider answers with these bytes to both. */
async function saidIn(answer: Buffer, headers: Record<string, string>): Promise<string[]> {
  const base_url = await fixture.serve((request, response) => {
    request.resume();
    response.writeHead(200, headers);
    for (const byte of answer.subarray(0, 40)) response.write(Buffer.of(byte));
    response.end(answer.subarray(40));
  });
  const adapter = fixture.adapter({ base_url });
  const { choices } = JSON.parse((await adapter.complete(unaryCall())).toString()) as {
    choices: { message: { content: string } }[];
  };
  const { data, end } = await collect(await adapter.stream(streamCall()));
  const deltas = data
    .filter((text) => text !== null && text !== '[DONE]')
    .map((text) => JSON.parse(text ?? '') as { choices: { delta: { content?: string } }[] });
  const streamedText = deltas.map(({ choices: [choice] }) => choice?.delta.content ?? '').join('');
  return [choices[0]?.message.content ?? '', streamedText, end];
}

describe('an answer is read by what it is', () => {
  it.each([
    ['a whole one', wholeText, 'application/json'],
    ['a whole one that is called a stream', wholeText, 'text/event-stream'],
    ['a whole one with a byte order mark and no type', `\ufeff \n${wholeText}`, undefined],
    ['a stream', streamText, 'text/event-stream'],
    ['a stream that is called JSON', streamText, 'application/json'],
    ['a stream with a byte order mark and no type', `\ufeff${streamText}`, undefined],
    ['a stream that begins with a comment', `: wait\n\n${streamText}`, 'text/plain'],
  ])('%s', async (_what, text, type) => {
    const headers = type === undefined ? {} : { 'content-type': type };
    expect(await saidIn(Buffer.from(text), headers as Record<string, string>)).toEqual(['Hé', 'Hé', 'end']);
  });

  const packers = {
    gzip: gzipSync,
    'x-gzip': gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
  };
  it.each(Object.entries(packers))(
    'packed with %s, though only identity was accepted',
    async (encoding, pack) => {
      for (const [text, type] of [
        [wholeText, 'application/json'],
        [streamText, 'text/event-stream'],
      ] as const) {
        const headers = { 'content-type': type, 'content-encoding': encoding };
        expect(await saidIn(pack(Buffer.from(text)), headers)).toEqual(['Hé', 'Hé', 'end']);
      }
    },
  );

  it('frame by frame, as a packed stream comes', async () => {
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      expect(request.headers['accept-encoding']).toBe('identity');
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(response);
      gzip.write(chunk({ content: 'first' }));
      gzip.flush();
      // The rest never comes.
    });
    const stream = await fixture.adapter({ base_url }).stream(streamCall());
    const first = await new Promise<string>((resolve) =>
      stream.consume({
        frames: ([frame]) => {
          resolve(String(frame));
          return true;
        },
        end: () => undefined,
        fail: () => undefined,
      }),
    );
    expect(first).toContain('first');
    stream.cancel();
  });

  it('and is a failure where it unpacks to more than an answer may have, or to nothing', async () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024, ' '));
    for (const [body, kind] of [
      [bomb, 'invalid'],
      [Buffer.from('no gzip'), 'invalid'],
    ] as const) {
      const base_url = await fixture.serve((request, response) => {
        request.resume();
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(body);
      });
      const adapter = fixture.adapter({ base_url });
      expect(await failureOf(adapter.complete(unaryCall()))).toMatchObject({ kind });
      expect(await failureOf(adapter.stream(streamCall()))).toMatchObject({ kind });
    }
  });

  it('also where it is an error', async () => {
    const base_url = await fixture.serve((request, response) => {
      request.resume();
      response.writeHead(400, { 'content-encoding': 'gzip' });
      response.end(gzipSync('{"error":{"message":"too long"}}'));
    });
    expect(await failureOf(fixture.adapter({ base_url }).complete(unaryCall()))).toMatchObject({
      details: { status: 400, message: 'too long' },
    });
  });
});
