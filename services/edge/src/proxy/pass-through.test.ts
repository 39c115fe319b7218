import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { BodyBudget } from '@gatehouse/http/body-budget';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { AddressList } from '../replicas/address-list.ts';
import { PassThrough } from './pass-through.ts';
import { RequestBodies } from './request-body.ts';

const log = createLogger('edge', 'silent');
const route = routes.find(({ passThrough }) => passThrough);
if (route === undefined) throw new Error('no route takes the short way');

/** One replica, at an address of its own; its answers wait for `release`. */
class Replica {
  readonly #gate = Promise.withResolvers<undefined>();
  readonly server: Server = createServer((_request, response) => {
    void this.#gate.promise.then(() => response.end('{}'));
  });
  connections = 0;

  release(): void {
    this.#gate.resolve(undefined);
  }

  async start(host: string, port: number): Promise<number> {
    this.server.on('connection', (socket) => {
      this.connections += 1;
      socket.on('close', () => (this.connections -= 1));
    });
    this.server.listen(port, host);
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }
}

let named: string[];
let addresses: AddressList;
let passThrough: PassThrough;
let door: Server;
let replicas: [Replica, Replica];
beforeEach(async () => {
  replicas = [new Replica(), new Replica()];
  const port = await replicas[0].start('127.0.0.1', 0);
  await replicas[1].start('127.0.0.2', port);
  named = ['127.0.0.1'];
  addresses = new AddressList([`dns:///chat.test:${port}`], log, {
    lookup: () => Promise.resolve(named.map((address) => ({ address, family: 4 }))),
    everyMs: 20,
  });
  await addresses.start();
  const budget = new BodyBudget({ perTenant: 1024, perProcess: 1024 });
  passThrough = new PassThrough(addresses, new RequestBodies({ budget }), log);
  door = createServer((request, response) => {
    const headers = () => Promise.resolve([]);
    void passThrough.forward({ request, response, route, url: '/', headers, tenantId: 't', requestId: 'r' });
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
});
afterEach(async () => {
  addresses.stop();
  await passThrough.close();
  for (const server of [door, ...replicas.map((replica) => replica.server)]) {
    server.close();
    server.closeAllConnections();
  }
});

const ask = (): Promise<Response> => fetch(`http://127.0.0.1:${(door.address() as AddressInfo).port}`);

it('lets the requests to a replica that vanished finish, then lets go of its connections', async () => {
  const [old, successor] = replicas;
  const slow = ask();
  await eventually(() => expect(old.connections).toBe(1));
  named = ['127.0.0.2'];
  await eventually(() => expect(addresses.next()).toMatch(/^127\.0\.0\.2:/));
  successor.release();
  expect((await ask()).status).toBe(200);
  expect([old.connections, successor.connections]).toEqual([1, 1]);
  old.release();
  expect((await slow).status).toBe(200);
  const began = performance.now();
  await eventually(() => expect(old.connections).toBe(0));
  // At once, and not for having been idle as long as a kept connection may be.
  expect(performance.now() - began).toBeLessThan(3_500);
  expect(successor.connections).toBe(1);
});

it('breaks off what is under way when it closes, also at a replica that vanished', async () => {
  const [old, successor] = replicas;
  const asked = [ask()];
  await eventually(() => expect(old.connections).toBe(1));
  named = ['127.0.0.2'];
  await eventually(() => expect(addresses.next()).toMatch(/^127\.0\.0\.2:/));
  asked.push(ask());
  await eventually(() => expect(successor.connections).toBe(1));
  await passThrough.close();
  const statuses = asked.map(async (answer) => (await answer).status);
  expect(await Promise.all(statuses)).toEqual([502, 502]);
});
