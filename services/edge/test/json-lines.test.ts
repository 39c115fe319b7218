import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { sending, startEdge, stopAll } from './proxy-fixture.ts';
import type { EdgeUnderTest } from './edge-under-test.ts';

/** Imports: bodies of JSON lines, which the edge passes on as they arrive. */

afterEach(stopAll);

const path = '/v1/agents/support/memory/import';
const mebibyte = 1024 * 1024;

function post(edge: EdgeUnderTest, target: string, contentType: string, body = '{}\n'): Promise<Response> {
  return fetch(edge.url + target, {
    method: 'POST',
    headers: { authorization: `Bearer ${edge.key}`, 'content-type': contentType, 'idempotency-key': 'k' },
    body,
  });
}

describe('a body of JSON lines', () => {
  it.each([path, `/api-docs/proxy${path}`])('reaches its service, and JSON does not: %s', async (target) => {
    const edge = await startEdge();
    const refused = await post(edge, target, 'application/json');
    expect([refused.status, await refused.json()]).toMatchObject([
      415,
      {
        error: { code: 'unsupported_media_type', message: 'The request body must be application/x-ndjson.' },
      },
    ]);
    for (const body of ['{}\n', '{}\n'.repeat(50_000)])
      expect((await post(edge, target, 'application/x-ndjson', body)).status).toBe(200);
    expect(edge.arrivals.map(({ url, body }) => [url, body.length])).toEqual([
      [path, 3],
      [path, 150_000],
    ]);
    expect(edge.arrivals[0]?.headers).toMatchObject({
      'content-type': 'application/x-ndjson',
      'idempotency-key': 'k',
    });
  });

  it('reaches its service while it is sent, outside the budget for gathered bodies', async () => {
    let received = 0;
    const edge = await startEdge({ BODY_BYTES_PER_TENANT: '100000' }, (incoming, response) => {
      incoming.on('data', (chunk: Buffer) => (received += chunk.length));
      incoming.on('end', () => response.end('{}'));
    });
    const { socket, answer } = sending(
      edge,
      path,
      'transfer-encoding: chunked\r\nconnection: close\r\ncontent-type: application/x-ndjson',
    );
    const chunk = `100000\r\n${'x'.repeat(mebibyte)}\r\n`;
    socket.write(chunk);
    await eventually(() => expect(received).toBe(mebibyte));
    socket.write(chunk);
    socket.write('0\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1.1 200 /);
    expect(received).toBe(2 * mebibyte);
  });

  it('of more than 64 MiB is refused', async () => {
    const edge = await startEdge();
    const { socket, answer } = sending(
      edge,
      path,
      `content-length: ${64 * mebibyte + 1}\r\ncontent-type: application/x-ndjson\r\nexpect: 100-continue\r\nconnection: close`,
    );
    expect(await answer).toMatch(/^HTTP\/1.1 413 /);
    socket.destroy();
  });
});
