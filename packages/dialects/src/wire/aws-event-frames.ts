import { ChunkList } from '@gatehouse/kit/chunk-list';
import { isFields } from '@gatehouse/kit/fields';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { assertFewLines } from './sse-frames.ts';
import { maxFrameBytes } from '../bounds.ts';

/** An event of a stream in AWS's event-stream encoding, which Bedrock answers in. */
export interface AwsEvent {
  /** The type of the event, or of the exception. */
  name: string;
  /** Whether it ends the stream as an error. */
  isException: boolean;
  /** JSON text. */
  payload: Buffer;
}

/**
 * Splits a stream in AWS's event-stream encoding into its events, wherever its bytes are cut. Lengths and checksums are
 * checked; an unfinished frame is no event.
 */
export class AwsEventSplitter {
  /** The beginning of a frame: joined at its end only, so a huge frame isn't copied piece by piece. */
  #begun = new ChunkList();
  /** Bytes of the frame as far as they are known: its head, and then all. */
  #needed = headBytes;

  /** Complete events in `chunk`, together with the rest of earlier chunks. Throws for a damaged or too large frame. */
  push(chunk: Buffer): AwsEvent[] {
    this.#begun.push(chunk);
    if (this.size < this.#needed) return [];
    const bytes = this.#begun.concat();
    const events: AwsEvent[] = [];
    let from = 0;
    this.#needed = neededFor(bytes);
    while (bytes.length - from >= this.#needed) {
      events.push(eventOf(bytes.subarray(from, from + this.#needed)));
      from += this.#needed;
      this.#needed = neededFor(bytes.subarray(from));
    }
    this.#begun = new ChunkList();
    if (from < bytes.length) this.#begun.push(bytes.subarray(from));
    return events;
  }

  /** Bytes of the unfinished frame. */
  get size(): number {
    return this.#begun.size;
  }
}

/** An event as a server-sent one: everything behind the connection reads a single kind of frame. */
export function serverSentFrame({ name, isException, payload }: AwsEvent): Buffer {
  const data = isException
    ? JSON.stringify({ __type: name, message: exceptionMessage(payload) })
    : oneLine(payload);
  const event = isException ? exceptionEvent : name;
  return Buffer.concat([Buffer.from(`event: ${event}\ndata: `), Buffer.from(data), frameEnd]);
}

/** The name of a server-sent event for exceptions; their data has their type as `__type`. */
export const exceptionEvent = 'exception';

/** The lengths of all and of the headers, and the checksum of both. */
const headBytes = 12;
/** The head, and the checksum of all. */
const leastBytes = headBytes + 4;
/** Bedrock's have less than 200 bytes. */
const maxHeaderBytes = 16 * 1024;
const maxMessageBytes = 64 * 1024;
const frameEnd = Buffer.from('\n\n');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
  (text) => Buffer.from(text, 'utf8'),
);

/** Bytes of the frame beginning here, as far as they are known. */
function neededFor(bytes: Buffer): number {
  if (bytes.length < headBytes) return headBytes;
  const length = bytes.readUInt32BE(0);
  const headers = bytes.readUInt32BE(4);
  if (length < leastBytes || headers > length - leastBytes)
    throw new Error('a frame of the stream has lengths that contradict each other');
  if (length > maxFrameBytes || headers > maxHeaderBytes)
    throw new Error('a frame of the stream is too large');
  return length;
}

function eventOf(frame: Buffer): AwsEvent {
  // A copy with memory of its own: the codec reads texts by the lengths before them, beyond the frame if they are wrong.
  const { headers, body } = codec.decode(new Uint8Array(frame));
  const text = (name: string): string => {
    const value = Object.hasOwn(headers, name) ? headers[name]?.value : undefined;
    return typeof value === 'string' ? value : '';
  };
  const payload = Buffer.from(body.buffer, body.byteOffset, body.length);
  switch (text(':message-type')) {
    case 'event':
      return { name: nameOf(text(':event-type')), isException: false, payload };
    case 'exception':
      return { name: nameOf(text(':exception-type')), isException: true, payload };
    case 'error': {
      const message = Buffer.from(JSON.stringify({ message: text(':error-message') }));
      return { name: nameOf(text(':error-code')), isException: true, payload: message };
    }
    default:
      throw new Error('a frame of the stream has no known type');
  }
}

/** Names go into lines of text. */
function nameOf(name: string): string {
  if (/^[\w.-]{1,100}$/.test(name)) return name;
  throw new Error('an event of the stream has no name');
}

/** Line ends stand between values of JSON only. Throws for more than a server-sent frame may have. */
function oneLine(json: Buffer): Buffer {
  let lines = 0;
  for (const end of [lineFeed, carriageReturn])
    for (let at = json.indexOf(end); at >= 0; at = json.indexOf(end, at + 1)) {
      lines += 1;
      assertFewLines(lines);
      json[at] = space;
    }
  return json;
}

/** The message of an exception; undefined if it is too long or no text. */
export function exceptionMessage(payload: Buffer): string | undefined {
  if (payload.length > maxMessageBytes) return undefined;
  try {
    const fields: unknown = JSON.parse(payload.toString());
    const message: unknown = isFields(fields) ? (fields['message'] ?? fields['Message']) : undefined;
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
