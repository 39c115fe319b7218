import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { EdgeUnderTest } from './edge-under-test.ts';

export interface Upload {
  socket: Socket;
  /** All that came back, once the connection is closed. */
  answer: Promise<string>;
}

/** Sends the head of a `POST` whose body the test writes itself. `framing`: by length, or headers of the test's own. */
export function upload(edge: EdgeUnderTest, path: string, framing: number | string): Upload {
  const socket = connect(edge.port, '127.0.0.1').setEncoding('latin1');
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: gateway',
    `authorization: Bearer ${edge.key}`,
    ...(String(framing).includes('content-type') ? [] : ['content-type: application/json']),
    typeof framing === 'number' ? `content-length: ${framing}` : framing,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  let received = '';
  socket.on('data', (text: string) => (received += text)).on('error', () => undefined);
  return { socket, answer: once(socket, 'close').then(() => received) };
}
