import { crc32 } from 'node:zlib';
import type { Framing } from '../frame.ts';

/** AWS's binary frames: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html#Message_framing. */
export const eventStream: Framing = {
  contentType: 'application/vnd.amazon.eventstream',
  text: ({ event = '', data }) =>
    frameOf(
      event.endsWith('Exception')
        ? { ':exception-type': event, ':content-type': 'application/json', ':message-type': 'exception' }
        : { ':event-type': event, ':content-type': 'application/json', ':message-type': 'event' },
      data,
    ),
  comment: () => '',
  end: '',
};

/** The type of a header's value: text with a length of 16 bits. */
const textType = 7;
const checksumBytes = 4;
/** Lengths of the frame and of its headers, and their checksum. */
const preludeBytes = 12;

function frameOf(headers: Record<string, string>, payload: string): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => headerOf(name, value)));
  const body = Buffer.from(payload);
  const length = preludeBytes + head.length + body.length + checksumBytes;
  const lengths = Buffer.concat([wholeNumber(length), wholeNumber(head.length)]);
  const checked = Buffer.concat([lengths, wholeNumber(crc32(lengths)), head, body]);
  return Buffer.concat([checked, wholeNumber(crc32(checked))]);
}

function headerOf(name: string, value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([textType]),
    length,
    bytes,
  ]);
}

function wholeNumber(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
