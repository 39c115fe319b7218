import { ChunkList } from '@gatehouse/kit/chunk-list';
import { withoutMark } from './answer-kind.ts';
import { maxFrameBytes, maxFrameLines } from '../bounds.ts';

/**
 * Splits a server-sent event stream into frames without touching their bytes: a frame is everything up to and including
 * its blank line (WHATWG HTML §9.2). Splitting happens on bytes, so characters in two pieces stay whole. A parser
 * library would return text, and the client gets the provider's own bytes. Only a byte order mark at the start of the
 * stream is removed, as the same section requires: the client's stream may begin with other bytes.
 */
export class FrameSplitter {
  /** The beginning of a frame: joined at its end only, so a huge frame isn't copied piece by piece. */
  #begun = new ChunkList();
  /** The last bytes of the pieces, in which a blank line may have begun. */
  #tail = nothing;
  /** Line ends in the pieces. */
  #lines = 0;
  /** Whether no frame has ended yet. */
  #first = true;

  /**
   * Complete frames in `chunk`, together with the rest of earlier chunks. Throws past `maxFrameBytes` and
   * `maxFrameLines`, so no reader splits a frame into millions of lines.
   */
  push(chunk: Buffer): Buffer[] {
    if (this.size > 0 && !this.#endsIn(chunk)) {
      this.#keep(chunk);
      return [];
    }
    const before = this.size;
    const bytes = before === 0 ? chunk : this.#joinedWith(chunk);
    const frames: Buffer[] = [];
    let from = 0;
    let end = frameEnd(bytes, Math.max(0, before - tailBytes));
    while (end >= 0) {
      frames.push(bytes.subarray(from, end));
      from = end;
      end = frameEnd(bytes, from);
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
    if (this.#first && frames[0] !== undefined) {
      frames[0] = withoutMark(frames[0]);
      this.#first = false;
    }
    return frames;
  }

  /** Bytes of the unfinished frame. */
  get size(): number {
    return this.#begun.size;
  }

  /** The rest when the stream ends: a last frame without its blank line, or nothing. */
  get rest(): Buffer {
    const rest = this.#begun.concat();
    return this.#first ? withoutMark(rest) : rest;
  }

  /** Whether the unfinished frame ends in `chunk`, or between its earlier bytes and it. */
  #endsIn(chunk: Buffer): boolean {
    const seam = Buffer.concat([this.#tail, chunk.subarray(0, tailBytes)]);
    return frameEnd(seam, 0) >= 0 || frameEnd(chunk, 0) >= 0;
  }

  /** The unfinished frame, up to its end in `chunk`, and the rest of the chunk behind it. */
  #joinedWith(chunk: Buffer): Buffer {
    this.#begun.push(chunk);
    const bytes = this.#begun.concat();
    this.#begun = new ChunkList();
    this.#tail = nothing;
    this.#lines = 0;
    return bytes;
  }

  #keep(piece: Buffer): void {
    this.#begun.push(piece);
    if (this.size > maxFrameBytes) throw new Error('a frame of the stream is too large');
    this.#lines += lineEndsIn(piece);
    assertFewLines(this.#lines);
    this.#tail = Buffer.concat([this.#tail, piece.subarray(-tailBytes)]).subarray(-tailBytes);
  }
}

const nothing: Buffer = Buffer.alloc(0);

/** An incomplete blank line has at most these many bytes: `\n\r`. */
const tailBytes = 2;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export function assertFewLines(lines: number): void {
  if (lines > maxFrameLines) throw new Error('a frame of the stream has too many lines');
}

function lineEndsIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) lines += 1;
  return lines;
}

/** One past the next blank line (`\n\n` or `\r\n\r\n`), or −1. Lone CRs as line ends are legal but not in use. */
function frameEnd(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(lineFeed, from);
  for (let lines = 1; at >= 0; lines += 1) {
    assertFewLines(lines);
    if (bytes[at + 1] === lineFeed) return at + 2;
    if (bytes[at + 1] === carriageReturn && bytes[at + 2] === lineFeed) return at + 3;
    at = bytes.indexOf(lineFeed, at + 1);
  }
  return -1;
}

/** The `data` of a frame, its lines joined, or null for a comment or an empty frame. */
export function frameData(frame: Buffer): string | null {
  const text = frame.toString('utf8');
  // The usual frame is one data line; looking at it first spares the split.
  if (text.startsWith('data: ') && text.indexOf('\n') === text.length - 2) return text.slice(6, -2);
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'));
  if (lines.length === 0) return null;
  return lines.map((line) => line.slice(line[5] === ' ' ? 6 : 5)).join('\n');
}

/** The place of the value in a frame's only line of data; null without a line, or for several. */
export function dataOf(frame: Buffer): number | null {
  const first = frame.subarray(0, field.length).equals(field) ? 0 : frame.indexOf(lineOfData) + 1;
  if ((first === 0 && frame[0] !== field[0]) || frame.includes(lineOfData, first + 1)) return null;
  const at = first + field.length;
  return frame[at] === space ? at + 1 : at;
}

const field = Buffer.from('data:');
const lineOfData = Buffer.from('\ndata:');
const space = 0x20;

/** Whether a frame has data. */
export function hasData(frame: Buffer): boolean {
  return frame.toString('latin1', 0, 5) === 'data:' || frame.includes('\ndata:') || frame.includes('\rdata:');
}

/** The name of a frame's event, where it has one. */
export function frameEvent(frame: Buffer): string | undefined {
  // Nearly all frames begin with their data.
  if (frame[0] === letterD) return undefined;
  const [, name] = /^event: ?(.*)$/m.exec(frame.toString('utf8', 0, maxNameBytes)) ?? [];
  return name?.trim();
}

const letterD = 0x64;
const maxNameBytes = 1_024;
