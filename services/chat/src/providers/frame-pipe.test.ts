import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { ProviderFixture, streamCall } from '../../test/provider-fixture.ts';
import type { FrameSink } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { FrameConsumer, ProviderStream } from './adapter.ts';
import { FramePipe } from './frame-pipe.ts';

let fixture: ProviderFixture;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterEach(async () => fixture.reset());
afterAll(async () => fixture.stop());

/** Keeps what it is given, as fast as it comes. */
class Sink implements FrameSink {
  readonly frames: Buffer[] = [];

  write(frames: readonly Buffer[]): boolean {
    this.frames.push(...frames);
    return true;
  }

  onDrain(): void {
    // It never falls behind.
  }

  get text(): string {
    return Buffer.concat(this.frames).toString();
  }
}

async function open(x_simulator: object): Promise<FramePipe> {
  const source = await fixture.adapter().stream(streamCall(x_simulator));
  const stream = new FramePipe('acme', source, dialects.chat.streamReader(1));
  await stream.open();
  return stream;
}

/** The text that passes from the simulator to a sink, and the outcome. */
async function passed(x_simulator: object): Promise<{ text: string; stream: FramePipe; outcome: unknown }> {
  const stream = await open(x_simulator);
  const sink = new Sink();
  const outcome = await stream.passTo(sink).then(
    () => 'complete',
    (error: unknown) => error,
  );
  return { text: sink.text, stream, outcome };
}

describe('a streamed answer', () => {
  it('passes the provider’s frames on, without the usage chunk and the end', async () => {
    const { text, stream, outcome } = await passed({ content: 'one two', crlf: true });
    expect(text).toContain('\r\n\r\n');
    expect(text).not.toContain('[DONE]');
    expect(text).not.toContain('"choices":[]');
    expect(stream.reader).toMatchObject({
      answer: { beginning: 'one two' },
      complete: true,
      usage: { outputTokens: 2 },
    });
    expect(outcome).toBe('complete');
  });

  it('keeps the usage chunk for a client that asked', async () => {
    const { stream, text } = await passed({});
    expect(text).not.toContain('"choices":[]');
    expect(String(stream.reader.endFrames(noUsage)[0])).toContain('"choices":[]');
    expect(stream.reader.endFrames(null).map(String)).toEqual(['data: [DONE]\n\n']);
  });

  it.each([
    ['cut', { cut: 'mid_stream', cut_after_chunks: 3, chunks: 8, chunk_delay_ms: 5 }, 'cut'],
    ['ended without its finish', { end_without_done: true, end_after_chunks: 3, chunks: 8 }, 'cut'],
    ['with an error inside', { error_event_after_chunks: 3, chunks: 8 }, 'cut'],
    ['with a broken chunk', { malformed: 'json' }, 'invalid'],
  ])('%s is a failure after what came before it', async (_name, fault, kind) => {
    const { outcome, text } = await passed(fault);
    expect(outcome).toMatchObject({ kind });
    expect(text).toContain('"delta"');
    expect(text).not.toContain('"error"');
  });

  it.each([
    ['an error', 'data: {"error":{"message":"overloaded"}}\n\n', 'status'],
    ['an error after pings', 'data: {"type":"ping"}\n\ndata: {"error":"x"}\n\n', 'status'],
    ['an event that is an error', ': wait\n\nevent: error\ndata: died\n\n', 'status'],
    ['[DONE]', 'data: [DONE]\n\n', 'invalid'],
    ['a chunk without choices, and [DONE]', 'data: {"choices":[]}\n\ndata: [DONE]\n\n', 'invalid'],
    ['pings and its end', 'data: {"type":"ping"}\n\n', 'cut'],
    ['no JSON', 'data: {"choices"\n\n', 'invalid'],
    ['nothing but its end', 'data: \n\n', 'cut'],
  ])(
    'is not open when it begins with %s, so that another call can take its place',
    async (_name, body, kind) => {
      const baseUrl = await fixture.serve((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
      });
      const source = await fixture.adapter({ base_url: baseUrl }).stream(streamCall());
      await expect(new FramePipe('acme', source, dialects.chat.streamReader(1)).open()).rejects.toMatchObject(
        {
          kind,
        },
      );
    },
  );

  it('keeps chunks before its first choice for the client, and leaves out data that are no chunks', async () => {
    const azure = 'data: {"id":"","choices":[],"prompt_filter_results":[]}\n\n';
    const first = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';
    const ping = 'data: {"type":"ping"}\n\n';
    const baseUrl = await fixture.serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${ping}${azure.repeat(3)}${first}${ping}${first}data: [DONE]\n\n`);
    });
    const source = await fixture.adapter({ base_url: baseUrl }).stream(streamCall());
    const stream = new FramePipe('acme', source, dialects.chat.streamReader(1));
    await stream.open();
    const sink = new Sink();
    await stream.passTo(sink);
    expect(sink.text).toBe(azure.repeat(3) + first + first);
  });

  it('keeps no more of them than fit', async () => {
    const padded = `data: {"choices":[],"padding":"${'x'.repeat(1_000)}"}\n\n`;
    const first = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';
    const baseUrl = await fixture.serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${padded.repeat(1_000)}${first}data: [DONE]\n\n`);
    });
    const source = await fixture.adapter({ base_url: baseUrl }).stream(streamCall());
    const stream = new FramePipe('acme', source, dialects.chat.streamReader(1));
    await stream.open();
    const sink = new Sink();
    await stream.passTo(sink);
    expect(sink.text.length).toBeLessThan(70_000);
    expect(sink.text.endsWith(first)).toBe(true);
  });

  it('keeps its first chunk when the provider begins with a byte order mark', async () => {
    const chunks = ['first', 'second'].map(
      (content) => `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`,
    );
    const baseUrl = await fixture.serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`\ufeff${chunks.join('')}data: [DONE]\n\n`);
    });
    const source = await fixture.adapter({ base_url: baseUrl }).stream(streamCall());
    const stream = new FramePipe('acme', source, dialects.chat.streamReader(1));
    await stream.open();
    const sink = new Sink();
    await stream.passTo(sink);
    expect(sink.text).toBe(chunks.join(''));
  });

  it.each([
    ['keeps its connection for the next call when the provider ends it soon after [DONE]', 100, 1],
    ['loses its connection when the provider goes on after [DONE]', null, 2],
  ])('%s', async (_name, endsAfterMs, connections) => {
    const sockets = new Set<Socket>();
    const closes: Promise<unknown>[] = [];
    const baseUrl = await fixture.serve((request, response) => {
      sockets.add(request.socket);
      closes.push(once(response, 'close'));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n');
      const sending = setInterval(() => response.write(': more\n\n'), 20);
      response.on('close', () => clearInterval(sending));
      if (endsAfterMs !== null) setTimeout(() => response.end(), endsAfterMs);
    });
    const adapter = fixture.adapter({ base_url: baseUrl });
    for (const _call of [1, 2]) {
      const stream = new FramePipe('acme', await adapter.stream(streamCall()), dialects.chat.streamReader(1));
      await stream.open();
      const sink = new Sink();
      await stream.passTo(sink);
      await closes.at(-1);
      // Past the time after which a connection that goes on is closed.
      await sleep(endsAfterMs === null ? 0 : 1_200);
      expect(sink.text).not.toContain('more');
    }
    expect(sockets.size).toBe(connections);
  });

  it('that only lacks [DONE] is whole', async () => {
    expect((await passed({ end_without_done: true })).outcome).toBe('complete');
  });

  it('that cannot be parsed is closed', async () => {
    const id = newId();
    const { outcome } = await passed({ id, malformed: 'json', chunks: 400, chunk_delay_ms: 5 });
    expect(outcome).toMatchObject({ kind: 'invalid' });
    const seen = await fixture.simulator.waitForRequest(
      (request) => request.id === id && (request.client_closed_at ?? request.finished_at) !== null,
    );
    expect(seen.client_closed_at).not.toBeNull();
  });

  it('drops what comes before its first chunk, and passes such frames on after it', async () => {
    const [comment, chunk] = [
      Buffer.from(': wait\n\n'),
      Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'),
    ];
    let consumer: FrameConsumer | null = null;
    const source: ProviderStream = {
      consume: (given) => void (consumer = given),
      pause: () => undefined,
      resume: () => undefined,
      cancel: () => undefined,
    };
    const stream = new FramePipe('acme', source, dialects.chat.streamReader(1));
    const opened = stream.open();
    const feed = (...frames: Buffer[]) => consumer?.frames(frames);
    feed(comment, comment);
    feed(comment, chunk, comment);
    await opened;
    const sink = new Sink();
    void stream.passTo(sink);
    expect(sink.text).toBe(`${String(chunk)}${String(comment)}`);
  });

  it('waits for a sink that is behind, also with the frames that came before there was one', async () => {
    const stream = await open({ chunks: 40, chunk_delay_ms: 2 });
    const frames: Buffer[] = [];
    let drained: () => void = () => undefined;
    let isBehind = true;
    const complete = stream.passTo({
      write: (more) => {
        frames.push(...more);
        return !isBehind;
      },
      onDrain: (listener) => {
        drained = listener;
      },
    });
    expect(frames.length).toBeGreaterThan(0);
    const early = frames.length;
    await new Promise((resolve) => setTimeout(resolve, 150));
    // One more may have been on its way to the parser.
    expect(frames.length).toBeLessThanOrEqual(early + 1);
    isBehind = false;
    drained();
    await complete;
    expect(frames.length).toBeGreaterThanOrEqual(40);
  });
});
