import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EdgeUnderTest } from './edge-under-test.ts';

let edge: EdgeUnderTest;
beforeAll(async () => {
  // They read what is for embeddings, as much as there is, and answer anything else before it has come.
  edge = await EdgeUnderTest.start({}, (request, response) => {
    if (request.url === '/v1/embeddings') return void request.resume();
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"code":"early"}}');
  });
});
afterAll(() => edge.stop());

const mebibyte = Buffer.alloc(1024 * 1024, 'x');
const chunk = Buffer.concat([Buffer.from('100000\r\n'), mebibyte, Buffer.from('\r\n')]);

/** Sends every part, reads nothing before, and resolves to what came until the connection closed. */
async function exchange(path: string, framing: string, parts: readonly Buffer[]): Promise<string> {
  const socket = connect(edge.port, '127.0.0.1');
  const head = `POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${edge.key}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;
  socket.write(head, 'latin1');
  for (const part of parts) await new Promise((resolve) => socket.write(part, resolve));
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  await once(socket, 'close');
  return received;
}

describe('an answer that comes before the end of the body', () => {
  it.each([
    { name: 'too long by its length', path: '/v1/agents', size: 8, chunked: false, status: 413 },
    { name: 'too long in chunks', path: '/v1/agents', size: 8, chunked: true, status: 413 },
    { name: 'too long, the short way', path: '/v1/embeddings', size: 24, chunked: true, status: 413 },
    { name: 'refused by the service', path: '/v1/chat/completions', size: 16, chunked: false, status: 400 },
  ])('reaches a client that sends on, then closes: $name', async ({ path, size, chunked, status }) => {
    const parts = Array<Buffer>(size).fill(chunked ? chunk : mebibyte);
    const answer = chunked
      ? await exchange(path, 'transfer-encoding: chunked', [...parts, Buffer.from('0\r\n\r\n')])
      : await exchange(path, `content-length: ${size * mebibyte.length}`, parts);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain('\r\nconnection: close\r\n');
    expect(answer).toMatch(/"code":"(payload_too_large|early)"/);
  });

  it('closes on a client that stops in the middle of its body', async () => {
    const answer = await exchange('/v1/agents', `content-length: ${8 * mebibyte.length}`, [mebibyte]);
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
  });
});
