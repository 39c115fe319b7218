import { once } from 'node:events';
import {
  Agent,
  createServer,
  request,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { routes, type Route } from '@gatehouse/contract/routes';
import { AnonymousBudget } from '@gatehouse/http/anonymous-budget';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { sendError } from '@gatehouse/http/reply';
import { sleep } from '@gatehouse/kit/clock';
import { toAppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { LocalAssertion } from '@gatehouse/identity/local-assertion';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { AddressList } from '../replicas/address-list.ts';
import { Forwarder } from './forwarder-handlers.ts';
import { GeneralProxy } from './general-proxy-client.ts';
import { PassThrough } from './pass-through-client.ts';
import { RequestBodies } from './request-body-handlers.ts';
import type { HttpClient } from './http-client.ts';

/**
 * Traits of senders that the edge as a whole can't show: methods that no route has, and time-outs shorter than its own.
 */

const log = createLogger('edge', 'silent');
const silenceMs = 600;
const running: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop();
});

function routeThat(passesThrough: boolean): Route {
  const route = routes.find(
    ({ passThrough, service }) => passThrough === passesThrough && service !== 'edge',
  );
  if (route === undefined) throw new Error('no such route');
  return route;
}

const senders: readonly { name: string; route: Route; create: (addresses: AddressList) => HttpClient }[] = [
  { name: 'the general proxy', route: routeThat(false), create: () => new GeneralProxy({ silenceMs }) },
  {
    name: 'the pass-through',
    route: routeThat(true),
    create: (addresses) =>
      new PassThrough(addresses, {
        timeouts: { headersTimeoutMs: silenceMs, bodyTimeoutMs: silenceMs },
      }),
  },
];

async function listen(listener: RequestListener, address = '127.0.0.1', port = 0): Promise<number> {
  const server: Server = createServer(listener).listen(port, address);
  await once(server, 'listening');
  running.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

describe.each(senders)('$name', ({ route, create }) => {
  let forwarder: Forwarder;
  /** How often the headers for the service were made. */
  let made: number;

  /** A server whose requests the forwarder sends to the addresses. Resolves to its URL. */
  async function door(addresses: AddressList, headers: string[] = []): Promise<string> {
    made = 0;
    const sender = create(addresses);
    forwarder = new Forwarder({
      addresses: new Map([[route.service, addresses]]),
      bodies: new RequestBodies({
        budget: new BodyBudget({ perTenant: 1024, perProcess: 1024 }),
        anonymous: new AnonymousBudget(),
      }),
      general: sender,
      passThrough: new Map([[route.service, sender]]),
      log,
    });
    running.push(() => forwarder.close());
    const assertion = new LocalAssertion('edge', { anonymousRoute: route.id }, () => {
      made += 1;
      return Promise.resolve('token');
    });
    const port = await listen((incoming, response) => {
      const forwarded = {
        request: incoming,
        response,
        route,
        url: '/x?y',
        tenantId: 't',
        requestId: 'r',
        trace: continueTrace(undefined),
        params: {},
        dialect: 'chat' as const,
      };
      forwarder
        .forward({ ...forwarded, headers, assertion })
        ?.catch((error: unknown) => sendError(response, toAppError(error), 'r'));
    });
    return `http://127.0.0.1:${port}`;
  }

  async function doorTo(service: RequestListener, headers: string[] = []): Promise<string> {
    return door(new AddressList([`127.0.0.1:${await listen(service)}`], log), headers);
  }

  async function ask(url: string, method: string, agent: Agent): Promise<IncomingMessage & { text: string }> {
    const asking = request(url, { method, agent }).end();
    const [response] = (await once(asking, 'response')) as [IncomingMessage];
    return Object.assign(response, { text: Buffer.concat(await response.toArray()).toString() });
  }

  it.each([
    ['HEAD', 200, '5'],
    ['POST', 204, undefined],
    ['POST', 304, undefined],
  ])('an answer to %s with %i has no body, and its connection is kept', async (method, status, length) => {
    const url = await doorTo((_request, response) => {
      response.setHeader('etag', '"e"');
      if (length !== undefined) response.setHeader('content-length', length);
      response.writeHead(status).end();
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    running.push(() => agent.destroy());
    const sockets = new Set<Socket>();
    for (let count = 0; count < 3; count += 1) {
      const answer = await ask(url, method, agent);
      sockets.add(answer.socket);
      const { etag, 'content-length': announced, 'transfer-encoding': encoding } = answer.headers;
      expect([answer.statusCode, answer.text, etag]).toEqual([status, '', '"e"']);
      expect([announced, encoding]).toEqual([length, undefined]);
    }
    expect(sockets.size).toBe(1);
  });

  it('passes a service the headers made for it, the path and the body, and nothing else of the client’s', async () => {
    let arrived: IncomingMessage | undefined;
    const url = await doorTo(
      (incoming, response) => {
        arrived = incoming;
        incoming.resume().on('end', () => response.end());
      },
      ['accept', 'text/plain', 'content-length', '2', 'x-own', 'a'],
    );
    await fetch(url, { method: 'POST', headers: { 'x-client': 'b', te: 'trailers' }, body: '{}' });
    expect([arrived?.method, arrived?.url]).toEqual(['POST', '/x?y']);
    const { host, connection, ...headers } = arrived?.headers ?? {};
    expect([host, connection]).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+$/), 'keep-alive']);
    expect(headers).toEqual({
      ...{ accept: 'text/plain', 'content-length': '2', 'x-own': 'a', 'x-request-id': 'r' },
      ...{ traceparent: expect.stringMatching(/^00-/), 'x-gatehouse-assertion': 'token' },
    });
  });

  it('passes the client no header of the service’s connection, none that is internal, and none that the edge sets', async () => {
    const url = await doorTo((_request, response) => {
      response.writeHead(200, [
        ...['connection', 'keep-alive, X-Listed', 'keep-alive', 'timeout=9', 'x-listed', 'a'],
        ...['proxy-authenticate', 'Basic', 'trailer', 'x-t', 'upgrade', 'h2c'],
        ...['x-gatehouse-secret', 'a', 'x-request-id', 'other', 'x-content-type-options', 'other'],
        ...['set-cookie', 'a=1', 'set-cookie', 'b=2', 'x-passed', 'p', 'date', 'then'],
      ]);
      response.end('{}');
    });
    const { headers } = await fetch(url);
    expect(Object.fromEntries(headers)).toEqual({
      'set-cookie': 'b=2',
      'x-passed': 'p',
      date: 'then',
      'x-request-id': 'r',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // Those of the client's own connection.
      connection: 'keep-alive',
      'keep-alive': expect.any(String),
      'transfer-encoding': 'chunked',
    });
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  describe('a service that is silent for too long', () => {
    it('before its answer is a 502', async () => {
      const url = await doorTo(() => undefined);
      const answer = await fetch(url);
      expect([answer.status, await answer.json()]).toMatchObject([
        502,
        { error: { code: 'bad_gateway', request_id: 'r' } },
      ]);
    });

    it('in the middle of its answer breaks off the client’s', async () => {
      const url = await doorTo((_request, response) => void response.write('half'));
      const answer = await fetch(url);
      expect(answer.status).toBe(200);
      await expect(answer.text()).rejects.toThrow();
    });

    it('in the middle of a stream ends it with an error event', async () => {
      const url = await doorTo((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
      });
      const text = await (await fetch(url)).text();
      expect(text).toMatch(/^: hello\n\ndata: \{"error":\{.*"code":"bad_gateway".*\}\}\n\n$/);
    });
  });

  it('a client that pauses for longer gets the whole answer', async () => {
    const size = 32 * 1024 * 1024;
    const url = await doorTo((_request, response) => response.end(Buffer.alloc(size)));
    const agent = new Agent();
    running.push(() => agent.destroy());
    const asking = request(url, { agent }).end();
    const [response] = (await once(asking, 'response')) as [IncomingMessage];
    await sleep(silenceMs * 4);
    let received = 0;
    for await (const chunk of response) received += (chunk as Buffer).length;
    expect(received).toBe(size);
  });

  it.each([
    ['that is no HTTP', 'SSH-2.0-x\r\n\r\n'],
    ['with a header that is none', 'HTTP/1.1 200 OK\r\nbad header\r\n\r\n'],
    ['with two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc'],
    ['that ends in its head', 'HTTP/1.1 200 OK\r\ncontent-le'],
  ])('an answer %s is a 502', async (_name, text) => {
    const url = await doorTo((_request, response) => response.socket?.end(text));
    const answer = await fetch(url);
    expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: 'bad_gateway' } }]);
  });

  it('an answer that is shorter than its length breaks off the client’s', async () => {
    const url = await doorTo((_request, response) =>
      response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'),
    );
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  it('makes new headers for a second replica', async () => {
    const port = await listen((_request, response) => response.end('{}'));
    const addresses = new AddressList([`127.0.0.1:${port}`, '127.0.0.1:1'], log);
    // The refusing one comes first.
    if (addresses.next() === '127.0.0.1:1') addresses.next();
    const url = await door(addresses);
    expect((await fetch(url)).status).toBe(200);
    expect(made).toBe(2);
  });

  describe('when its replica is replaced', () => {
    let named: string[];
    let addresses: AddressList;

    /** Replicas at addresses of their own that one name stands for in turn; each answers once it is released. */
    async function startReplicas(): Promise<[Replica, Replica]> {
      const [old, successor] = [new Replica(), new Replica()];
      const port = await listen(old.listener);
      await listen(successor.listener, '127.0.0.2', port);
      named = ['127.0.0.1'];
      addresses = new AddressList([`dns:///chat.test:${port}`], log, {
        lookup: () => Promise.resolve(named.map((address) => ({ address, family: 4 }))),
        everyMs: 20,
      });
      await addresses.start();
      running.push(() => addresses.stop());
      return [old, successor];
    }

    async function replaceReplica(): Promise<void> {
      named = ['127.0.0.2'];
      await eventually(() => expect(addresses.next()).toMatch(/^127\.0\.0\.2:/));
    }

    it('the requests to the old one finish, and its connections are closed', async () => {
      const [old, successor] = await startReplicas();
      const url = await door(addresses);
      const slow = fetch(url);
      await eventually(() => expect(old.sockets.size).toBe(1));
      await replaceReplica();
      successor.release();
      expect((await fetch(url)).status).toBe(200);
      expect([old.open, successor.open]).toEqual([1, 1]);
      old.release();
      expect((await slow).status).toBe(200);
      const began = performance.now();
      await eventually(() => expect(old.open).toBe(0));
      // The pass-through closes them at once, and not for having been idle as long as a kept connection may be.
      expect(performance.now() - began).toBeLessThan(route.passThrough ? 3_500 : 6_000);
      if (route.passThrough) expect(successor.open).toBe(1);
    });

    it('closing breaks off what is under way, also at the old one', async () => {
      const [old, successor] = await startReplicas();
      const url = await door(addresses);
      const asked = [fetch(url)];
      await eventually(() => expect(old.open).toBe(1));
      await replaceReplica();
      asked.push(fetch(url));
      await eventually(() => expect(successor.open).toBe(1));
      await forwarder.close();
      const statuses = asked.map(async (answer) => (await answer).status);
      expect(await Promise.all(statuses)).toEqual([502, 502]);
    });
  });
});

class Replica {
  readonly #gate = Promise.withResolvers<undefined>();
  readonly sockets = new Set<Socket>();

  get open(): number {
    return [...this.sockets].filter((socket) => !socket.destroyed).length;
  }

  readonly listener: RequestListener = (incoming, response) => {
    this.sockets.add(incoming.socket);
    void this.#gate.promise.then(() => response.end('{}'));
  };

  release(): void {
    this.#gate.resolve(undefined);
  }
}
