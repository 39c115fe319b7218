import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import { Verifier } from '@gatehouse/identity/verifier';
import { AppError, type ErrorCode } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { sleep } from '@gatehouse/kit/clock';
import {
  TenantServiceClient,
  TenantServiceService,
  type GetTenantSettingsRequest,
  type GetTenantSettingsResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal, testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { tenantRpcs, tenantSettings } from '@gatehouse/test/tenant-rpcs';
import type { ServiceError } from '@grpc/grpc-js';
import { RpcClient, type CallContext } from './client.ts';
import { isMessageTooLarge } from './errors.ts';
import { LocalServer } from './local-server.ts';
import { rpcService, type RpcContext } from './rpc.ts';
import { GrpcServer } from './server.ts';

/** Calls between services over connections and inside a process behave the same. */

const log = createLogger('test', 'silent');
const drainTimeoutMs = 200;
const settings = tenantSettings({ allowedModels: { ids: ['a', 'ü'] }, previewMaxChars: 7 });

let identity: TestIdentity;
let verifier: Verifier;
let seen: { request: GetTenantSettingsRequest; context: RpcContext }[] = [];
let answer: (context: RpcContext) => Promise<GetTenantSettingsResponse>;
let local: LocalServer;
let remote: GrpcServer;
const peers: RpcClient<TenantServiceClient>[] = [];

const rpcs = tenantRpcs({
  authenticate: { callers: ['edge'], handle: () => Promise.resolve({ result: undefined }) },
  getTenantSettings: {
    callers: ['chat', 'agent'],
    handle: (request, context) => {
      seen.push({ request, context });
      return answer(context);
    },
  },
});

function serveLocally(): LocalServer {
  const server = new LocalServer();
  const services = [rpcService(TenantServiceService, rpcs)];
  server.start(services, { service: 'tenant', verifier, log, drainTimeoutMs });
  return server;
}

beforeAll(async () => {
  identity = await testIdentity();
  verifier = await Verifier.create(identity.publicKeys);
  local = serveLocally();
  remote = new GrpcServer({ service: 'tenant', host: '127.0.0.1', port: 0, verifier, log, drainTimeoutMs });
  remote.add(TenantServiceService, rpcs);
  await remote.start();
});
afterAll(async () => {
  for (const one of peers) one.close();
  await remote.stop();
  await local.stop();
});
beforeEach(() => {
  seen = [];
  answer = () => Promise.resolve(settings);
});

function makePeer(
  addresses: readonly string[] | LocalServer,
  signer: Signer,
  options: { passesObjects?: boolean } = {},
): RpcClient<TenantServiceClient> {
  const made = new RpcClient({ peer: 'tenant', addresses, stub: TenantServiceClient, signer, ...options });
  peers.push(made);
  return made;
}

const ask = (
  from: RpcClient<TenantServiceClient>,
  context: Partial<CallContext> = {},
): Promise<GetTenantSettingsResponse> =>
  from.call('getTenantSettings', { tenantId: 't1' }, { deadlineMs: 2_000, ...context });

describe.each([
  ['over a connection', () => [`127.0.0.1:${remote.port}`]],
  ['inside a process', () => local],
] as const)('%s', (_way, addresses) => {
  const peer = async ({ as = 'chat' } = {}) => makePeer(addresses(), await identity.signer(as));

  describe('a call between services', () => {
    it('brings the request there and the answer back', async () => {
      expect(await ask(await peer())).toEqual(settings);
      expect(seen).toMatchObject([
        {
          request: { tenantId: 't1' },
          context: { caller: 'chat', isLocal: addresses() === local, principal: null },
        },
      ]);
    });

    it('takes the request id, the trace and the principal along', async () => {
      const principal: Principal = makePrincipal({ userId: 'user-1' });
      const trace = continueTrace(undefined);
      const assertion = await identity.assertion(principal);
      await ask(await peer(), { requestId: 'r-1', trace, assertion });
      expect(seen[0]?.context).toMatchObject({
        requestId: 'r-1',
        principal,
        trace: { traceId: trace.traceId },
      });
      expect(seen[0]?.context.trace.spanId).not.toBe(trace.spanId);
    });

    it('brings the principal of a request that has lasted longer than its assertion', async () => {
      const principal = makePrincipal();
      jest.useFakeTimers({ now: Date.now() - 3 * 60 * 60_000, advanceTimers: true });
      const assertion = await identity.assertion(principal).finally(() => jest.useRealTimers());
      await expect(verifier.principalOf(assertion)).rejects.toThrow();
      await ask(await peer(), { assertion });
      expect(seen[0]?.context).toMatchObject({ principal });
    });

    it('is open to the callers of its list only', async () => {
      const foreign = await peer({ as: 'memory' });
      await expect(ask(foreign)).rejects.toMatchObject({ code: 'caller_not_allowed' });
      const chat = await peer();
      const authenticate = chat.call(
        'authenticate',
        { keyId: 'k', secretSha256: Buffer.alloc(32) },
        { deadlineMs: 2_000 },
      );
      await expect(authenticate).rejects.toMatchObject({ code: 'caller_not_allowed' });
      expect(seen).toEqual([]);
    });
  });

  describe('an error', () => {
    it.each<[ErrorCode, string | undefined]>([
      ['not_found', undefined],
      ['unknown_model', 'model_fallbacks[1]'],
      ['agent_key_taken', 'key'],
      ['database_unavailable', undefined],
      ['tenant_suspended', 'größe'],
      ['provider_rate_limited', undefined],
    ])('%s comes back as itself', async (code, param) => {
      const headers = code === 'database_unavailable' ? { 'retry-after': '1' } : {};
      const thrown = new AppError(code, 'Größe “quoted”\nnew line', { param, headers });
      answer = () => Promise.reject(thrown);
      const { message, publicCode } = thrown;
      await expect(ask(await peer())).rejects.toMatchObject({
        code,
        message,
        param: param ?? null,
        headers,
        publicCode,
      });
    });

    it('comes back from a call that lasts, too', async () => {
      answer = async () => {
        await sleep(700);
        throw new AppError('agent_key_taken', 'm', { param: 'key' });
      };
      await expect(ask(await peer())).rejects.toMatchObject({ code: 'agent_key_taken', param: 'key' });
    });

    it('that is not ours is hidden on the wire', async () => {
      answer = () => Promise.reject(new Error('password is hunter2'));
      const error = await ask(await peer()).catch((caught: unknown) => caught as AppError);
      expect(error).toMatchObject({ code: 'internal', status: 500 });
      const { cause } = error as AppError & { cause: ServiceError };
      expect(`${String(cause)} ${JSON.stringify(cause.metadata.getMap())}`).not.toContain('hunter2');
    });
  });

  describe('a message that is larger than a peer takes', () => {
    it('is reported as too large, unlike other failures', async () => {
      const chat = await peer();
      const tooLarge = chat.call(
        'getTenantSettings',
        { tenantId: 'x'.repeat(9_000_000) },
        { deadlineMs: 10_000 },
      );
      const error = await tooLarge.catch((caught: unknown) => caught);
      expect(isMessageTooLarge(error)).toBe(true);
      expect(error).toMatchObject({ code: 'internal' });
      // The same gRPC status for another reason.
      answer = () => Promise.reject(new AppError('rate_limit_exceeded', 'm'));
      expect(isMessageTooLarge(await ask(chat).catch((caught: unknown) => caught))).toBe(false);
      answer = () => Promise.reject(new Error('m'));
      expect(isMessageTooLarge(await ask(chat).catch((caught: unknown) => caught))).toBe(false);
    });
  });

  describe('time', () => {
    it('that runs out is service_timeout', async () => {
      const asking = await peer();
      // The first call connects.
      await ask(asking);
      seen = [];
      answer = () => new Promise(() => undefined);
      const began = performance.now();
      await expect(ask(asking, { deadlineMs: 250 })).rejects.toMatchObject({
        code: 'service_timeout',
        status: 504,
      });
      expect(performance.now() - began).toBeLessThan(2_500);
      expect(seen).toHaveLength(1);
    });

    it('too short for an answer is refused before any work', async () => {
      const warm = await peer();
      await ask(warm);
      seen = [];
      await expect(ask(warm, { deadlineMs: 110 })).rejects.toMatchObject({ code: 'service_timeout' });
      expect(seen).toEqual([]);
    });
  });

  it('a call that its caller cancels throws the reason, and aborts the signal of its handler', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    answer = ({ signal }) => {
      begun.resolve(signal);
      return new Promise(() => undefined);
    };
    const cancelling = new AbortController();
    const call = ask(await peer(), { signal: cancelling.signal });
    const signal = await begun.promise;
    const reason = new Error('enough');
    cancelling.abort(reason);
    await expect(call).rejects.toBe(reason);
    await eventually(() => expect(signal.aborted).toBe(true));
    await expect(ask(await peer(), { signal: cancelling.signal })).rejects.toBe(reason);
  });

  it('shares no object between caller and handler', async () => {
    const ids = ['a'];
    answer = () => Promise.resolve({ ...settings, allowedModels: { ids } });
    const { allowedModels } = await ask(await peer());
    ids.push('b');
    expect(allowedModels).toEqual({ ids: ['a'] });
    allowedModels?.ids.push('c');
    expect(ids).toEqual(['a', 'b']);
  });

  it('a response that is larger than a caller takes is reported as too large', async () => {
    answer = () => Promise.resolve({ ...settings, allowedModels: { ids: ['x'.repeat(5_000_000)] } });
    const error = await ask(await peer(), { deadlineMs: 10_000 }).catch((caught: unknown) => caught);
    expect(isMessageTooLarge(error)).toBe(true);
  });
});

describe('a service in the same process', () => {
  const chat = async (server: LocalServer) => makePeer(server, await identity.signer('chat'));

  it('gets the principal as the object that the edge made', async () => {
    const edge = await identity.signer('edge');
    const principal = makePrincipal({ userId: 'user-1' });
    const assertion = edge.localAssertion(principal);
    await ask(await chat(local), { assertion });
    expect(seen[0]?.context.principal).toBe(principal);
    expect(seen[0]?.context.assertion).toBe(assertion);
    expect(() => Object.assign(principal, { role: 'owner' })).toThrow(TypeError);
    // For another process the same object becomes a token.
    await ask(makePeer([`127.0.0.1:${remote.port}`], await identity.signer('chat')), { assertion });
    expect(seen[1]?.context).toMatchObject({ principal, assertion: expect.stringMatching(/^ey/) });
  });

  it('gets a request as an object from a client that passes objects, and checks its caller all the same', async () => {
    const passing = async (caller: string) =>
      makePeer(local, await identity.signer(caller), { passesObjects: true });
    const request = { tenantId: 't1', parts: [new Map()] };
    const from = await passing('chat');
    expect(await from.call('getTenantSettings', request, { deadlineMs: 2_000 })).toEqual(settings);
    expect(seen[0]?.request).toBe(request);
    await expect(ask(await passing('memory'))).rejects.toMatchObject({ code: 'caller_not_allowed' });
    answer = async ({ signal }) => {
      await sleep(10_000, signal);
      return settings;
    };
    await expect(ask(from, { deadlineMs: 200 })).rejects.toMatchObject({ code: 'service_timeout' });
    expect(seen).toHaveLength(2);
  });

  it('takes no such object of another service', async () => {
    const forged = (await identity.signer('chat')).localAssertion(makePrincipal());
    await expect(ask(await chat(local), { assertion: forged })).rejects.toMatchObject({
      code: 'bad_gateway',
    });
    const anonymous = (await identity.signer('edge')).localAnonymous('webhooks.llm');
    await expect(ask(await chat(local), { assertion: anonymous })).rejects.toMatchObject({
      code: 'bad_gateway',
    });
    expect(seen).toEqual([]);
  });

  it('is an outage before it starts and after it has stopped', async () => {
    const server = new LocalServer();
    const early = await chat(server);
    await expect(ask(early)).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    expect([early.reachable, early.reached]).toEqual([false, false]);
    const started = serveLocally();
    const later = await chat(started);
    expect([later.reachable, later.reached]).toEqual([true, true]);
    await started.stop();
    await expect(ask(later)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect([later.reachable, later.reached]).toEqual([false, true]);
  });

  it('finishes calls in flight before it stops, and cuts those that take too long', async () => {
    const server = serveLocally();
    const signals: AbortSignal[] = [];
    answer = async ({ signal }) => {
      signals.push(signal);
      await sleep(signals.length === 1 ? 50 : 10_000, signal);
      return settings;
    };
    const from = await chat(server);
    const [quick, slow] = [ask(from), ask(from, { deadlineMs: 20_000 })];
    const failure = slow.catch((caught: unknown) => caught);
    await eventually(() => expect(signals).toHaveLength(2));
    await server.stop();
    expect(await quick).toEqual(settings);
    expect(await failure).toMatchObject({ code: 'service_unavailable' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  });
});
