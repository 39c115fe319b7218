import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Verifier } from '@gatehouse/identity/verifier';
import { createLogger } from '@gatehouse/kit/log';
import { TenantServiceClient, TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { tenantRpcs, tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { Metadata, status, type ClientUnaryCall } from '@grpc/grpc-js';
import { RpcClient } from './client.ts';
import { isLost } from './errors.ts';
import { callerTokenKey } from './metadata.ts';
import { RenewedClient } from './renewed-client.ts';
import { GrpcServer } from './server.ts';

let identity: TestIdentity;
let running: { stop: () => Promise<void> | void }[] = [];
beforeEach(async () => {
  identity = await testIdentity();
  running = [];
});
afterEach(async () => {
  for (const each of running.reverse()) await each.stop();
});

/** A server whose calls take the milliseconds that they name as their tenant, and a client of it. */
async function serve(
  connectionAgeMs?: number,
): Promise<{ port: number; peer: RpcClient<TenantServiceClient>; begun: (tenantId?: string) => number }> {
  const begun: string[] = [];
  const server = new GrpcServer({
    ...{ service: 'tenant', host: '127.0.0.1', port: 0, drainTimeoutMs: 200 },
    ...{ verifier: await Verifier.create(identity.publicKeys), log: createLogger('test', 'silent') },
    ...(connectionAgeMs !== undefined && { connectionAgeMs }),
  }).add(
    TenantServiceService,
    tenantRpcs({
      getTenantSettings: {
        callers: ['chat'],
        handle: async ({ tenantId }) => {
          begun.push(tenantId);
          // Calls that were left don't hold the process.
          await setTimeout(Number(tenantId), undefined, { ref: false });
          return tenantSettings({});
        },
      },
    }),
  );
  await server.start();
  running.push(server);
  const { port } = server;
  const signer = await identity.signer('chat');
  const peer = new RpcClient({
    peer: 'tenant',
    addresses: [`127.0.0.1:${port}`],
    stub: TenantServiceClient,
    signer,
  });
  running.push({ stop: () => peer.close() });
  const begunOf = (tenantId?: string): number =>
    begun.filter((each) => tenantId === undefined || each === tenantId).length;
  return { port, peer, begun: begunOf };
}

/** More than the resets of a burst that Node's server takes by default. */
const many = 1_500;

it('1,500 calls that their callers leave cut no call beside them', async () => {
  const { peer, begun } = await serve();
  const long = peer.call('getTenantSettings', { tenantId: '5000' }, { deadlineMs: 60_000 });
  const leave = new AbortController();
  const left = Array.from({ length: many }, () =>
    peer.call('getTenantSettings', { tenantId: '60000' }, { deadlineMs: 60_000, signal: leave.signal }),
  );
  const ends = Promise.allSettled(left);
  await eventually(() => expect(begun()).toBe(many + 1));
  leave.abort(new Error('left'));
  expect(new Set((await ends).map(({ status: end }) => end))).toEqual(new Set(['rejected']));
  await expect(long).resolves.toBeDefined();
  // Nor was it sent once more.
  expect(begun('5000')).toBe(1);
});

it('1,500 calls that end by their deadlines cut no call beside them', async () => {
  const { peer, begun } = await serve();
  const long = peer.call('getTenantSettings', { tenantId: '5000' }, { deadlineMs: 60_000 });
  const late = Array.from({ length: many }, () =>
    peer.call('getTenantSettings', { tenantId: '60000' }, { deadlineMs: 1_000 }),
  );
  expect(new Set((await Promise.allSettled(late)).map(({ status: end }) => end))).toEqual(
    new Set(['rejected']),
  );
  await expect(long).resolves.toBeDefined();
  // Nor was it sent once more.
  expect(begun('5000')).toBe(1);
});

it('a call of 15 s outlives a connection of 2 s', async () => {
  const { peer, begun } = await serve(2_000);
  await expect(
    peer.call('getTenantSettings', { tenantId: '15000' }, { deadlineMs: 60_000 }),
  ).resolves.toBeDefined();
  expect(begun()).toBe(1);
}, 60_000);

/** Passes connections on, except the first one, which gets no answer, as from a host that is gone. */
async function silentAtFirst(port: number): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const proxy: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    connections += 1;
    if (connections === 1) socket.resume();
    else {
      const upstream = connect(port, '127.0.0.1').on('error', () => undefined);
      sockets.add(upstream);
      socket.pipe(upstream).pipe(socket);
    }
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  running.push({
    stop: () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  });
  return { port: (proxy.address() as AddressInfo).port, connections: () => connections };
}

const inTurn = { 'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }) };

/** A client whose calls have these deadlines; each resolves with the status that it ends with. */
function renewedClient(
  ports: number[],
  isGone?: (address: string) => Promise<boolean>,
): {
  client: RenewedClient;
  call: (deadlineMs: number, tenantId?: string) => Promise<status>;
  /** The addresses of the calls. */
  peers: () => string[];
} {
  const target = `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;
  const client = new RenewedClient(TenantServiceClient, {
    ...{ target, options: inTurn, everyMs: 0 },
    ...(isGone !== undefined && { isGone }),
  });
  running.push({ stop: () => client.close() });
  const sent: ClientUnaryCall[] = [];
  const call = async (deadlineMs: number, tenantId = '1'): Promise<status> => {
    const token = await (await identity.signer('chat')).serviceToken('tenant');
    const { path, requestSerialize, responseDeserialize } = TenantServiceService.getTenantSettings;
    const metadata = new Metadata();
    metadata.set(callerTokenKey, token);
    return new Promise((resolve) => {
      const made = client.call((stub, onEnd) =>
        stub.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          { tenantId },
          metadata,
          { deadline: Date.now() + deadlineMs },
          (failure) => {
            const error = onEnd(failure);
            if (error?.code === status.UNAVAILABLE) expect(isLost(error)).toBe(true);
            resolve(error?.code ?? status.OK);
          },
        ),
      );
      sent.push(made);
    });
  };
  return { client, call, peers: () => sent.map((each) => each.getPeer()) };
}

it('a call without an answer leads to new connections, and old ones end with their calls', async () => {
  const { port } = await serve();
  const proxy = await silentAtFirst(port);
  const { client, call } = renewedClient([proxy.port]);
  const first = client.current;
  const slow = call(3_000);
  expect(await call(500)).toBe(status.DEADLINE_EXCEEDED);
  expect(client.current).not.toBe(first);
  expect(await call(10_000)).toBe(status.OK);
  expect(proxy.connections()).toBe(2);
  // A call on the old connections is neither cut nor moved.
  expect(await slow).toBe(status.DEADLINE_EXCEEDED);
  expect(await call(10_000)).toBe(status.OK);
});

/** Passes connections on, until those that are open fall silent. */
async function silentLater(port: number): Promise<{ port: number; fallSilent: () => void }> {
  const pairs = new Set<readonly [Socket, Socket]>();
  const proxy: Server = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1').on('error', () => undefined);
    pairs.add([socket.on('error', () => undefined), upstream]);
    socket.pipe(upstream).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  running.push({
    stop: () => {
      for (const socket of [...pairs].flat()) socket.destroy();
      proxy.close();
    },
  });
  const fallSilent = (): void => {
    for (const socket of [...pairs].flat()) socket.unpipe().resume();
  };
  return { port: (proxy.address() as AddressInfo).port, fallSilent };
}

it.each([
  [true, status.UNAVAILABLE],
  [false, status.DEADLINE_EXCEEDED],
])(
  'calls under way at a host that has fallen silent end early if it is gone, and no others: %s',
  async (isGone, end) => {
    const [silent, alive] = [await serve(), await serve()];
    const proxy = await silentLater(silent.port);
    const looked: string[] = [];
    const { call, peers } = renewedClient([proxy.port, alive.port], (address) => {
      looked.push(address);
      return Promise.resolve(isGone);
    });
    await eventually(async () => {
      await call(10_000);
      expect([silent.begun(), alive.begun()]).not.toContain(0);
    });
    const before = peers().length;
    const slow = [call(5_000, '3000'), call(5_000, '3000')];
    // In turn at both, which have sent that they begin to answer.
    const ports = [proxy.port, alive.port].map((port) => `127.0.0.1:${port}`);
    await eventually(() => expect(peers().slice(before).sort()).toEqual(ports.sort()));
    proxy.fallSilent();
    const short = await Promise.all([call(500), call(500)]);
    expect(short.sort()).toEqual([status.OK, status.DEADLINE_EXCEEDED]);
    expect((await Promise.all(slow)).sort((one, other) => one - other)).toEqual([status.OK, end]);
    expect(looked).toContain(`127.0.0.1:${proxy.port}`);
    expect(looked).not.toContain(`127.0.0.1:${alive.port}`);
  },
);

it('calls at an address that has answered meanwhile are not cut', async () => {
  const { port } = await serve();
  const gone = Promise.withResolvers<boolean>();
  const { call } = renewedClient([port], () => gone.promise);
  const slow = call(10_000, '2000');
  expect(await call(500, '60000')).toBe(status.DEADLINE_EXCEEDED);
  expect(await call(10_000)).toBe(status.OK);
  gone.resolve(true);
  expect(await slow).toBe(status.OK);
});

it('a slow call leads to no new connections where others are answered meanwhile', async () => {
  const { port } = await serve();
  const { client, call } = renewedClient([port]);
  const first = client.current;
  const slow = call(1_000, '60000');
  expect(await call(10_000)).toBe(status.OK);
  expect(await slow).toBe(status.DEADLINE_EXCEEDED);
  expect(client.current).toBe(first);
  // Nothing else was answered since this one began.
  expect(await call(500, '60000')).toBe(status.DEADLINE_EXCEEDED);
  expect(client.current).not.toBe(first);
});
