import { setImmediate } from 'node:timers/promises';
import { ChunkList } from './chunk-list.ts';
import { monotonicMs } from './clock.ts';
import { AppError } from './errors.ts';

/** A line without its end. */
export interface Line {
  /** From 1. */
  number: number;
  bytes: Buffer;
}

/** With blank ones: 64 MiB of these alone would take seconds. */
const maxLines = 1_000_000;
/** After so much work on already present lines, the event loop does its other waiting work. */
const workMs = 10;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * The lines of a stream, without blank ones. For a line longer than `maxBytes`, calls `onTooLong` once it has passed,
 * or throws `invalid_value` before it is complete. Throws for too many lines, too. Lines arriving at once do not hold
 * the event loop, with all of the reader's work for them.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  onTooLong?: () => void,
): AsyncGenerator<Line, void> {
  /** The beginning of a line, from earlier chunks; nothing of a too long one. */
  let open: ChunkList | 'too long' | null = null;
  let number = 1;
  const join = (part: Buffer): ChunkList | 'too long' => {
    if (open === 'too long') return open;
    const joined = open ?? new ChunkList();
    joined.push(part);
    if (joined.size <= maxBytes) return joined;
    if (onTooLong !== undefined) return 'too long';
    throw new AppError('invalid_value', `Line ${number} is longer than ${maxBytes} bytes.`);
  };
  let began = monotonicMs();
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      const part = chunk.subarray(start, end);
      const line = open === null && part.length <= maxBytes ? part : join(part);
      if (line === 'too long') onTooLong?.();
      else {
        const bytes = line instanceof ChunkList ? line.concat() : line;
        if (!isBlank(bytes)) yield { number, bytes };
      }
      open = null;
      number += 1;
      if (number > maxLines) throw new AppError('invalid_value', `There are more than ${maxLines} lines.`);
      start = end + 1;
      if (monotonicMs() - began < workMs) continue;
      await setImmediate();
      began = monotonicMs();
    }
    if (start < chunk.length) open = join(chunk.subarray(start));
  }
  if (open === 'too long') onTooLong?.();
  else {
    const bytes = open?.concat();
    if (bytes !== undefined && !isBlank(bytes)) yield { number, bytes };
  }
}

function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === carriageReturn);
}
