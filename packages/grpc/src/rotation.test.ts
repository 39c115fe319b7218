import dns from 'node:dns';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Verifier } from '@gatehouse/identity/verifier';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { freePort } from '@gatehouse/local/ports';
import { TenantServiceClient, TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { tenantRpcs, tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { RpcClient } from './client.ts';
import { GrpcServer, type GrpcServerOptions } from './server.ts';

const log = createLogger('test', 'silent');
const settings = tenantSettings({ previewMaxChars: 7 });

let identity: TestIdentity;
let verifier: Verifier;
beforeAll(async () => {
  identity = await testIdentity();
  verifier = await Verifier.create(identity.publicKeys);
});

/** The current addresses of the DNS name of the service, and the number of lookups. */
let named: string[] = [];
let lookups = 0;
let port: number;
let running: { stop: () => Promise<void> | void }[] = [];
beforeEach(async () => {
  named = [];
  lookups = 0;
  port = await freePort();
  running = [];
  const lookup = async (): Promise<dns.LookupAddress[]> => {
    lookups += 1;
    if (named.length === 0) throw new Error('ENOTFOUND');
    return named.map((address) => ({ address, family: 4 }));
  };
  // grpc-js's resolver can only be replaced here. It calls this overload only.
  jest.spyOn(dns.promises, 'lookup').mockImplementation(lookup as unknown as typeof dns.promises.lookup);
});
afterEach(async () => {
  for (const each of running.reverse()) await each.stop();
  jest.restoreAllMocks();
});

/** One replica, at its own loopback address and the shared port. */
class Replica {
  calls = 0;
  readonly server: GrpcServer;

  constructor(host: string, options: Partial<GrpcServerOptions> = {}) {
    this.server = new GrpcServer({
      service: 'tenant',
      host,
      port,
      verifier,
      log,
      drainTimeoutMs: 5_000,
      ...options,
    }).add(
      TenantServiceService,
      tenantRpcs({
        getTenantSettings: {
          callers: ['chat'],
          handle: async ({ tenantId }) => {
            this.calls += 1;
            await sleep(Number(tenantId));
            return settings;
          },
        },
      }),
    );
  }

  async start(): Promise<this> {
    await this.server.start();
    running.push({ stop: () => this.server.stop() });
    return this;
  }
}

/** A client with four calls in flight at all times, each lasting `callMs`. */
class Load {
  answered = 0;
  readonly failures: unknown[] = [];
  /** `reachable` before each call, from the first time it was true. */
  readonly reachable = new Set<boolean>();
  readonly #peer: RpcClient<TenantServiceClient>;
  readonly #workers: Promise<void>[];
  #over = false;

  private constructor(peer: RpcClient<TenantServiceClient>, callMs: number) {
    this.#peer = peer;
    this.#workers = Array.from({ length: 4 }, () => this.#work(callMs));
    running.push({ stop: () => this.end() });
  }

  static async start(callMs = 1): Promise<Load> {
    const signer = await identity.signer('chat');
    const addresses = [`dns:///tenant.test:${port}`];
    const load = new Load(
      new RpcClient({ peer: 'tenant', addresses, stub: TenantServiceClient, signer }),
      callMs,
    );
    await eventually(() => expect(load.answered).toBeGreaterThan(0));
    return load;
  }

  /** Resolves after that many more responses. */
  async answers(more: number): Promise<void> {
    const enough = this.answered + more;
    await eventually(() => expect(this.answered).toBeGreaterThan(enough));
  }

  async end(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#workers);
    this.#peer.close();
  }

  async #work(callMs: number): Promise<void> {
    while (!this.#over) {
      const { reachable } = this.#peer;
      if (reachable || this.reachable.size > 0) this.reachable.add(reachable);
      await this.#peer.call('getTenantSettings', { tenantId: String(callMs) }, { deadlineMs: 5_000 }).then(
        () => (this.answered += 1),
        (error: unknown) => this.failures.push(error),
      );
    }
  }
}

describe('connections that are given up for their age', () => {
  it.each([
    ['short calls', 1],
    ['calls that outlive them', 400],
  ])('cost no call: %s', async (_name, callMs) => {
    const replica = await new Replica('127.0.0.1', { connectionAgeMs: 100 }).start();
    named = ['127.0.0.1'];
    const load = await Load.start(callMs);
    // At most one lookup a second, each after a closed connection.
    await eventually(() => expect(lookups).toBeGreaterThan(3));
    await load.end();
    // The peer also stays reachable while its connection is replaced.
    expect([...load.reachable]).toEqual([true]);
    expect(load.failures).toEqual([]);
    expect(replica.calls).toBe(load.answered);
  });

  it('let calls reach a replica that appears later under the name', async () => {
    const first = await new Replica('127.0.0.1', { connectionAgeMs: 300 }).start();
    named = ['127.0.0.1'];
    const load = await Load.start();
    const second = await new Replica('127.0.0.2', { connectionAgeMs: 300 }).start();
    named.push('127.0.0.2');
    await eventually(() => expect(second.calls).toBeGreaterThan(100));
    const before = first.calls;
    await eventually(() => expect(first.calls).toBeGreaterThan(before + 100));
    await load.end();
    expect(load.failures).toEqual([]);
  });
});

it('a peer whose name does not exist yet is reached soon after it does', async () => {
  await new Replica('127.0.0.1').start();
  const signer = await identity.signer('chat');
  const addresses = [`dns:///tenant.test:${port}`];
  const early = new RpcClient({ peer: 'tenant', addresses, stub: TenantServiceClient, signer });
  running.push({ stop: () => early.close() });
  const asking = setInterval(() => early.reached, 50);
  await eventually(() => expect(lookups).toBeGreaterThan(1));
  expect(early.reached).toBe(false);
  named = ['127.0.0.1'];
  const began = performance.now();
  await eventually(() => expect(early.reached).toBe(true));
  clearInterval(asking);
  expect(performance.now() - began).toBeLessThan(5_000);
});

describe('a replica that drains', () => {
  it('goes on serving, and calls move to its successor before it closes', async () => {
    const old = await new Replica('127.0.0.1', { rotateMs: 300 }).start();
    named = ['127.0.0.1'];
    const load = await Load.start();
    old.server.drain();
    await load.answers(500);
    const successor = await new Replica('127.0.0.2').start();
    named = ['127.0.0.2'];
    await eventually(() => expect(successor.calls).toBeGreaterThan(0));
    await eventually(async () => {
      const before = old.calls;
      await load.answers(100);
      expect(old.calls).toBe(before);
    });
    await old.server.stop();
    await load.answers(100);
    await load.end();
    expect(load.failures).toEqual([]);
  });
});
