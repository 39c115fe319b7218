import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Signer } from '@gatehouse/identity/signer';
import { Verifier } from '@gatehouse/identity/verifier';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { sleep } from '@gatehouse/kit/clock';
import { freePort } from '@gatehouse/local/ports';
import {
  TenantServiceClient,
  TenantServiceService,
  type GetTenantSettingsRequest,
  type GetTenantSettingsResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal, testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { tenantRpcs, tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { RpcClient, type CallContext } from './client.ts';
import { target } from './grpc-channel.ts';
import { hangIsOutage, isOutage } from './errors.ts';
import type { RpcContext } from './rpc.ts';
import { GrpcServer } from './server.ts';

const log = createLogger('test', 'silent');
const settings = tenantSettings({ allowedModels: { ids: ['a', 'ü'] }, previewMaxChars: 7 });

let identity: TestIdentity;
let verifier: Verifier;
let server: GrpcServer;
let seen: { request: GetTenantSettingsRequest; context: RpcContext }[] = [];
let answer: () => Promise<GetTenantSettingsResponse>;
const peers: RpcClient<TenantServiceClient>[] = [];

async function serve(port = 0, counted = { calls: 0 }): Promise<GrpcServer> {
  const made = new GrpcServer({
    service: 'tenant',
    host: '127.0.0.1',
    port,
    verifier,
    log,
    drainTimeoutMs: 200,
  });
  made.add(
    TenantServiceService,
    tenantRpcs({
      authenticate: { callers: ['edge'], handle: () => Promise.resolve({ result: undefined }) },
      getTenantSettings: {
        callers: ['chat', 'agent'],
        handle: (request, context) => {
          seen.push({ request, context });
          counted.calls += 1;
          return answer();
        },
      },
    }),
  );
  await made.start();
  return made;
}

async function peer(
  options: { as?: string; port?: number; peer?: string; signer?: Signer } = {},
): Promise<RpcClient<TenantServiceClient>> {
  const made = new RpcClient({
    peer: options.peer ?? 'tenant',
    addresses: [`127.0.0.1:${options.port ?? server.port}`],
    stub: TenantServiceClient,
    signer: options.signer ?? (await identity.signer(options.as ?? 'chat')),
  });
  peers.push(made);
  return made;
}

const ask = (
  from: RpcClient<TenantServiceClient>,
  context: Partial<CallContext> = {},
): Promise<GetTenantSettingsResponse> =>
  from.call('getTenantSettings', { tenantId: 't1' }, { deadlineMs: 2_000, ...context });

beforeAll(async () => {
  identity = await testIdentity();
  verifier = await Verifier.create(identity.publicKeys);
  server = await serve();
});
afterAll(async () => {
  for (const one of peers) one.close();
  await server.stop();
});
beforeEach(() => {
  seen = [];
  answer = () => Promise.resolve(settings);
});

describe('a call over a connection', () => {
  it('with a token for another service, by an unknown key, or with a bad assertion is refused, and that is no 401 of the client', async () => {
    const stranger = await Signer.create((await testIdentity()).privateKey('chat'));
    const good = await peer();
    const wrong = [
      ask(await peer({ peer: 'agent' })),
      ask(await peer({ signer: stranger })),
      ask(good, { assertion: 'a.b.c' }),
      ask(good, { assertion: await (await identity.signer('chat')).assertion(makePrincipal()) }),
    ];
    for (const call of wrong) await expect(call).rejects.toMatchObject({ code: 'bad_gateway', status: 502 });
    expect(seen).toEqual([]);
  });

  it('without any token is refused', async () => {
    const stub = new TenantServiceClient(`127.0.0.1:${server.port}`, credentials.createInsecure());
    const error = await new Promise<ServiceError | null>((resolve) => {
      stub.getTenantSettings({ tenantId: 't1' }, new Metadata(), { deadline: Date.now() + 2_000 }, resolve);
    });
    stub.close();
    expect([error?.code, seen]).toEqual([status.UNAUTHENTICATED, []]);
  });
});

/** Between two looks at a peer that is not there. */
const lookEveryMs = 50;
/** A call that takes a while. */
const callMs = 100;

describe('a peer', () => {
  it('that is not there is service_unavailable, an outage, and not reachable', async () => {
    const gone = await peer({ port: await freePort() });
    const error = await ask(gone).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(isOutage(error)).toBe(true);
    expect(gone.reachable).toBe(false);
  });

  it('that was not called yet is connected to by looking at it, and stays reached once it was', async () => {
    const port = await freePort();
    const early = await peer({ port });
    for (let round = 0; round < 5; round += 1) {
      expect([early.reached, early.reachable]).toEqual([false, false]);
      await sleep(lookEveryMs);
    }
    const late = await serve(port);
    await eventually(() => expect(early.reached).toBe(true));
    await late.stop();
    await eventually(() => expect(early.reachable).toBe(false));
    expect(early.reached).toBe(true);
  });

  it('that accepts connections and says nothing is an outage within the deadline', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const address = mute.address();
    const silent = await peer({ port: typeof address === 'object' ? (address?.port ?? 0) : 0 });
    const error = await ask(silent, { deadlineMs: 300 }).catch((caught: unknown) => caught);
    expect(isOutage(error)).toBe(true);
    silent.close();
    // A channel that is closed before its handshake keeps the connection open.
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  it('is found again soon after it was restarted', async () => {
    const port = await freePort();
    const first = await serve(port);
    const lasting = await peer({ port });
    expect(await ask(lasting)).toEqual(settings);
    expect(lasting.reachable).toBe(true);
    await first.stop();
    await expect(ask(lasting)).rejects.toMatchObject({ code: 'service_unavailable' });
    const second = await serve(port);
    await eventually(async () => expect(await ask(lasting)).toEqual(settings));
    await second.stop();
  });

  it('finishes the calls in flight before it stops', async () => {
    const port = await freePort();
    const stopping = await serve(port);
    const begun = Promise.withResolvers<undefined>();
    answer = async () => {
      begun.resolve(undefined);
      await sleep(callMs);
      return settings;
    };
    const call = ask(await peer({ port }));
    await begun.promise;
    const [outcome] = await Promise.all([call, stopping.stop()]);
    expect(outcome).toEqual(settings);
  });

  it('is cut after the drain time when a call does not end', async () => {
    const port = await freePort();
    const stopping = await serve(port);
    const begun = Promise.withResolvers<undefined>();
    answer = () => {
      begun.resolve(undefined);
      return new Promise(() => undefined);
    };
    const call = ask(await peer({ port }), { deadlineMs: 60_000 });
    call.catch(() => undefined);
    await begun.promise;
    const began = performance.now();
    await stopping.stop();
    expect(performance.now() - began).toBeLessThan(10_000);
    await expect(call).rejects.toBeInstanceOf(AppError);
  });
});

describe('addresses', () => {
  it.each([
    [['10.0.0.1:9000'], 'ipv4:10.0.0.1:9000'],
    [['10.0.0.1:9000', '10.0.0.2:9000'], 'ipv4:10.0.0.1:9000,10.0.0.2:9000'],
    [['dns:///chat:9000'], 'dns:///chat:9000'],
    [['chat:9000'], 'dns:///chat:9000'],
    [['localhost:9000'], 'dns:///localhost:9000'],
  ])('%j become a target to spread calls over', (addresses, expected) => {
    expect(target(addresses)).toBe(expected);
  });

  it('that could not all be used are refused, rather than all but the first forgotten', () => {
    for (const addresses of [['a:1', 'b:2'], ['10.0.0.1:1', 'b:2'], ['dns:///a:1', 'b:2'], []]) {
      expect(() => target(addresses)).toThrow();
    }
  });

  it('are spread over in turn, and those that are gone are passed over', async () => {
    const counts = [{ calls: 0 }, { calls: 0 }];
    const servers = await Promise.all(counts.map((counted) => serve(0, counted)));
    const spread = new RpcClient({
      peer: 'tenant',
      addresses: servers.map((one) => `127.0.0.1:${one.port}`),
      stub: TenantServiceClient,
      signer: await identity.signer('chat'),
    });
    await ask(spread);
    while (!counts.every(({ calls }) => calls > 0)) await ask(spread);
    const [first, second] = counts.map(({ calls }) => calls);
    for (let round = 0; round < 10; round += 1) await ask(spread);
    expect(counts.map(({ calls }) => calls)).toEqual([Number(first) + 5, Number(second) + 5]);
    await servers[0]?.stop();
    while ((await ask(spread).catch(() => null)) === null) await new Promise(setImmediate);
    for (let round = 0; round < 5; round += 1) expect(await ask(spread)).toEqual(settings);
    spread.close();
    await servers[1]?.stop();
  });
});

it('a call that a client waits for takes a peer that hangs for one that is away', () => {
  const hangs = new AppError('service_timeout', 'Too slow.');
  expect(() => hangIsOutage(hangs)).toThrow(
    expect.objectContaining({ code: 'service_unavailable', status: 503 }),
  );
  const other = new AppError('not_found', 'No.');
  expect(() => hangIsOutage(other)).toThrow(other);
});
