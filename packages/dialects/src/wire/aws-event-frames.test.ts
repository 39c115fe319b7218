import { maxFrameBytes, maxFrameLines } from '../bounds.ts';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { EventStreamCodec, type MessageHeaders } from '@smithy/eventstream-codec';
import fc from 'fast-check';
import { AwsEventSplitter, serverSentFrame, type AwsEvent } from './aws-event-frames.ts';
import { frameData, frameEvent } from './sse-frames.ts';

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString(),
  (text) => Buffer.from(text),
);

function encoded(headers: Record<string, string>, body: string): Buffer {
  const typed: MessageHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, { type: 'string', value }]),
  );
  return Buffer.from(codec.encode({ headers: typed, body: Buffer.from(body) }));
}

function frame(name: string, payload: string): Buffer {
  return encoded(
    { ':event-type': name, ':content-type': 'application/json', ':message-type': 'event' },
    payload,
  );
}

function exception(name: string, payload: string): Buffer {
  return encoded({ ':exception-type': name, ':message-type': 'exception' }, payload);
}

function split(pieces: readonly Buffer[]): AwsEvent[] {
  const splitter = new AwsEventSplitter();
  return pieces.flatMap((piece) => splitter.push(piece));
}

function sent(event: AwsEvent | undefined): { name: string | undefined; data: string | null } {
  if (event === undefined) throw new Error('there is no event');
  const bytes = serverSentFrame(event);
  return { name: frameEvent(bytes), data: frameData(bytes) };
}

const stream = fc.array(
  fc.record({ name: fc.constantFrom('messageStart', 'contentBlockDelta', 'chunk'), value: fc.jsonValue() }),
  { minLength: 1, maxLength: 5 },
);

describe('the events of a stream in AWS’s encoding', () => {
  it('are the same however their bytes are cut', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(2_000), { maxLength: 20 }), (events, places) => {
        const bytes = Buffer.concat(events.map(({ name, value }) => frame(name, JSON.stringify(value))));
        const at = [0, ...places.map((place) => place % bytes.length), bytes.length].sort((a, b) => a - b);
        const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        const expected = events.map(({ name, value }) => ({ name, value: JSON.stringify(value) }));
        for (const each of [[bytes], pieces, Array.from(bytes, (byte) => Buffer.of(byte))])
          expect(split(each).map(({ name, payload }) => ({ name, value: payload.toString() }))).toEqual(
            expected,
          );
      }),
    );
  });

  it('come as server-sent events on one line of data', () => {
    expect(sent(split([frame('contentBlockDelta', '{\n "a": 1,\r\n "b": "größe"\n}')])[0])).toEqual({
      name: 'contentBlockDelta',
      data: '{  "a": 1,   "b": "größe" }',
    });
  });

  it.each([
    ['an exception', exception('throttlingException', '{"message":"Too many."}'), 'throttlingException'],
    [
      'an error',
      encoded({ ':message-type': 'error', ':error-code': '500', ':error-message': 'Too many.' }, ''),
      '500',
    ],
  ])('that are %s come with type and message', (_kind, bytes, type) => {
    const event = split([bytes])[0];
    expect(event?.isException).toBe(true);
    expect(sent(event)).toEqual({
      name: 'exception',
      data: JSON.stringify({ __type: type, message: 'Too many.' }),
    });
  });

  it('that are exceptions lose a message that is no text', () => {
    for (const payload of ['<html>', '[]', '{"message":{}}', `{"message":"${'x'.repeat(70_000)}"}`])
      expect(sent(split([exception('modelStreamErrorException', payload)])[0]).data).toBe(
        '{"__type":"modelStreamErrorException"}',
      );
  });

  it('are none until the last byte of their frame, which is held', () => {
    const bytes = frame('messageStop', '{"stopReason":"end_turn"}');
    const splitter = new AwsEventSplitter();
    expect(splitter.push(bytes.subarray(0, -1))).toEqual([]);
    expect(splitter.size).toBe(bytes.length - 1);
    expect(splitter.push(bytes.subarray(-1))).toHaveLength(1);
    expect(splitter.size).toBe(0);
  });

  it('are refused if any bit of a frame is another', () => {
    const whole = frame('messageStart', '{"role":"assistant"}');
    for (let at = 8; at < whole.length; at += 1) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      expect(() => split([damaged])).toThrow();
    }
  });

  it.each([
    ['that is shorter than its head', [15, 0]],
    ['whose headers are longer than it', [100, 85]],
    ['beyond the limit of frames', [maxFrameBytes + 1, 0]],
    ['with huge headers', [maxFrameBytes, 64 * 1024]],
  ])('are refused at the head of a frame %s', (_kind, lengths) => {
    const head = Buffer.alloc(12);
    lengths.forEach((length, index) => head.writeUInt32BE(length, index * 4));
    expect(() => split([head])).toThrow('frame of the stream');
  });

  it.each([
    ['no type', {}],
    ['an unknown type', { ':message-type': 'hello' }],
    ['no name', { ':message-type': 'event' }],
    ['a name of several lines', { ':message-type': 'event', ':event-type': 'a\ndata: b' }],
  ])('are refused with %s', (_kind, headers) => {
    expect(() => split([encoded(headers, '{}')])).toThrow('the stream has no');
  });

  it('of texts that are longer than their frame never have bytes from outside it', () => {
    const bytes = frame('messageStart', '');
    // The length of the value of the last header, and the checksum of all.
    bytes.writeUInt16BE(30_000, bytes.length - 4 - 'event'.length - 2);
    bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
    const shared = Buffer.concat([bytes, Buffer.from('secret'.repeat(10_000))]);
    expect(() => split([shared.subarray(0, bytes.length)])).toThrow('Invalid typed array length');
  });

  it('are refused with more lines than a server-sent frame may have', () => {
    const [event] = split([frame('chunk', `{${'\n'.repeat(maxFrameLines + 1)}}`)]);
    expect(() => event && serverSentFrame(event)).toThrow('too many lines');
  });

  it('of 16 MiB in small pieces are split within 50 ms a piece', () => {
    const bytes = frame('chunk', JSON.stringify({ bytes: 'A'.repeat(maxFrameBytes - 1_000) }));
    const splitter = new AwsEventSplitter();
    let longest = 0;
    let events = 0;
    for (let from = 0; from < bytes.length; from += 1_000) {
      // On a busy machine, others take the processor from this thread for longer.
      const began = process.threadCpuUsage();
      events += splitter.push(bytes.subarray(from, from + 1_000)).length;
      const { user, system } = process.threadCpuUsage(began);
      longest = Math.max(longest, (user + system) / 1_000);
    }
    expect(events).toBe(1);
    expect(longest).toBeLessThan(500);
  });
});
