import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

/** A host in a thread of its own, most of whose answers cost their reader the most. Posts its port. */

const head = 'HTTP/1.1 200 OK\r\n';

const answers: Readonly<Record<string, (socket: Socket) => unknown>> = {
  /** The limit of headers is reached before most of them arrive. */
  headers: async (socket) => {
    socket.write(`${head}a: ${'b'.repeat(16_000)}\r\n`);
    await sleep(50);
    socket.write('a:b\r\n'.repeat(100_000));
  },
  hints: (socket) => pour(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1_000)),
  pieces: (socket) => {
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
    pour(socket, '1\r\na\r\n'.repeat(10_000));
  },
  events: (socket) => {
    socket.write(`${head}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n`);
    pour(socket, '1\r\n:\r\n1\r\n\n\r\n'.repeat(5_000));
  },
  good: (socket) => {
    socket.end(`${head}content-length: ${2 ** 20}\r\n\r\n${'x'.repeat(2 ** 20)}`);
  },
  extensions: (socket) => {
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n1`);
    pour(socket, ';a=b'.repeat(10_000));
  },
  trailers: (socket) => {
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n0\r\n`);
    pour(socket, 'a:b\r\n'.repeat(10_000));
  },
};

/** Writes as much as the other side reads, and never ends. */
function pour(socket: Socket, piece: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (request) => {
    const [, path = ''] = /^\w+ \/(\w+)/.exec(request.toString()) ?? [];
    answers[path]?.(socket);
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  parentPort?.postMessage(port);
});
