import { once } from 'node:events';
import {
  createServer,
  request,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { routes, type Route } from '@gatehouse/contract/routes';
import { AnonymousBudget } from '@gatehouse/http/anonymous-budget';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { handedOver } from '@gatehouse/http/principal-check';
import { sendError } from '@gatehouse/http/reply';
import { wasCutByStop } from '@gatehouse/http/server';
import { LocalAssertion } from '@gatehouse/identity/local-assertion';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { toAppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { Neighbours, type Neighbour } from '@gatehouse/shell/neighbours';
import { eventually } from '@gatehouse/test/eventually';
import { Forwarder } from './forwarder-handlers.ts';
import { GeneralProxy } from './general-proxy-client.ts';
import { RequestBodies } from './request-body-handlers.ts';

/** Requests to a service of the same process: traits that only this sender has; the others are in `test/proxies.test.ts`. */

const log = createLogger('test', 'silent');
const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

const assertion = new LocalAssertion('edge', { anonymousRoute: 'x' }, () => Promise.resolve('token'));
const [completions] = routes.filter(({ id }) => id === 'chat.completions');
const [other] = routes.filter(({ service, passThrough }) => service === 'chat' && !passThrough);

interface Door {
  url: string;
  forwarder: Forwarder;
  neighbour: Neighbour;
  /** The newest response of the edge. */
  client: () => ServerResponse | undefined;
}

async function door(
  handler: RequestListener | null,
  headers: string[] = [],
  route = completions,
): Promise<Door> {
  const neighbours = new Neighbours(['chat'], { listen: false });
  const neighbour = neighbours.find('chat') as Neighbour;
  neighbour.handler = handler;
  const budget = new BodyBudget({ perTenant: 0, perProcess: 0 });
  const forwarder = new Forwarder({
    neighbours,
    addresses: new Map(),
    bodies: new RequestBodies({ budget, anonymous: new AnonymousBudget() }),
    general: new GeneralProxy(),
    passThrough: new Map(),
    log,
  });
  let client: ServerResponse | undefined;
  const server = createServer((incoming, response) => {
    client = response;
    const forwarded = {
      request: incoming,
      response,
      route: route as Route,
      url: '/inner?y',
      headers,
      assertion,
    };
    try {
      void forwarder.forward({
        ...forwarded,
        ...{ tenantId: 't', requestId: 'r', params: {} },
        trace: continueTrace(undefined),
        dialect: 'chat' as const,
      });
    } catch (error) {
      sendError(response, toAppError(error), 'r');
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, forwarder, neighbour, client: () => client };
}

describe('a request to a neighbour', () => {
  it.each([
    [completions, {}],
    [other, { accept: ['text/plain'], 'x-own': ['a', 'b'] }],
  ])(
    'has the headers passed on, its assertion, and nothing else of the client’s: $id',
    async (route, all) => {
      let seen: IncomingMessage | undefined;
      const { url } = await door(
        (incoming, response) => {
          seen = incoming;
          incoming.resume().on('end', () => response.end());
        },
        ['accept', 'text/plain', 'x-own', 'a', 'x-own', 'b'],
        route,
      );
      await fetch(`${url}/outer`, {
        method: 'POST',
        body: 'body',
        headers: { 'x-gatehouse-assertion': 'forged', 'x-gatehouse-client-ip': '1.2.3.4', cookie: 'c=1' },
      });
      expect(seen?.url).toBe('/inner?y');
      expect(seen?.headers).toEqual({ accept: 'text/plain', 'x-own': ['a', 'b'] });
      expect(seen?.headersDistinct).toEqual(all);
      expect(seen === undefined ? null : handedOver(seen)?.assertion).toBe(assertion);
    },
  );

  it('brings its body, also one without a length', async () => {
    const { url } = await door((incoming, response) => {
      void incoming.toArray().then((chunks) => {
        response.writeHead(200, { 'x-encoding': incoming.headers['transfer-encoding'] ?? 'none' });
        response.end(Buffer.concat(chunks as Buffer[]));
      });
    });
    const sending = request(url, { method: 'POST' });
    sending.write('chunked ');
    sending.end('body');
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    expect(Buffer.concat(await answer.toArray()).toString()).toBe('chunked body');
    expect(answer.headers['x-encoding']).toBe('chunked');
  });

  it('is answered with the edge’s headers, and without those that are internal or of a connection', async () => {
    const { url } = await door((_incoming, response) => {
      response.writeHead(201, {
        ...{ 'x-run-id': '7', 'x-gatehouse-secret': 'a', 'x-request-id': 'other', 'keep-alive': 'timeout=1' },
        'content-length': 2,
      });
      response.end('ok');
    });
    const answer = await fetch(url);
    expect([answer.status, await answer.text()]).toEqual([201, 'ok']);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...{ 'x-run-id': '7', 'x-request-id': 'r', 'x-content-type-options': 'nosniff', 'content-length': '2' },
    });
    expect(answer.headers.has('x-gatehouse-secret')).toBe(false);
    expect(answer.headers.get('keep-alive')).not.toBe('timeout=1');
    expect(answer.headers.has('date')).toBe(true);
  });

  it('gets 503 while the service does not run', async () => {
    const { url, neighbour } = await door(null);
    const answer = await fetch(url);
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: { code: 'service_unavailable' } },
    ]);
    neighbour.handler = (_incoming, response) => response.end('back');
    expect(await (await fetch(url)).text()).toBe('back');
  });

  it('of a service that breaks off a stream ends with the error event and a normal close', async () => {
    const { url } = await door((_incoming, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\ndata: 2');
      setImmediate(() => response.destroy(new Error('broken')));
    });
    const text = await (await fetch(url)).text();
    expect(text).toMatch(/^data: 1\n\ndata: 2\n\ndata: {"error":{"message":.*"code":"bad_gateway".*}}\n\n$/);
  });
});

describe('a stop', () => {
  it('ends a stream with the error event and any other request with a 502, and the service notices', async () => {
    const cut: boolean[] = [];
    const { url, forwarder } = await door((incoming, response) => {
      const timer = setInterval(() => response.writable && response.write('data: more\n\n'), 5);
      response.on('close', () => {
        clearInterval(timer);
        cut.push(wasCutByStop(response));
      });
      if (incoming.method === 'POST') clearInterval(timer);
      else response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).flushHeaders();
    });
    const stream = await fetch(url);
    const unary = fetch(url, { method: 'POST' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await forwarder.close();
    expect(await stream.text()).toMatch(/data: {"error":.*"code":"bad_gateway".*}\n\n$/);
    const answer = await unary;
    expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: 'bad_gateway' } }]);
    await eventually(() => expect(cut).toEqual([true, true]));
  });

  it('leaves an answer alone that its client has not read yet', async () => {
    const size = 20_000_000;
    const { url, forwarder } = await door((incoming, response) => {
      response.writeHead(200, incoming.method === 'GET' ? { 'content-type': 'text/event-stream' } : {});
      response.end(Buffer.alloc(size, 'x'));
    });
    for (const method of ['GET', 'POST']) {
      const asking = request(url, { method }).end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      await new Promise((resolve) => setTimeout(resolve, 50));
      await forwarder.close();
      expect(Buffer.concat(await answer.toArray())).toHaveLength(size);
    }
  });

  it('lets the service write on without harm, also after it broke off itself', async () => {
    const late: (() => void)[] = [];
    const { url, forwarder } = await door((incoming, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      late.push(() => {
        response.write('data: late\n\n');
        response.end('data: later\n\n');
      });
      if (incoming.method === 'POST') setImmediate(() => response.destroy());
    });
    const [running, broken] = await Promise.all([fetch(url), fetch(url, { method: 'POST' })]);
    const texts = Promise.all([running.text(), broken.text()]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await forwarder.close();
    for (const write of late) write();
    for (const text of await texts) {
      expect(text).toMatch(/^data: 1\n\ndata: {"error":.*}\n\n$/);
    }
  });
});

describe('a client that leaves', () => {
  it('before its request is sent costs the service nothing', async () => {
    let handled = 0;
    const { forwarder } = await door(() => (handled += 1));
    const response = { closed: true, destroyed: true } as unknown as ServerResponse;
    const forwarded = {
      request: {} as unknown as IncomingMessage,
      response,
      route: completions as Route,
      url: '/',
      headers: [],
    };
    await forwarder.forward({
      ...forwarded,
      assertion,
      tenantId: 't',
      requestId: 'r',
      trace: continueTrace(undefined),
      params: {},
      dialect: 'chat' as const,
    });
    expect(handled).toBe(0);
  });

  it.each(['before its answer', 'in the middle of it'])(
    'closes the response at the service, which may write on: %s',
    async (when) => {
      const [arrived, closed] = [Promise.withResolvers<undefined>(), Promise.withResolvers<ServerResponse>()];
      const { url } = await door((_incoming, response) => {
        if (when !== 'before its answer') response.writeHead(200).write('half');
        response.on('close', () => closed.resolve(response));
        arrived.resolve(undefined);
      });
      const leave = new AbortController();
      const asked = fetch(url, { signal: leave.signal }).then((answer) => answer.text());
      await arrived.promise;
      leave.abort();
      const left = performance.now();
      await expect(asked).rejects.toThrow();
      const response = await closed.promise;
      expect(performance.now() - left).toBeLessThan(1_000);
      expect([response.destroyed, response.closed, response.writableFinished]).toEqual([true, true, false]);
      expect(response.write('more')).toBe(false);
      response.end('last');
    },
  );
});

describe('the response that a service gets', () => {
  it('is its own: the methods of the client’s stay those of Node', async () => {
    const { url, client } = await door((_incoming, response) => {
      expect(response).not.toBe(client());
      response.writeHead(200).end('ok');
    });
    expect(await (await fetch(url)).text()).toBe('ok');
    const own = ['writeHead', 'write', 'end', 'destroy', 'setHeader'];
    expect(own.filter((name) => Object.hasOwn(client() ?? {}, name))).toEqual([]);
  });

  it('finishes and closes once the client has all of it', async () => {
    const states: unknown[] = [];
    const { url } = await door((_incoming, response) => {
      const note = (event: string) => () =>
        states.push([event, response.writableEnded, response.writableFinished, response.closed]);
      response.on('finish', note('finish')).on('close', note('close'));
      response.writeHead(200).end('ok');
      note('end')();
    });
    await (await fetch(url)).text();
    await eventually(() =>
      expect(states).toEqual([
        ['end', true, false, false],
        ['finish', true, true, false],
        ['close', true, true, true],
      ]),
    );
  });

  it('pauses a service that writes faster than its client reads', async () => {
    const [size, pieces] = [256 * 1024, 200];
    let [written, fullAt] = [0, 0];
    const { url } = await door((_incoming, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      const more = (): void => {
        while (written < pieces) {
          written += 1;
          if (response.write(Buffer.alloc(size))) continue;
          if (fullAt === 0) fullAt = written;
          response.once('drain', more);
          return;
        }
        response.end();
      };
      more();
    });
    const asking = request(url).end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    await eventually(() => expect(fullAt).toBeGreaterThan(0));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(written).toBeLessThan(pieces / 2);
    expect(Buffer.concat(await answer.toArray())).toHaveLength(size * pieces);
  });

  it('ends a pipeline: with its source, and in time when the client leaves', async () => {
    const ends: unknown[] = [];
    async function* lines(): AsyncGenerator<string, void> {
      for (let line = 0; line < 3; line += 1) yield `${line}\n`;
    }
    async function* endless(): AsyncGenerator<string, void> {
      for (;;) yield 'x'.repeat(100_000);
    }
    const { url } = await door((incoming, response) => {
      response.writeHead(200);
      const source = Readable.from(incoming.method === 'POST' ? endless() : lines());
      pipeline(source, response).then(
        () => ends.push('complete'),
        (error: unknown) => ends.push((error as NodeJS.ErrnoException).code),
      );
    });
    expect(await (await fetch(url)).text()).toBe('0\n1\n2\n');
    await eventually(() => expect(ends).toEqual(['complete']));
    const leave = new AbortController();
    await fetch(url, { method: 'POST', signal: leave.signal });
    leave.abort();
    await eventually(() => expect(ends).toEqual(['complete', 'ERR_STREAM_PREMATURE_CLOSE']));
  });

  it('takes headers in any spelling, like one that is sent over a connection', async () => {
    const { url } = await door((_incoming, response) => {
      response.setHeader('X-Set', 'a');
      response.writeHead(200, { 'X-Request-Id': 'other', 'Content-Type': 'text/event-stream' });
      response.write('data: 1\n\n');
      setImmediate(() => response.destroy());
    });
    const answer = await fetch(url);
    expect([answer.headers.get('x-request-id'), answer.headers.get('x-set')]).toEqual(['r', 'a']);
    expect(await answer.text()).toMatch(/^data: 1\n\ndata: {"error":.*}\n\n$/);
  });

  it('is a 502 when the service breaks off before it, whatever the reason was', async () => {
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' });
    const { url } = await door((_incoming, response) => void response.destroy(refused));
    const answer = await fetch(url);
    expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: 'bad_gateway' } }]);
  });

  it('breaks off the client’s when the service breaks off in the middle of an answer', async () => {
    const { url } = await door((_incoming, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"half":');
      setTimeout(() => response.destroy(), 50);
    });
    const answer = await fetch(url);
    await expect(answer.text()).rejects.toThrow();
  });
});

describe('a 401 of a service', () => {
  it('is a 502, since the client’s key is valid', async () => {
    const { url } = await door((_incoming, response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error":{"code":"service_unauthenticated"}}');
    });
    const answer = await fetch(url);
    expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: 'bad_gateway' } }]);
  });
});
