import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProviderSimulator } from './simulator.ts';
import type { ProviderSimulator } from './simulator.ts';
import { call, chatBody, contentIn, eventsIn, read, streamBody } from './test-client.ts';
import type { Seen } from './test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());

function unary(instructions: object): Promise<Seen> {
  return call(simulator, chatBody('one two three', { x_simulator: instructions }));
}

function stream(instructions: object, fields: object = {}): Promise<Seen> {
  return call(simulator, streamBody(instructions, fields));
}

/** Calls with a timeout, for responses that never end. */
async function left(body: object): Promise<unknown> {
  const failure = await call(simulator, body, { signal: AbortSignal.timeout(300) }).then(
    (seen) => seen.text,
    (error: unknown) => error,
  );
  return failure instanceof Error ? failure.name : failure;
}

describe('statuses', () => {
  it('answer an error with its retry-after, streamed or not', async () => {
    const fault = {
      status: 429,
      retry_after: 2,
      error: { message: 'slow down' },
      headers: { 'X-Limit': '1' },
    };
    for (const seen of [await unary(fault), await stream(fault)]) {
      expect(seen.status).toBe(429);
      expect(seen.headers).toMatchObject({
        'retry-after': '2',
        'x-limit': '1',
        'content-type': 'application/json',
      });
      expect(read(seen.text, 'error')).toEqual({
        message: 'slow down',
        type: 'requests',
        param: null,
        code: 'rate_limit_exceeded',
      });
    }
  });
});

describe('delays', () => {
  it('come before the headers, before the body and between chunks', async () => {
    const late = await stream({ delay_ms: 100 });
    expect(late.headersAfter).toBeGreaterThanOrEqual(95);

    const slowBody = await unary({ first_chunk_delay_ms: 150 });
    expect(slowBody.endAfter - slowBody.headersAfter).toBeGreaterThanOrEqual(120);

    const paced = await stream({ chunks: 10, chunk_delay_ms: 20 });
    expect(paced.endAfter).toBeGreaterThanOrEqual(195);
    expect(paced.reads.length).toBeGreaterThanOrEqual(10);
    expect(contentIn(paced.text)).toBe('w1 w2 w3 w4 w5 w6 w7 w8 w9 w10');
  });

  it('of the whole provider are an option', async () => {
    const slow = await startProviderSimulator({ latencyMs: 80 });
    const seen = await call(slow, chatBody('hi'));
    await slow.close();
    expect(seen.headersAfter).toBeGreaterThanOrEqual(75);
    expect(seen.complete).toBe(true);
  });
});

describe('a cut connection', () => {
  it('before the headers fails the request', async () => {
    await expect(unary({ cut: 'before_headers' })).rejects.toThrow('socket hang up');
    await expect(stream({ cut: 'before_headers' })).rejects.toThrow('socket hang up');
  });

  it('after the headers leaves an empty body', async () => {
    for (const seen of [await unary({ cut: 'after_headers' }), await stream({ cut: 'after_headers' })]) {
      expect([seen.status, seen.text, seen.complete]).toEqual([200, '', false]);
    }
  });

  it('mid-stream keeps what was sent', async () => {
    const { text, complete } = await stream({ cut: 'mid_stream', cut_after_chunks: 2, content: 'a b c d' });
    expect([contentIn(text), complete]).toEqual(['a b ', false]);
    expect(contentIn((await stream({ cut: 'mid_stream', content: 'a b c d e f' })).text)).toBe('a b c ');

    const half = await unary({ cut: 'mid_stream' });
    expect([half.text.startsWith('{"id":"chatcmpl-'), half.complete]).toEqual([true, false]);
    expect(half.text.length).toBeGreaterThan(100);
  });

  it('before [DONE] comes after the usage', async () => {
    const { text, complete } = await stream({ cut: 'before_done' });
    expect(complete).toBe(false);
    expect(read(eventsIn(text).at(-1) ?? '', 'choices')).toEqual([]);
    expect((await unary({ cut: 'before_done' })).complete).toBe(false);
  });
});

describe('a stream that stops', () => {
  it('in order but without [DONE] looks complete to HTTP', async () => {
    const whole = await stream({ end_without_done: true });
    expect([whole.complete, eventsIn(whole.text).includes('[DONE]')]).toEqual([true, false]);
    expect(whole.text).toContain('"total_tokens"');

    const early = await stream({ end_without_done: true, end_after_chunks: 1, content: 'a b c' });
    expect([early.complete, contentIn(early.text)]).toEqual([true, 'a ']);
    expect(early.text).not.toContain('"finish_reason":"stop"');
  });

  it('with an error event says why', async () => {
    const { text, complete } = await stream({
      error_event_after_chunks: 2,
      error: { code: 502 },
      content: 'a b c',
    });
    const events = eventsIn(text);
    expect([complete, contentIn(text), events.length]).toEqual([true, 'a b ', 4]);
    expect(read(events.at(-1) ?? '', 'error')).toMatchObject({ type: 'server_error', code: 502 });
  });

  it('or never starts holds the connection until the client leaves', async () => {
    for (const silent of ['before_headers', 'after_headers', 'mid_stream']) {
      for (const streamed of [true, false]) {
        const id = `${silent}-${streamed}`;
        const before = Date.now();
        await left(chatBody('hi', { stream: streamed, x_simulator: { id, silent } }));
        const record = await simulator.waitForRequest(
          (entry) => entry.id === id && entry.client_closed_at !== null,
        );
        expect((record.client_closed_at ?? 0) - before).toBeGreaterThanOrEqual(290);
        expect([record.finished_at, record.usage_delivered]).toEqual([null, false]);
        expect(record.chunks_sent > 0).toBe(streamed && silent === 'mid_stream');
      }
    }
  });
});

describe('malformed answers', () => {
  it('are 200 with broken JSON', async () => {
    const seen = await unary({ malformed: 'json' });
    expect([seen.status, seen.complete]).toEqual([200, true]);
    expect(() => read(seen.text)).toThrow(SyntaxError);
  });

  it('break one event or the stream format', async () => {
    const events = eventsIn((await stream({ malformed: 'json', content: 'a b' })).text);
    const broken = events.filter((data) => data !== '[DONE]' && !isJson(data));
    expect([broken.length, events.at(-1)]).toEqual([1, '[DONE]']);

    const { text } = await stream({ malformed: 'sse', content: 'a b' });
    expect(text).toContain('\n<html>');
    expect(contentIn(text)).toBe('a b');
  });

  it('carry the wrong content type', async () => {
    expect((await unary({ wrong_content_type: true })).headers['content-type']).toMatch(/^text\/plain/);
    expect((await stream({ wrong_content_type: true })).headers['content-type']).toMatch(/^text\/plain/);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
