/**
 * Splits a server-sent event stream into frames without touching their bytes: a frame is everything up to and
 * including its blank line (WHATWG HTML §9.2). Splitting happens on bytes, so characters that arrive in two pieces
 * stay whole. A parser library would hand out text, and the client is owed the provider's own bytes.
 */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);
  /** Up to where `#rest` was searched already, so that a huge frame in many pieces is not searched again and again. */
  #searched = 0;

  /** Complete frames in `chunk`, together with what earlier chunks left. Throws past `maxFrameBytes`. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    let from = 0;
    let at = Math.max(0, this.#searched - 3);
    for (;;) {
      const end = frameEnd(bytes, at);
      if (end < 0) break;
      frames.push(bytes.subarray(from, end));
      from = end;
      at = end;
    }
    this.#rest = bytes.subarray(from);
    this.#searched = this.#rest.length;
    if (this.#rest.length > maxFrameBytes) throw new Error('a frame of the stream is too large');
    return frames;
  }

  /** What is left when the stream ends: a last frame whose blank line never came, or nothing. */
  get rest(): Buffer {
    return this.#rest;
  }
}

export const maxFrameBytes = 16 * 1024 * 1024;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** One past the next blank line (`\n\n` or `\r\n\r\n`), or −1. Lone CRs as line ends are legal but nobody sends them. */
function frameEnd(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(lineFeed, from);
  while (at >= 0) {
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
