import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { EdgeUnderTest } from './edge-under-test.ts';

const frame = 'data: {"choices":[]}\n\n';

let services: Server;
let edge: EdgeUnderTest;
/** Requests in the services' hands, and how many of them were broken off. */
let seen: { arrived: number; left: number };
beforeEach(async () => {
  seen = { arrived: 0, left: 0 };
  // It finishes nothing: a stream has begun, and anything else gets no answer.
  services = createServer((request, response) => {
    seen.arrived += 1;
    response.on('close', () => (seen.left += 1));
    if (request.headers.accept !== 'text/event-stream') return;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frame);
  });
  services.listen(0, '127.0.0.1');
  await once(services, 'listening');
  const address = `127.0.0.1:${(services.address() as AddressInfo).port}`;
  edge = await EdgeUnderTest.start({ AGENT_HTTP: address, CHAT_HTTP: address, DRAIN_TIMEOUT_MS: '500' });
});
afterEach(async () => {
  await edge.stop();
  services.closeAllConnections();
  services.close();
});

function ask(path: string, method: string, accept: string): Promise<Response> {
  const headers = { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json', accept };
  return fetch(`${edge.url}${path}`, { method, headers, body: method === 'POST' ? '{}' : null });
}

describe('what is not over at the end of the drain time', () => {
  it('ends with the error event and a normal close, if it is a stream', async () => {
    const response = await ask('/v1/chat/completions', 'POST', 'text/event-stream');
    const stopped = edge.stop();
    const text = await response.text();
    expect(text.startsWith(`${frame}data: `)).toBe(true);
    expect(JSON.parse(text.slice(frame.length + 6))).toMatchObject({
      error: { code: 'bad_gateway', request_id: response.headers.get('x-request-id') },
    });
    // The service hears of it at once, so that it stops calling its provider.
    await eventually(() => expect(seen.left).toBe(1), 500);
    await stopped;
  });

  it.each([
    ['the short way', '/v1/chat/completions', 'POST'],
    ['the general way', '/v1/agents', 'GET'],
  ])('is a 502 before its answer has begun: %s', async (_name, path, method) => {
    const asked = ask(path, method, 'application/json');
    await eventually(() => expect(seen.arrived).toBe(1));
    const stopped = edge.stop();
    const response = await asked;
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { code: 'bad_gateway', request_id: response.headers.get('x-request-id') } },
    ]);
    await stopped;
  });
});
