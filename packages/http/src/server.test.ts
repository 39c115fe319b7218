import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { readBody } from './body.ts';
import { sendJson } from './reply.ts';
import { HttpServer } from './server.ts';

/** How long a client takes between an answer and its next request. */
const thinkMs = 150;

const running: HttpServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function serve(listener: RequestListener, drainTimeoutMs = 5_000): Promise<HttpServer> {
  const server = new HttpServer(listener, { host: '127.0.0.1', port: 0, drainTimeoutMs });
  await server.start();
  running.push(server);
  return server;
}

/** The response on a connection that the client keeps open. */
async function ask(
  { port }: Pick<HttpServer, 'port'>,
  agent: Agent,
): Promise<{ response: IncomingMessage; text: string }> {
  const [response] = (await once(get({ port, agent }), 'response')) as [IncomingMessage];
  const chunks = (await response.toArray()) as Buffer[];
  return { response, text: Buffer.concat(chunks).toString() };
}

async function raw(server: HttpServer, bytes: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  socket.write(bytes);
  const chunks = (await socket.toArray()) as Buffer[];
  return Buffer.concat(chunks).toString();
}

/** A response that starts when its request has arrived, and ends on demand. */
function heldAnswer(
  last: string,
  first?: string,
): { arrived: Promise<undefined>; begin: (response: ServerResponse) => void; release: () => void } {
  const arrived = Promise.withResolvers<undefined>();
  const release = Promise.withResolvers<undefined>();
  return {
    arrived: arrived.promise,
    begin: (response) => {
      if (first !== undefined) response.write(first);
      arrived.resolve(undefined);
      void release.promise.then(() => response.end(last));
    },
    release: () => release.resolve(undefined),
  };
}

describe('an HTTP server that stops', () => {
  it('answers a request that arrives on an idle connection as it stops', async () => {
    const server = await serve((_request, response) => response.end('ok'));
    const agent = new Agent({ keepAlive: true });
    const { port } = server;
    await ask(server, agent);
    const stopped = server.stop();
    await sleep(thinkMs);
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
    const { response, text } = await ask({ port }, agent);
    expect([text, response.headers.connection]).toEqual(['ok', 'close']);
    await stopped;
    agent.destroy();
  });

  it('finishes what is in flight, closes that connection, and takes nothing new', async () => {
    const held = heldAnswer('finished');
    const server = await serve((_request, response) => held.begin(response), 30_000);
    const agent = new Agent({ keepAlive: true });
    const answer = ask(server, agent);
    await held.arrived;
    const { port } = server;
    const began = performance.now();
    const stopped = server.stop();
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow();
    held.release();
    expect((await answer).text).toBe('finished');
    await stopped;
    // The client keeps its connection open: if the server did not close it, this would take the whole drain time.
    expect(performance.now() - began).toBeLessThan(10_000);
    agent.destroy();
  });

  it('answers a request that comes late over a connection that was taken before', async () => {
    const server = await serve((_request, response) => response.end('ok'));
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    // Connections are taken in their order: this one, before that of a request which is answered.
    await (await fetch(`http://127.0.0.1:${server.port}`)).text();
    const stopped = server.stop();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const text = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
    expect(text).toMatch(/connection: close[^]*ok$/i);
    await stopped;
  });

  it('does not wait for connections that carry nothing', async () => {
    const server = await serve((_request, response) => response.end('ok'), 30_000);
    const agent = new Agent({ keepAlive: true });
    await ask(server, agent);
    const idle = connect(server.port, '127.0.0.1');
    await once(idle, 'connect');
    const began = performance.now();
    await server.stop();
    expect(performance.now() - began).toBeLessThan(10_000);
    idle.destroy();
    agent.destroy();
  });

  it('says Connection: close to requests that still come over open connections', async () => {
    const held = heldAnswer('last', 'first ');
    const server = await serve((request, response) => {
      if (request.url === '/slow') held.begin(response);
      else response.end('next');
    });
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n');
    await held.arrived;
    const stopped = server.stop();
    socket.write('GET /next HTTP/1.1\r\nhost: x\r\n\r\n');
    held.release();
    const text = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
    expect(text).toContain('last');
    expect(text.toLowerCase()).toContain('connection: close');
    await stopped;
  });

  it('takes requests while it drains, over old and new connections, and closes each with its answer', async () => {
    const server = await serve((_request, response) => response.end('ok'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask(server, agent)).response.headers.connection).toBe('keep-alive');
    server.drain();
    for (const client of [agent, new Agent({ keepAlive: true })]) {
      const { response, text } = await ask(server, client);
      expect([text, response.headers.connection]).toEqual(['ok', 'close']);
      expect(await ask(server, client)).toMatchObject({ text: 'ok' });
      client.destroy();
    }
  });

  it('closes the connection of a request that came before the drain and is answered in it', async () => {
    const held = heldAnswer('ok');
    const server = await serve((_request, response) => held.begin(response));
    const agent = new Agent({ keepAlive: true });
    const answer = ask(server, agent);
    await held.arrived;
    server.drain();
    held.release();
    expect((await answer).response.headers.connection).toBe('close');
    agent.destroy();
  });

  it('leaves idle connections to clients that may just be writing, until it stops', async () => {
    const server = await serve((_request, response) => response.end('ok'), 30_000);
    const agent = new Agent({ keepAlive: true });
    await ask(server, agent);
    const [socket] = Object.values(agent.freeSockets).flat();
    const other = new Agent({ keepAlive: true });
    await ask(server, other);
    server.drain();
    // It is answered over its idle connection, which then ends.
    expect((await ask(server, other)).response.headers.connection).toBe('close');
    expect(socket?.destroyed).toBe(false);
    const began = performance.now();
    await server.stop();
    expect(performance.now() - began).toBeLessThan(10_000);
    agent.destroy();
  });

  it('answers a client that asks on at once after a stream that ends while it stops, then closes', async () => {
    const held = heldAnswer('last', 'first ');
    const server = await serve((request, response) => {
      if (request.url === '/stream') held.begin(response);
      else response.end('next');
    });
    const socket = connect(server.port, '127.0.0.1');
    const all = socket.toArray() as Promise<Buffer[]>;
    socket.write('GET /stream HTTP/1.1\r\nhost: x\r\n\r\n');
    await held.arrived;
    const stopped = server.stop();
    held.release();
    await sleep(thinkMs);
    socket.write('GET /next HTTP/1.1\r\nhost: x\r\n\r\n');
    const began = performance.now();
    const text = Buffer.concat(await all).toString();
    expect(text).toMatch(/last[^]*Connection: close[^]*next$/i);
    await stopped;
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it('does not wait for a kept connection after the stream it carried', async () => {
    const held = heldAnswer('last', 'first ');
    const server = await serve((_request, response) => held.begin(response), 30_000);
    const agent = new Agent({ keepAlive: true });
    const answer = ask(server, agent);
    await held.arrived;
    const stopped = server.stop();
    held.release();
    expect((await answer).text).toBe('first last');
    const began = performance.now();
    await stopped;
    expect(performance.now() - began).toBeLessThan(5_000);
    agent.destroy();
  });

  it('cuts what is not finished within the drain time', async () => {
    const arrived = Promise.withResolvers<undefined>();
    const server = await serve((_request, response) => {
      response.write('never finished');
      arrived.resolve(undefined);
    }, 100);
    const reading = fetch(`http://127.0.0.1:${server.port}`).then((response) => response.text());
    reading.catch(() => undefined);
    await arrived.promise;
    await server.stop();
    await expect(reading).rejects.toThrow();
  });

  it('has those in flight ended first where somebody can, and cuts them a second later', async () => {
    const streams = new Map<string | undefined, ServerResponse>();
    const server = new HttpServer(
      (request, response) => void (streams.set(request.url, response), response.write('begun ')),
      { host: '127.0.0.1', port: 0, drainTimeoutMs: 100, cut: () => streams.get('/ended')?.end('ended') },
    );
    await server.start();
    const read = async (path: string): Promise<string> =>
      (await fetch(`http://127.0.0.1:${server.port}${path}`)).text();
    const reading = [read('/ended'), read('/cut')];
    const results = Promise.allSettled(reading);
    await eventually(() => expect(streams.size).toBe(2));
    await server.stop();
    expect(await results).toMatchObject([
      { status: 'fulfilled', value: 'begun ended' },
      { status: 'rejected' },
    ]);
  });

  it('may stop without having started, and twice', async () => {
    const server = new HttpServer(() => undefined, { host: '127.0.0.1', port: 0, drainTimeoutMs: 10 });
    await server.stop();
    const started = await serve(() => undefined);
    await started.stop();
    await started.stop();
  });
});

describe('an HTTP server', () => {
  it('fails to start on a port that is taken', async () => {
    const server = await serve(() => undefined);
    const second = new HttpServer(() => undefined, {
      host: '127.0.0.1',
      port: server.port,
      drainTimeoutMs: 10,
    });
    await expect(second.start()).rejects.toThrow('EADDRINUSE');
  });

  it.each([
    ['NONSENSE\r\n\r\n', '400'],
    ['GET / HTTP/1.1\r\n\r\n', '400'],
    ['GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n', '400'],
    [`GET / HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(20_000)}\r\n\r\n`, '431'],
  ])('answers what is not HTTP with an error of the one shape', async (bytes, status) => {
    const server = await serve((_request, response) => response.end('handled'));
    const text = await raw(server, bytes);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text).not.toContain('handled');
    const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { error: { request_id: string } };
    expect(Object.keys(body.error).sort()).toEqual(['code', 'message', 'param', 'request_id', 'type']);
    expect(body.error.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(text).toContain(`x-request-id: ${body.error.request_id}\r\n`);
  });
});

describe('a response that its client does not read', () => {
  const size = 32 * 1024 * 1024;

  async function serveUnread(
    listener: RequestListener,
    timeoutMs: number,
  ): Promise<{ port: number; cuts: number[] }> {
    const cuts: number[] = [];
    const unread = { timeoutMs, onCut: (bytes: number) => void cuts.push(bytes) };
    const server = new HttpServer(listener, { host: '127.0.0.1', port: 0, drainTimeoutMs: 100, unread });
    await server.start();
    running.push(server);
    return { port: server.port, cuts };
  }

  function ask(port: number): Socket {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    return socket;
  }

  it.each([
    ['in one piece', (response: ServerResponse) => void response.end(Buffer.alloc(size))],
    [
      'piece by piece, without regard for back-pressure',
      (response: ServerResponse) => {
        const timer = setInterval(() => response.write(Buffer.alloc(size / 16)), 20);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('ends with its connection after the timeout: %s', async (_name, send) => {
    const closed = Promise.withResolvers<boolean>();
    const { port, cuts } = await serveUnread((_request, response) => {
      response.on('close', () => closed.resolve(response.writableFinished));
      send(response);
    }, 400);
    const socket = ask(port);
    expect(await closed.promise).toBe(false);
    expect(cuts).toEqual([expect.any(Number)]);
    expect(cuts[0]).toBeGreaterThan(0);
    socket.destroy();
  });

  it('arrives whole at a client that reads slowly, for longer than the timeout', async () => {
    const { port, cuts } = await serveUnread((_request, response) => response.end(Buffer.alloc(size)), 2_000);
    const socket = ask(port);
    const closed = once(socket, 'close');
    const began = performance.now();
    let received = 0;
    while (received < size && !socket.destroyed) {
      await Promise.race([once(socket, 'readable'), closed]);
      // About 6 MiB/s: the kernel reports progress in steps of 1 to 2 MiB on a loopback connection.
      for (let part; (part = socket.read(Math.min(socket.readableLength, 256 * 1024)) as Buffer | null);) {
        received += part.length;
        const paceMs = part.length / 6_000;
        await sleep(paceMs);
      }
    }
    expect(cuts).toEqual([]);
    expect(received).toBeGreaterThanOrEqual(size);
    expect(performance.now() - began).toBeGreaterThan(4_000);
    socket.destroy();
  });
});

describe('a client that asks before it sends its body', () => {
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\nexpect: 100-continue\r\n\r\n';

  it('is not invited by an answer that needs no body', async () => {
    const server = await serve((_request, response) => sendJson(response, 413, {}));
    expect(await raw(server, head)).toMatch(/^HTTP\/1\.1 413 [^]*connection: close/i);
  });

  it.each([
    ['at once', (request: IncomingMessage) => readBody(request, 10)],
    [
      'piece by piece',
      async (request: IncomingMessage) => Buffer.concat((await request.toArray()) as Buffer[]),
    ],
  ])('is invited when the body is read %s', async (_name, read) => {
    const server = await serve((request, response) => {
      void read(request).then((body) => response.end(body));
    });
    const socket = connect(server.port, '127.0.0.1');
    socket.write(head);
    const [invitation] = (await once(socket, 'data')) as [Buffer];
    expect(invitation.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('ping');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 [^]*ping$/);
    socket.destroy();
  });

  it('and expects something else is served', async () => {
    const server = await serve((_request, response) => response.end('ok'));
    const request = 'GET / HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\nconnection: close\r\n\r\n';
    expect(await raw(server, request)).toMatch(/^HTTP\/1\.1 200 [^]*ok$/);
  });
});
