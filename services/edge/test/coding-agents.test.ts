import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EdgeUnderTest } from './edge-under-test.ts';

/** The first requests of coding agents. */

let edge: EdgeUnderTest;
beforeAll(async () => {
  edge = await EdgeUnderTest.start();
});
afterAll(() => edge.stop());

describe('GET /api/hello', () => {
  it('needs no key and ignores one, also as HEAD', async () => {
    for (const method of ['GET', 'HEAD'])
      for (const headers of [{}, { authorization: 'Bearer none', 'x-api-key': 'other' }]) {
        const response = await fetch(`${edge.url}/api/hello`, { method, headers });
        expect([response.status, response.headers.get('content-length')]).toEqual([200, '2']);
        expect(await response.text()).toBe(method === 'GET' ? '{}' : '');
        expect(response.headers.has('x-request-id')).toBe(true);
      }
  });
});

/** Sends the head of a request for a WebSocket. Returns the answer to it. */
function upgrade(
  path: string,
  protocol: string,
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { connection: 'Upgrade', upgrade: protocol, authorization: `Bearer ${edge.key}` };
    const sent = httpRequest(edge.url + path, { headers, agent: false });
    sent.on('error', reject).on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    sent.end();
  });
}

describe('a request for a WebSocket', () => {
  it.each([
    '/v1/responses',
    '/v1/chat/completions',
    '/v1/agents',
    '/health',
    '/nowhere',
    '/api-docs/proxy/v1/agents',
  ])('at %s is refused at once, whatever the path would answer', async (path) => {
    for (const protocol of ['websocket', 'WebSocket', 'h2c, websocket']) {
      const { status, headers, body } = await upgrade(path, protocol);
      expect([status, headers['connection']]).toEqual([426, 'close']);
      expect(JSON.parse(body)).toMatchObject({ error: { code: 'upgrade_required' } });
    }
    expect(edge.arrivals).toEqual([]);
  });

  it('of messages gets its error', async () => {
    expect(JSON.parse((await upgrade('/v1/messages', 'websocket')).body)).toMatchObject({
      type: 'error',
      error: { details: { error_code: 'upgrade_required' } },
    });
  });

  it('is none for another protocol', async () => {
    expect((await upgrade('/v1/agents', 'h2c')).status).toBe(200);
  });
});
