import { EventStreamCodec, type MessageHeaders } from '@smithy/eventstream-codec';
import type { Script } from '../../services/chat/test/scripted-provider.ts';

/** Streams of Bedrock, in AWS's event-stream encoding. */

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString(),
  (text) => Buffer.from(text),
);

export function awsFrame(headers: Record<string, string>, payload: unknown): Buffer {
  const typed: MessageHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, { type: 'string', value }]),
  );
  return Buffer.from(codec.encode({ headers: typed, body: Buffer.from(JSON.stringify(payload)) }));
}

/** A piece of InvokeModel's stream with JSON text in it. */
export function chunkFrame(text: string): Buffer {
  const headers = { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' };
  return awsFrame(headers, { bytes: Buffer.from(text).toString('base64'), p: 'abcdef' });
}

export function exceptionFrame(name: string, message: string): Buffer {
  return awsFrame({ ':exception-type': name, ':message-type': 'exception' }, { message });
}

/** A stream in these pieces; `cut`: closes the connection behind them. */
export const awsStream =
  (pieces: readonly Buffer[], { cut = false } = {}): Script =>
  async ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    for (const piece of pieces) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (cut) response.destroy();
    else response.end();
  };
