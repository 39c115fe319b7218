import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { sendPieces, type StreamedReply } from './streamed-reply.ts';

const piece = 'x'.repeat(1024 * 1024);
/** More than the buffers of a connection hold. */
const pieces = 200;

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

interface Served {
  made: number;
  error: unknown;
}

interface Options extends Pick<StreamedReply, 'signal' | 'pace'> {
  failAt?: number;
  /** Between two pieces. */
  pauseMs?: number;
}

/** Serves pieces, and returns what has become of them with the response to a GET. */
async function open({ failAt = Infinity, pauseMs = 0, ...options }: Options = {}): Promise<{
  served: Served;
  response: IncomingMessage;
}> {
  const served: Served = { made: 0, error: null };
  async function* made(): AsyncGenerator<string, void> {
    while (served.made < pieces) {
      if (served.made === failAt) throw new Error('cut');
      served.made += 1;
      yield piece;
      await (pauseMs === 0 ? Promise.resolve() : sleep(pauseMs));
    }
  }
  server = createServer((request, response) => {
    sendPieces(request, response, {
      headers: { 'content-type': 'text/plain' },
      pieces: made(),
      ...options,
    }).catch((error: unknown) => {
      served.error = error;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [response] = (await once(get({ host: '127.0.0.1', port }), 'response')) as [IncomingMessage];
  return { served, response };
}

it('makes pieces as fast as the client reads them', async () => {
  const { served, response } = await open();
  await sleep(300);
  expect(served.made).toBeLessThan(pieces / 2);
  expect(await buffer(response)).toHaveLength(pieces * piece.length);
});

it('cuts the response where making it fails', async () => {
  const { response } = await open({ failAt: 3 });
  await expect(buffer(response)).rejects.toThrow('aborted');
  expect(response.complete).toBe(false);
});

it('ends with the reason of its signal, and with that of a client that leaves', async () => {
  const stop = new AbortController();
  const stopped = await open({ signal: stop.signal });
  stop.abort(new Error('late'));
  await eventually(() => expect(stopped.served.error).toEqual(new Error('late')));
  stopped.response.destroy();
  const left = await open();
  left.response.destroy();
  await eventually(() => expect(left.served.error).toMatchObject({ code: 'client_closed_request' }));
});

it('cuts the connection after a signal that came before', async () => {
  await expect(open({ signal: AbortSignal.abort(new Error('early')) })).rejects.toThrow('socket hang up');
});

describe('a client', () => {
  const pace = { minBytesPerSecond: 4_000_000, windowMs: 1_200 };

  it('that reads on, but too slowly, is cut, and what the reply occupied is free', async () => {
    const { served, response } = await open({ pace });
    const reading = setInterval(() => void response.read(16_384), 50);
    response.on('error', () => undefined);
    try {
      await eventually(() =>
        expect(served.error).toMatchObject({
          code: 'request_timeout',
          message: 'The response was read too slowly: fewer than 4000000 bytes per second over 1.2 seconds.',
        }),
      );
    } finally {
      clearInterval(reading);
    }
    expect(served.made).toBeLessThan(pieces / 2);
    expect(response.complete).toBe(false);
  });

  it('that waits for slow work is not', async () => {
    const { served, response } = await open({ pace, failAt: 8, pauseMs: 400 });
    await expect(buffer(response)).rejects.toThrow('aborted');
    await eventually(() => expect([served.made, served.error]).toEqual([8, new Error('cut')]));
  });
});
