import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { AnonymousBudget } from '@gatehouse/http/anonymous-budget';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { sendError } from '@gatehouse/http/reply';
import { HttpServer } from '@gatehouse/http/server';
import { sleep } from '@gatehouse/kit/clock';
import { toAppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { LocalAssertion } from '@gatehouse/identity/local-assertion';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { AddressList } from '../replicas/address-list.ts';
import { Liveness } from '../replicas/liveness.ts';
import { Forwarder } from './forwarder-handlers.ts';
import { GeneralProxy } from './general-proxy-client.ts';
import { PassThrough } from './pass-through-client.ts';
import { RequestBodies } from './request-body-handlers.ts';

const log = createLogger('edge', 'silent');
const drainDelayMs = 1_000;
const running: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop();
});

/** One replica of a service, at the same port after each restart. */
class Replica {
  port = 0;
  served = 0;
  #server: HttpServer | undefined;

  async start(): Promise<void> {
    const answer: RequestListener = (incoming, response) => {
      if (incoming.url === '/x') this.served += 1;
      incoming.resume().on('end', () => void setTimeout(() => response.end('{}'), Math.random() * 5));
    };
    this.#server = new HttpServer(answer, { host: '127.0.0.1', port: this.port, drainTimeoutMs: 5_000 });
    await this.#server.start();
    this.port = this.#server.port;
  }

  /** As a service does on SIGTERM. */
  async stop(): Promise<void> {
    this.#server?.drain();
    await sleep(drainDelayMs);
    await this.#server?.stop();
  }
}

describe.each([
  { name: 'the general proxy', passThrough: false },
  { name: 'the pass-through', passThrough: true },
])('$name', ({ passThrough }) => {
  const route = routes.find((each) => each.passThrough === passThrough && each.service !== 'edge');
  if (route === undefined) throw new Error('no such route');

  async function door(addresses: AddressList): Promise<number> {
    const sender = passThrough ? new PassThrough(addresses) : new GeneralProxy();
    const budget = new BodyBudget({ perTenant: 1e6, perProcess: 1e6 });
    const forwarder = new Forwarder({
      addresses: new Map([[route?.service ?? 'chat', addresses]]),
      bodies: new RequestBodies({ budget, anonymous: new AnonymousBudget() }),
      general: sender,
      passThrough: new Map([[route?.service ?? 'chat', sender]]),
      log,
    });
    // No connection that a client keeps ends by age: a request sent at that moment is lost.
    const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
      const headers = ['content-length', '2'];
      const assertion = new LocalAssertion('edge', { anonymousRoute: '' }, () => Promise.resolve('token'));
      const forwarded = {
        request: incoming,
        response,
        route,
        url: '/x',
        tenantId: 't',
        requestId: 'r',
        trace: continueTrace(undefined),
        params: {},
        dialect: 'chat' as const,
      };
      forwarder
        .forward({ ...forwarded, route: forwarded.route as NonNullable<typeof route>, headers, assertion })
        ?.catch((error: unknown) => sendError(response, toAppError(error), 'r'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    running.push(
      () => server.close(),
      () => forwarder.close(),
    );
    return (server.address() as AddressInfo).port;
  }

  it('loses no request when the replicas of a fixed list stop and start in turn', async () => {
    const replicas = [new Replica(), new Replica()];
    for (const replica of replicas) {
      await replica.start();
      running.push(() => replica.stop());
    }
    const addresses = new AddressList(
      replicas.map(({ port }) => `127.0.0.1:${port}`),
      log,
    );
    const liveness = new Liveness(addresses, { everyMs: 300 });
    liveness.start();
    running.push(() => liveness.stop());
    const port = await door(addresses);
    const agent = new Agent({ keepAlive: true });
    running.push(() => agent.destroy());
    const failures: unknown[] = [];
    let over = false;
    const client = async (pauseMs: number): Promise<void> => {
      while (!over) {
        const asking = request({ port, agent, method: 'POST' }).end('{}');
        const [response] = (await once(asking, 'response')) as [IncomingMessage];
        const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
        if (response.statusCode !== 200) failures.push(text);
        await sleep(Math.random() * pauseMs);
      }
    };
    const clients = Array.from({ length: 16 }, (_, index) => client(index < 8 ? 5 : 200));
    for (const replica of [...replicas, ...replicas]) {
      // Until the edge has seen that the other one is back.
      await sleep(1_000);
      await replica.stop();
      await replica.start();
    }
    over = true;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    for (const { served } of replicas) expect(served).toBeGreaterThan(100);
  });
});
