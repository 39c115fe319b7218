import { EventStreamCodec, type MessageHeaders } from '@smithy/eventstream-codec';

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
