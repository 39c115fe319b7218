import { once } from 'node:events';
import {
  createServer,
  request,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { routes, type Route } from '@gatehouse/contract/routes';
import { handedOver } from '@gatehouse/http/handed-over';
import { sendError } from '@gatehouse/http/reply';
import { wasCutByStop } from '@gatehouse/http/server';
import { LocalAssertion } from '@gatehouse/identity/local-assertion';
import { toAppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { Neighbour } from '@gatehouse/shell/neighbours';
import { eventually } from '@gatehouse/test/eventually';
import { HandOver } from './hand-over.ts';

/** Requests that a service of the same process answers on the client's own response. */

const log = createLogger('test', 'silent');
const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

const assertion = new LocalAssertion('edge', { anonymousRoute: 'x' }, () => Promise.resolve('token'));
const [completions] = routes.filter(({ id }) => id === 'chat.completions');

interface Door {
  url: string;
  handOver: HandOver;
  neighbour: Neighbour;
}

async function door(handler: RequestListener | null, headers: string[] = []): Promise<Door> {
  const handOver = new HandOver(log);
  const neighbour = new Neighbour();
  neighbour.handler = handler;
  const server = createServer((incoming, response) => {
    const forwarded = {
      request: incoming,
      response,
      route: completions as Route,
      url: '/inner?y',
      headers,
      assertion,
    };
    try {
      handOver.pass({ ...forwarded, tenantId: 't', requestId: 'r' }, neighbour);
    } catch (error) {
      sendError(response, toAppError(error), 'r');
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, handOver, neighbour };
}

describe('a request that is handed over', () => {
  it('has the headers that the edge passes on, its assertion, and nothing else of the client’s', async () => {
    let seen: IncomingMessage | undefined;
    const { url } = await door(
      (incoming, response) => {
        seen = incoming;
        incoming.resume().on('end', () => response.end());
      },
      ['accept', 'text/plain', 'x-own', 'a', 'x-own', 'b'],
    );
    await fetch(`${url}/outer`, {
      method: 'POST',
      body: 'body',
      headers: { 'x-gatehouse-assertion': 'forged', 'x-gatehouse-client-ip': '1.2.3.4', cookie: 'c=1' },
    });
    expect(seen?.url).toBe('/inner?y');
    expect(seen?.headers).toEqual({ accept: 'text/plain', 'x-own': ['a', 'b'] });
    expect(seen?.headersDistinct).toEqual({ accept: ['text/plain'], 'x-own': ['a', 'b'] });
    expect(seen === undefined ? null : handedOver(seen)).toBe(assertion);
  });

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
    const { url, handOver } = await door((incoming, response) => {
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
    handOver.close();
    expect(await stream.text()).toMatch(/data: {"error":.*"code":"bad_gateway".*}\n\n$/);
    const answer = await unary;
    expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: 'bad_gateway' } }]);
    await eventually(() => expect(cut).toEqual([true, true]));
  });

  it('leaves an answer alone that its client has not read yet', async () => {
    const size = 20_000_000;
    const { url, handOver } = await door((incoming, response) => {
      response.writeHead(200, incoming.method === 'GET' ? { 'content-type': 'text/event-stream' } : {});
      response.end(Buffer.alloc(size, 'x'));
    });
    for (const method of ['GET', 'POST']) {
      const asking = request(url, { method }).end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      await new Promise((resolve) => setTimeout(resolve, 50));
      handOver.close();
      expect(Buffer.concat(await answer.toArray())).toHaveLength(size);
    }
  });

  it('lets the service write on without harm, also after it broke off itself', async () => {
    const late: (() => void)[] = [];
    const { url, handOver } = await door((incoming, response) => {
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
    handOver.close();
    for (const write of late) write();
    for (const text of await texts) {
      expect(text).toMatch(/^data: 1\n\n\n\ndata: {"error":.*}\n\n$/);
    }
  });
});

describe('a request whose client has left', () => {
  it('is not handed over', async () => {
    let handled = 0;
    const { handOver, neighbour } = await door(() => (handled += 1));
    const response = { closed: true, destroyed: true } as unknown as ServerResponse;
    const forwarded = {
      request: {} as unknown as IncomingMessage,
      response,
      route: completions as Route,
      url: '/',
      headers: [],
    };
    handOver.pass({ ...forwarded, assertion, tenantId: 't', requestId: 'r' }, neighbour);
    expect(handled).toBe(0);
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
