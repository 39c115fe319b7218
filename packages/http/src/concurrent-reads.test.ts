import { expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { newId } from '@gatehouse/kit/ids';
import { testIdentity } from '@gatehouse/test/identity';
import { eventually } from '@gatehouse/test/eventually';
import { appParts } from '../test/app-parts.ts';
import { createApp } from './app.ts';
import type { Reply } from './reply.ts';
import { HttpServer } from './server.ts';

it('16 reads of a tenant are worked on at once, while its writes and the reads of other tenants are served', async () => {
  const identity = await testIdentity();
  const gate = Promise.withResolvers<Reply>();
  let started = 0;
  let answer = (): Promise<Reply> => gate.promise;
  const handler = (): Promise<Reply> => {
    started += 1;
    return answer();
  };
  const app = createApp({
    service: 'agent',
    handlers: Object.fromEntries(
      routes.filter(({ service }) => service === 'agent').map(({ id }) => [id, handler]),
    ),
    ...(await appParts(identity)),
  });
  const server = new HttpServer(app, { host: '127.0.0.1', port: 0, drainTimeoutMs: 100 });
  await server.start();
  const [busy, other] = [newId(), newId()];
  const ask = async (tenantId: string, body?: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port}/v1/agents`, {
      headers: {
        'x-gatehouse-assertion': await identity.assertion({ tenantId }),
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { method: 'POST', body }),
    });
  const reads = Array.from({ length: 16 }, () => ask(busy));
  await eventually(() => expect(started).toBe(16));
  const last = ask(busy);
  answer = () => Promise.resolve({ body: {} });
  expect((await ask(other)).status).toBe(200);
  expect((await ask(busy, '{"key":"helper","model":"small"}')).status).toBe(201);
  gate.resolve({ body: {} });
  expect(started).toBe(18);
  for (const read of [...reads, last]) expect((await read).status).toBe(200);
  expect(started).toBe(19);
  await server.stop();
});
