import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { sendPieces } from './streamed-reply.ts';

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

/** Serves pieces, and returns what has become of them with the response to a GET. */
async function open(
  failAt = Infinity,
  signal?: AbortSignal,
): Promise<{ served: Served; response: IncomingMessage }> {
  const served: Served = { made: 0, error: null };
  async function* made(): AsyncGenerator<string, void> {
    while (served.made < pieces) {
      if (served.made === failAt) throw new Error('cut');
      served.made += 1;
      yield piece;
      await Promise.resolve();
    }
  }
  server = createServer((request, response) => {
    sendPieces(request, response, {
      headers: { 'content-type': 'text/plain' },
      pieces: made(),
      ...(signal !== undefined && { signal }),
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
  const { response } = await open(3);
  await expect(buffer(response)).rejects.toThrow('aborted');
  expect(response.complete).toBe(false);
});

it('ends with the reason of its signal, and with that of a client that leaves', async () => {
  const stop = new AbortController();
  const stopped = await open(Infinity, stop.signal);
  stop.abort(new Error('late'));
  await eventually(() => expect(stopped.served.error).toEqual(new Error('late')));
  stopped.response.destroy();
  const left = await open();
  left.response.destroy();
  await eventually(() => expect(left.served.error).toMatchObject({ code: 'client_closed_request' }));
});
