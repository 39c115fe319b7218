import { once } from 'node:events';
import { createServer, request, type ClientRequest, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { markCutByStop } from '@gatehouse/http/server';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createRegistry } from '@gatehouse/kit/metrics';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { Resource, type Grant, type LeaseRequest } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { amply, nothing } from '../../test/grants.ts';
import { Catalogue } from '../catalogue/catalogue.ts';
import { Pricing } from '../catalogue/pricing.ts';
import { CountedPrompts } from '../limits/counted-prompts.ts';
import { Limiter } from '../limits/limiter.ts';
import { RunStops } from '../stops/run-stops.ts';
import { completionHandlers, type CompletionDependencies } from './completion-handlers.ts';
import { keySettings } from '../../test/key-settings.ts';

/** Requests that end before a provider is called. */

const tenantId = newId();
const catalogue = Catalogue.parse({
  providers: [{ name: 'acme', kind: 'openai', base_url: 'http://127.0.0.1:1' }],
  models: [{ id: 'm', provider: 'acme' }],
});
const settings = keySettings({ unleasedRequests: 1n });
const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });

let bodyBudget: BodyBudget;
let limiter: Limiter;
let limited: Resource[];
let server: Server;
let client: ClientRequest;
/** The response to the request. */
let arrived: PromiseWithResolvers<ServerResponse>;
/** The error of its handler. */
let failed: PromiseWithResolvers<unknown>;
/** A lease was asked for, and is granted. */
let asked: PromiseWithResolvers<undefined>;
let granted: PromiseWithResolvers<undefined>;
/** Tokens leased and not returned. */
let tokens: bigint;

async function lease({ asks }: LeaseRequest): Promise<Grant[]> {
  if (asks.some(({ needs }) => needs.length > 0)) {
    asked.resolve(undefined);
    await granted.promise;
  }
  return asks.map(({ resource, needs, returned }) => {
    const grant = resource === Resource.CONCURRENCY ? nothing() : amply(needs);
    if (resource === Resource.TOKENS) tokens += grant.granted - returned;
    return grant;
  });
}

function dependencies(): CompletionDependencies {
  const known = () => ({ ...settings, limited });
  const some: Partial<Record<keyof CompletionDependencies, unknown>> = {
    ...{ catalogue, pricing: new Pricing(catalogue, null), stages: [], limiter, bodyBudget },
    providers: { deploymentOrder: (model: unknown) => [model] },
    ...{ refusals: { note: () => undefined }, stops: new RunStops(), prompts: new CountedPrompts() },
    settings: { peekForKey: known, getForKey: () => Promise.reject(new AppError('not_found', 'away')) },
  };
  return some as unknown as CompletionDependencies;
}

beforeEach(async () => {
  [arrived, failed] = [Promise.withResolvers(), Promise.withResolvers()];
  [asked, granted, tokens, limited] = [Promise.withResolvers(), Promise.withResolvers(), 0n, []];
  bodyBudget = new BodyBudget({ perTenant: 1_000_000, perProcess: 1_000_000 });
  limiter = new Limiter({
    ...{
      leases: { lease },
      holderId: () => 'here',
      changes: { stateOf: () => 'unknown' as const },
      onRefused: () => undefined,
    },
    registry: createRegistry('test'),
  });
  const route = routes.find(({ id }) => id === 'chat.completions');
  const call = { requestId: 'r', trace: continueTrace(undefined), principal: makePrincipal({ tenantId }) };
  const handler = completionHandlers(dependencies())['chat.completions'];
  server = createServer((incoming, response) => {
    arrived.resolve(response);
    const rest = { assertion: '', dialect: 'chat', params: {}, query: undefined } as const;
    const answered = handler?.(incoming, response, {
      ...{ ...call, ...rest },
      route: { ...(route as NonNullable<typeof route>), bodyLimit: 1_000 },
    });
    answered?.catch((error: unknown) => {
      failed.resolve(error);
      response.writeHead(400).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  client = request({ port, method: 'POST', headers: { 'content-type': 'application/json' } });
  client.on('error', () => undefined).on('response', (response) => response.resume());
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const endings: readonly [name: string, resources: Resource[], end: () => unknown, error: object][] = [
  [
    'a body beyond the limit',
    [],
    () => {
      // Without its size in the headers.
      client.write('x');
      client.end('x'.repeat(2_000));
    },
    { code: 'payload_too_large' },
  ],
  ['a body without JSON', [], () => client.end('x'), { code: 'invalid_json' }],
  ['an unknown model', [], () => client.end(body.replace('"m"', '"n"')), { code: 'model_not_found' }],
  [
    'settings that fail behind a slow body',
    [],
    async () => {
      client.write(body.slice(0, 9));
      await sleep(1_100);
      client.end(body.slice(9));
    },
    { code: 'not_found' },
  ],
  [
    'a client that leaves before its body has arrived',
    [],
    async () => {
      client.write(body.slice(0, 9));
      await arrived.promise;
      client.destroy();
    },
    { code: 'client_closed_request' },
  ],
  [
    'a client that leaves while its arrival waits',
    [Resource.REQUESTS],
    async () => {
      client.end(body);
      await asked.promise;
      client.destroy();
      await once(await arrived.promise, 'close');
      granted.resolve(undefined);
    },
    { code: 'client_closed_request' },
  ],
  [
    'a client that leaves while its tokens are leased',
    [Resource.TOKENS],
    async () => {
      client.end(body);
      await asked.promise;
      client.destroy();
    },
    { code: 'client_closed_request', message: expect.stringContaining('client disconnected') },
  ],
  [
    'a process that stops while tokens are leased',
    [Resource.TOKENS],
    async () => {
      client.end(body);
      await asked.promise;
      const response = await arrived.promise;
      markCutByStop(response);
      response.destroy();
    },
    { code: 'client_closed_request', message: 'the process stops' },
  ],
];

it.each(endings)('%s returns once what the request reserved', async (_name, resources, end, error) => {
  limited = [Resource.CONCURRENCY, ...resources];
  await end();
  expect(await failed.promise).toMatchObject(error);
  granted.resolve(undefined);
  await eventually(() => expect(bodyBudget.inUse).toEqual({ bytes: 0, tenants: 0 }));
  const payer = {
    ...{ tenantId, apiKeyId: null },
    settings: { ...settings, limited: [Resource.CONCURRENCY] },
  };
  const next = await limiter.arrive(payer);
  await expect(limiter.arrive(payer)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  next.release();
  await limiter.stop();
  expect(tokens).toBe(0n);
});
