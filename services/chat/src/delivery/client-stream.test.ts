import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { Catalogue, type Provider } from '../catalogue/catalogue.ts';
import { StreamReader } from '../openai/stream-reader.ts';
import { AnswerBudget } from '../providers/answer-budget.ts';
import { OpenAiAdapter } from '../providers/openai-adapter.ts';
import { ClientStream } from './client-stream.ts';
import { relayStream, type RelayEnd } from './relay-stream.ts';

let server: Server;
let simulator: ProviderSimulator;
let adapter: OpenAiAdapter;
let serve: (response: ServerResponse) => void = () => undefined;

beforeAll(async () => {
  server = createServer((_request, response) => serve(response)).listen(0, '127.0.0.1');
  simulator = await startProviderSimulator();
  const [provider] = Catalogue.parse({
    providers: [{ name: 'acme', kind: 'openai', base_url: simulator.baseUrl }],
    models: [{ id: 'm', provider: 'acme' }],
  }).providers as [Provider];
  adapter = new OpenAiAdapter(provider, undefined);
});
afterAll(async () => {
  await adapter.close();
  await simulator.close();
  server.closeAllConnections();
  server.close();
});

interface Seen {
  status: number | undefined;
  headers: IncomingMessage['headers'];
  text: string;
  /** False when the connection broke before the body's end. */
  complete: boolean;
}

/** What a client sees of a response that `work` writes. */
async function seenBy(work: (response: ServerResponse) => void): Promise<Seen> {
  serve = work;
  const request = get({ port: (server.address() as AddressInfo).port, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
  // Not `once`, which would reject when the connection breaks.
  await new Promise((resolve) => response.on('close', resolve));
  const { statusCode: status, headers, complete } = response;
  return { status, headers, text: Buffer.concat(chunks).toString(), complete };
}

const after = (ms: number, work: () => void): void => void setTimeout(work, ms);
const frame = (data: string): Buffer => Buffer.from(`data: ${data}\n\n`);

describe('the client’s end of a stream', () => {
  it('begins with the first byte for the client, under the headers that were named last', async () => {
    const begun: boolean[] = [];
    const seen = await seenBy((response) => {
      const client = new ClientStream(response, { 'x-gateway-provider': 'first' }, 10_000);
      client.setHeaders({ 'x-gateway-provider': 'second' });
      begun.push(client.begun);
      client.write([]);
      begun.push(client.begun);
      client.write([frame('1'), frame('2')]);
      begun.push(client.begun);
      client.setHeaders({ 'x-gateway-provider': 'late' });
      client.write([frame('3')]);
      client.finish([frame('usage')]);
    });
    expect(begun).toEqual([false, false, true]);
    expect(seen).toMatchObject({
      status: 200,
      complete: true,
      text: 'data: 1\n\ndata: 2\n\ndata: 3\n\ndata: usage\n\ndata: [DONE]\n\n',
    });
    expect(seen.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-gateway-provider': 'second',
    });
    expect(seen.headers).not.toHaveProperty('content-length');
    expect(seen.headers).not.toHaveProperty('content-encoding');
  });

  it('bridges silence with comments, as often as it lasts, and not while there are frames', async () => {
    const silent = await seenBy((response) => {
      const client = new ClientStream(response, {}, 60);
      after(300, () => client.finish([]));
    });
    expect(silent.text).toMatch(/^(: keep-alive\n\n){2,5}data: \[DONE\]\n\n$/);
    const busy = await seenBy((response) => {
      const client = new ClientStream(response, {}, 400);
      const writing = setInterval(() => client.write([frame('x')]), 50);
      after(900, () => {
        clearInterval(writing);
        client.finish([]);
      });
    });
    expect(busy.text).not.toContain('keep-alive');
  });

  it('says nothing more once it is over', async () => {
    const seen = await seenBy((response) => {
      const client = new ClientStream(response, {}, 30);
      client.write([frame('1')]);
      client.abandon();
      after(120, () => response.end());
    });
    expect(seen.text).toBe('data: 1\n\n');
  });

  it('tells an error as an event, without [DONE], and closes in order', async () => {
    const seen = await seenBy((response) => {
      const client = new ClientStream(response, {}, 10_000);
      client.write([frame('1')]);
      client.fail(new AppError('provider_timeout', 'Too slow.'), 'r-1');
    });
    expect(seen).toMatchObject({ status: 200, complete: true });
    const [, event = ''] = seen.text.split('data: 1\n\n');
    expect(JSON.parse(event.slice(6))).toEqual({
      error: {
        message: 'Too slow.',
        type: 'timeout_error',
        code: 'provider_timeout',
        param: null,
        request_id: 'r-1',
      },
    });
  });

  it('takes no notice of a client that is gone', async () => {
    const done = Promise.withResolvers<boolean>();
    const seen = seenBy((response) => {
      const client = new ClientStream(response, {}, 20);
      client.write([frame('1')]);
      response.on('close', () => {
        const goesOn = client.write([frame('2')]);
        client.fail(new AppError('internal', 'x'), 'r');
        client.finish([]);
        done.resolve(goesOn);
      });
      after(50, () => response.destroy());
    });
    expect((await seen).complete).toBe(false);
    expect(await done.promise).toBe(true);
  });

  it('says when the client reads slower than it is written to, and when it caught up', async () => {
    const drained = Promise.withResolvers<undefined>();
    const seen = await seenBy((response) => {
      const client = new ClientStream(response, {}, 10_000);
      client.onDrain(() => drained.resolve(undefined));
      while (client.write([Buffer.alloc(64 * 1024, 'x')]));
      void drained.promise.then(() => client.finish([]));
    });
    expect(seen.complete).toBe(true);
  });
});

describe('a relayed stream', () => {
  /** Everything from the simulator to the client, and what is left over. */
  async function relay(
    x_simulator: object,
    wantsUsage = false,
  ): Promise<{ text: string; reader: StreamReader; outcome: unknown; answers: number }> {
    const body = {
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      stream_options: { include_usage: true },
      x_simulator,
    };
    const source = await adapter.stream({
      operation: 'chat',
      body: Buffer.from(JSON.stringify(body)),
      trace: continueTrace(undefined),
      signal: new AbortController().signal,
      onHeaders: () => undefined,
      room: new AnswerBudget({ perTenant: 2 ** 30, perProcess: 2 ** 30 }).open('tenant'),
    });
    const reader = new StreamReader(1);
    let outcome: unknown;
    let answers = 0;
    const { text } = await seenBy((response) => {
      const client = new ClientStream(response, {}, 10_000);
      void relayStream({
        provider: 'acme',
        source,
        reader,
        client,
        wantsUsage,
        onAnswer: () => (answers += 1),
      })
        .catch((error: unknown) => error)
        .then((result) => {
          outcome = result;
          client.abandon();
          client.write([Buffer.from(': over\n\n')]);
          client.abandon();
          response.end();
        });
    });
    return { text: text.replace(': over\n\n', ''), reader, outcome, answers };
  }

  it('passes the provider’s frames on, without the usage chunk and the end', async () => {
    const { text, reader, outcome, answers } = await relay({ content: 'one two', crlf: true });
    expect(text).toContain('\r\n\r\n');
    expect(text).not.toContain('[DONE]');
    expect(text).not.toContain('"choices":[]');
    expect(reader).toMatchObject({
      answer: { beginning: 'one two' },
      complete: true,
      usage: { outputTokens: 2 },
    });
    expect(outcome).toEqual({ usageFrame: null });
    expect(answers).toBe(1);
  });

  it('keeps the usage chunk for a client that asked', async () => {
    const { outcome, text } = await relay({}, true);
    expect(text).not.toContain('"choices":[]');
    expect((outcome as RelayEnd).usageFrame?.toString()).toContain('"choices":[]');
  });

  it.each([
    ['cut', { cut: 'mid_stream', cut_after_chunks: 3, chunks: 8, chunk_delay_ms: 5 }, 'cut'],
    ['ended without its finish', { end_without_done: true, end_after_chunks: 3, chunks: 8 }, 'cut'],
    ['with an error inside', { error_event_after_chunks: 3, chunks: 8 }, 'cut'],
    ['with a broken chunk', { malformed: 'json' }, 'invalid'],
  ])('%s is a failure after what came before it', async (_name, fault, kind) => {
    const { outcome, text } = await relay(fault);
    expect(outcome).toMatchObject({ kind });
    expect(text).toContain('"delta"');
    expect(text).not.toContain('"error"');
  });

  it('that only lacks [DONE] is whole', async () => {
    expect((await relay({ end_without_done: true })).outcome).toEqual({ usageFrame: null });
  });

  it('that can not be read is not listened to any longer', async () => {
    const id = newId();
    const { outcome } = await relay({ id, malformed: 'json', chunks: 400, chunk_delay_ms: 5 });
    expect(outcome).toMatchObject({ kind: 'invalid' });
    const seen = await simulator.waitForRequest(
      (request) => request.id === id && (request.client_closed_at ?? request.finished_at) !== null,
    );
    expect(seen.client_closed_at).not.toBeNull();
  });
});
