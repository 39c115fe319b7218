import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { AddressList } from './address-list.ts';
import { Liveness } from './liveness.ts';

const log = createLogger('edge', 'silent');

/** A replica that answers only while it lives, though it always takes connections. */
class Replica {
  living = true;
  stopping = false;
  asked = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((_request, response) => {
      this.asked += 1;
      if (this.stopping) response.setHeader('connection', 'close');
      if (this.living) response.writeHead(404).end();
    });
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

describe('the replicas of a service', () => {
  const replicas = [new Replica(), new Replica()] as const;
  let addresses: AddressList;
  let liveness: Liveness;

  beforeEach(async () => {
    addresses = new AddressList(await Promise.all(replicas.map((replica) => replica.start())), log);
    liveness = new Liveness(addresses, { everyMs: 20, patienceMs: 100 });
    liveness.start();
  });

  afterEach(() => {
    liveness.stop();
    replicas.forEach((replica) => replica.stop());
  });

  function inTurn(): Set<string | null> {
    return new Set([1, 2, 3, 4].map(() => addresses.next()));
  }

  async function until(size: number): Promise<void> {
    const deadline = performance.now() + 5_000;
    while (inTurn().size !== size && performance.now() < deadline) await sleep(10);
    expect(inTurn().size).toBe(size);
  }

  it('are passed over while they hang, all but the last', async () => {
    const [, second] = replicas;
    await until(2);
    second.living = false;
    await until(1);
    expect(addresses.next()).toBe(addresses.all[0]);
    second.living = true;
    await until(2);
    replicas.forEach((replica) => (replica.living = false));
    await sleep(500);
    expect(inTurn().size).toBe(2);
    replicas.forEach((replica) => (replica.living = true));
  });

  it('are passed over once they announce that they stop', async () => {
    const [, second] = replicas;
    await until(2);
    second.stopping = true;
    await until(1);
    expect(addresses.next()).toBe(addresses.all[0]);
    second.stopping = false;
    await until(2);
  });

  it('are not asked when there is only one', async () => {
    const replica = new Replica();
    const only = new Liveness(new AddressList([await replica.start()], log), { everyMs: 5 });
    only.start();
    await sleep(100);
    only.stop();
    replica.stop();
    expect(replica.asked).toBe(0);
  });
});
