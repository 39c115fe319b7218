import { EventEmitter } from 'node:events';
import { request, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { newId } from '@gatehouse/kit/ids';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { eventually } from '@gatehouse/test/eventually';
import { testIdentity } from '@gatehouse/test/identity';
import { appParts } from '../test/app-parts.ts';
import { createApp, leaving, type Handler } from './app.ts';
import { HttpServer } from './server.ts';

/** Stands for the connections of a pool. */
const turns = new FairQueue({ perKey: 1, maxWaiting: 1_000 });
const shared = new SharedCalls<string>();
const tenantId = newId();
const begun: string[] = [];
let gate = Promise.withResolvers<undefined>();
let server: HttpServer;
let assertion: string;

const work = (name: string) => turns.run(tenantId, async () => void begun.push(name));
const handlers: Record<string, Handler> = {
  'agents.list': () => work('read').then(() => ({ body: {} })),
  'agents.create': () => work('write').then(() => ({ body: {} })),
  'agents.get': () =>
    shared.get('agent', () => work('shared').then(() => 'value')).then(() => ({ body: {} })),
};

beforeAll(async () => {
  const identity = await testIdentity();
  assertion = await identity.assertion({ tenantId });
  const other: Handler = () => Promise.reject(new Error('not asked for'));
  const own = routes.filter(({ service }) => service === 'agent');
  const app = createApp({
    service: 'agent',
    handlers: Object.fromEntries(own.map(({ id }) => [id, handlers[id] ?? other])),
    ...(await appParts(identity)),
  });
  server = new HttpServer(app, { host: '127.0.0.1', port: 0, drainTimeoutMs: 100 });
  await server.start();
});

afterAll(() => server.stop());

/** Sends a request whose client leaves, once it waits. */
async function leave(method: string, path: string, body?: string): Promise<void> {
  const before = turns.waiting;
  const headers = { 'x-gatehouse-assertion': assertion, 'content-type': 'application/json' };
  const sent = request({ port: server.port, method, path, headers });
  sent.on('error', () => undefined);
  sent.end(body);
  await eventually(() => expect(turns.waiting).toBe(before + 1));
  sent.destroy();
}

it('reads of clients that left are not begun; writes, and reads that others share, are', async () => {
  gate = Promise.withResolvers<undefined>();
  const busy = turns.run(tenantId, () => gate.promise);
  await leave('GET', '/v1/agents');
  await eventually(() => expect(turns.waiting).toBe(0));
  await leave('POST', '/v1/agents', '{"key":"helper","model":"small"}');
  await leave('GET', `/v1/agents/${newId()}`);
  const sharing = shared.get('agent', () => work('again').then(() => 'again'));
  gate.resolve(undefined);
  await busy;
  expect(await sharing).toBe('value');
  expect(begun).toEqual(['write', 'shared']);
});

it('a response cut by its server aborts its work, also with all of it written', () => {
  const stopped = new Error('the process stops');
  const outcomeOf = (state: { destroyed?: boolean; writableFinished?: boolean }, isCut: boolean): unknown => {
    const response = Object.assign(new EventEmitter(), state) as unknown as ServerResponse;
    const signal = leaving(
      response,
      () => stopped,
      () => isCut,
    );
    response.emit('close');
    return signal.reason;
  };
  expect(outcomeOf({ writableFinished: true }, false)).toBeUndefined();
  expect(outcomeOf({ writableFinished: true }, true)).toBe(stopped);
  expect(outcomeOf({ writableFinished: false }, false)).toBe(stopped);
  expect(outcomeOf({ destroyed: true }, false)).toBe(stopped);
});
