import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { dialects } from '@gatehouse/dialects/dialects';
import { ClientStream } from './client-stream-handlers.ts';

let server: Server;
let serve: (response: ServerResponse) => void = () => undefined;

beforeAll(async () => {
  server = createServer((_request, response) => serve(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
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

/** The parts of a response by `work` that a client sees. */
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

const streamTo = (response: ServerResponse, headers: Record<string, string>, silenceMs: number) =>
  new ClientStream(response, { dialect: dialects.chat, headers: () => ({ ...headers }), silenceMs });
const after = (ms: number, work: () => void): void => void setTimeout(work, ms);
const frame = (data: string): Buffer => Buffer.from(`data: ${data}\n\n`);

describe('the client’s end of a stream', () => {
  it('begins with the first byte for the client, under the headers that were named last', async () => {
    const begun: boolean[] = [];
    const seen = await seenBy((response) => {
      const headers: Record<string, string> = { 'x-gateway-provider': 'first' };
      const client = streamTo(response, headers, 10_000);
      headers['x-gateway-provider'] = 'second';
      begun.push(client.begun);
      client.write([]);
      begun.push(client.begun);
      client.write([frame('1'), frame('2')]);
      begun.push(client.begun);
      headers['x-gateway-provider'] = 'late';
      client.write([frame('3')]);
      client.finish([frame('usage')]);
    });
    expect(begun).toEqual([false, false, true]);
    expect(seen).toMatchObject({
      status: 200,
      complete: true,
      text: 'data: 1\n\ndata: 2\n\ndata: 3\n\ndata: usage\n\n',
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
      const client = streamTo(response, {}, 60);
      after(300, () => client.finish([frame('end')]));
    });
    expect(silent.text).toMatch(/^(: keep-alive\n\n){2,5}data: end\n\n$/);
    const busy = await seenBy((response) => {
      const client = streamTo(response, {}, 400);
      const writing = setInterval(() => client.write([frame('x')]), 50);
      after(900, () => {
        clearInterval(writing);
        client.finish([]);
      });
    });
    expect(busy.text).not.toContain('keep-alive');
  });

  it('has begun with a frame of the answer, and not with a sign of life', async () => {
    const seen: boolean[][] = [];
    await seenBy((response) => {
      const client = streamTo(response, {}, 30);
      seen.push([client.headSent, client.begun]);
      after(150, () => {
        seen.push([client.headSent, client.begun]);
        client.write([frame('1')]);
        seen.push([client.headSent, client.begun]);
        client.finish([]);
      });
    });
    expect(seen).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ]);
  });

  it('says nothing more once it is over', async () => {
    const seen = await seenBy((response) => {
      const client = streamTo(response, {}, 30);
      client.write([frame('1')]);
      client.abandon();
      after(120, () => response.end());
    });
    expect(seen.text).toBe('data: 1\n\n');
  });

  it('reports an error as an event, without [DONE], and closes in order', async () => {
    const seen = await seenBy((response) => {
      const client = streamTo(response, {}, 10_000);
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

  it.each([
    ['its last frames', [1, 2, 3], (client: ClientStream) => client.finish([frame('3')])],
    [
      'an error',
      [1, 2, { error: { code: 504, message: 'Too slow.', status: 'DEADLINE_EXCEEDED' } }],
      (client: ClientStream) => client.fail(new AppError('provider_timeout', 'Too slow.'), 'r-1'),
    ],
  ])(
    'is an array for a client that wants one, with white space in silence and %s',
    async (_end, expected, end) => {
      const seen = await seenBy((response) => {
        const client = new ClientStream(response, {
          ...{ dialect: dialects.gemini, headers: () => ({}), silenceMs: 60, asArray: true },
        });
        after(100, () => {
          client.write([frame('1'), Buffer.from(': comment\n\n'), frame('2')]);
          after(200, () => end(client));
        });
      });
      expect(seen).toMatchObject({ status: 200, complete: true });
      expect(seen.headers['content-type']).toBe('application/json');
      expect(JSON.parse(seen.text)).toEqual(expected);
      expect(seen.text).toMatch(/^\n+\[1,\n2\n+,/);
    },
  );

  it('takes no notice of a client that is gone', async () => {
    const done = Promise.withResolvers<boolean>();
    const seen = seenBy((response) => {
      const client = streamTo(response, {}, 20);
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
      const client = streamTo(response, {}, 10_000);
      client.onDrain(() => drained.resolve(undefined));
      while (client.write([Buffer.alloc(64 * 1024, 'x')]));
      void drained.promise.then(() => client.finish([]));
    });
    expect(seen.complete).toBe(true);
  });
});
