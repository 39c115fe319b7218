import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { EdgeUnderTest } from './edge-under-test.ts';

let agents: Server;
let edge: EdgeUnderTest;
let client: Agent;
beforeEach(async () => {
  // It closes each connection after one answer, as one that drains does.
  agents = createServer((_request, response) => response.setHeader('connection', 'close').end('{}'));
  agents.listen(0, '127.0.0.1');
  await once(agents, 'listening');
  const { port } = agents.address() as AddressInfo;
  edge = await EdgeUnderTest.start({ AGENT_HTTP: `127.0.0.1:${port}`, DRAIN_DELAY_MS: '1000' });
  client = new Agent({ keepAlive: true, maxSockets: 1 });
});
afterEach(async () => {
  client.destroy();
  await edge.stop();
  agents.close();
});

async function ask(path: string, method = 'GET'): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json' };
  const asking = request(`${edge.url}${path}`, { method, headers, agent: client });
  asking.end(method === 'POST' ? '{}' : undefined);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  await response.toArray();
  return response;
}

const ways = [
  ['the general way', '/v1/agents', 'GET'],
  ['the short way', '/v1/chat/completions', 'POST'],
] as const;

describe('a client’s connection', () => {
  it.each(ways)('is kept when a service closes its own: %s', async (_name, path, method) => {
    expect((await ask(path, method)).headers.connection).toBe('keep-alive');
  });

  it.each(ways)(
    'is closed with the answer from the beginning of a drain: %s',
    async (_name, path, method) => {
      const { headers } = await ask(path, method);
      expect(headers.connection).toBe('keep-alive');
      const stopped = edge.stop();
      for (let count = 0; count < 2; count += 1) {
        const response = await ask(path, method);
        expect([response.statusCode, response.headers.connection]).toEqual([200, 'close']);
      }
      await stopped;
    },
  );
});

it('/health says unavailable while it drains', async () => {
  await eventually(async () => expect((await ask('/health')).statusCode).toBe(200));
  const stopped = edge.stop();
  expect((await ask('/health')).statusCode).toBe(503);
  await stopped;
});
