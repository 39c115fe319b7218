import type { ServerResponse } from 'node:http';
import { deep, listOf } from './shapes.ts';

const MiB = 1024 * 1024;
const json = { 'content-type': 'application/json' };

/** JSON as large as an answer may be. */
const bodies: Readonly<Record<string, () => string>> = {
  numbers: () => `[${listOf('1', MiB - 100)}]`,
  objects: () => `{"ok":true,"error":0,"a":[${listOf('{}', MiB - 100)}]}`,
  deep: () => `{"ok":false,"result":${deep(MiB - 100)}}`,
  escapes: () => `{"ok":false,"error":"${'\\"'.repeat(MiB / 2 - 100)}"}`,
  wrong: () => `{"ok":[${listOf('""', MiB - 100)}]}`,
};

/** As many names as fit, and one long value: nearly all of the 16 KiB that a client reads. */
const largeHeaders: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`a${n}`, 'b'])),
  'retry-after': '9'.repeat(4_000),
};

/** Answers other than whole ones of success, by their names. Each ends with its connection or with the client's patience. */
const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  endless: (response) => {
    response.writeHead(200, json);
    pour(response, '[{"a":1},'.repeat(8_000));
  },
  /** Headers that come before the answer, as often as the other side reads them. */
  hints: ({ socket }) => {
    if (socket !== null) pour(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1_000));
  },
  /** Pieces of one byte. */
  pieces: (response) => {
    const { socket } = response;
    socket?.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    if (socket !== null) pour(socket, '1\r\na\r\n'.repeat(10_000));
  },
  headers: (response) => response.writeHead(500, { ...largeHeaders, 'content-length': 0 }).end(),
  /** More names than are read, in a piece of their own. */
  headersBeyond: ({ socket }) => {
    socket?.write(`HTTP/1.1 200 OK\r\na: ${'b'.repeat(16_000)}\r\n`);
    setTimeout(() => socket?.write('a:b\r\n'.repeat(100_000)), 50);
  },
  ...Object.fromEntries(
    Object.entries(bodies).map(([name, body]) => [
      name,
      (response: ServerResponse) => response.writeHead(500, json).end(body()),
    ]),
  ),
};
export const hookAnswers = Object.keys(answers);

/** Answers of a receiver of results, replies and events, at `/hook/<answer>`. */
export function answerAsHook(path: string, response: ServerResponse): void {
  answers[path.split('/')[2] ?? '']?.(response);
}

/** Answers as Telegram, Slack or Zalo: right while a channel is checked, and a different one to each message. */
export function answerAsChannels(path: string, response: ServerResponse, count: number): void {
  const isMessage = /(?:sendMessage|postMessage|message\/cs)$/.test(path);
  const all = Object.values(bodies);
  const body = isMessage ? all[count % all.length]?.() : '{"ok":true,"result":{}}';
  response.writeHead(200, json).end(body);
}

/** Writes as much as the other side reads, and never ends. */
function pour(to: NodeJS.WritableStream & { destroyed?: boolean }, piece: string): void {
  const more = (): void => {
    while (to.destroyed !== true && to.write(piece));
  };
  to.on('drain', more).on('error', () => undefined);
  more();
}
