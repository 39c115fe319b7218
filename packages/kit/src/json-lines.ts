import { ChunkList } from './chunk-list.ts';
import { AppError } from './errors.ts';

/** A line without its end. */
export interface Line {
  /** From 1. */
  number: number;
  bytes: Buffer;
}

/** With blank ones: 64 MiB of these alone would take seconds. */
const maxLines = 1_000_000;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * The lines of a stream, without blank ones. Throws `invalid_value` for a line longer than `maxBytes`, before it is
 * complete, and for too many lines.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line, void> {
  /** The beginning of a line, from earlier chunks. */
  let open: ChunkList | null = null;
  let number = 1;
  const join = (part: Buffer): ChunkList => {
    const joined = open ?? new ChunkList();
    joined.push(part);
    if (joined.size > maxBytes)
      throw new AppError('invalid_value', `Line ${number} is longer than ${maxBytes} bytes.`);
    return joined;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      const bytes = open === null ? chunk.subarray(start, end) : join(chunk.subarray(start, end)).concat();
      if (!isBlank(bytes)) yield { number, bytes };
      open = null;
      number += 1;
      if (number > maxLines) throw new AppError('invalid_value', `There are more than ${maxLines} lines.`);
      start = end + 1;
    }
    if (start < chunk.length) open = join(chunk.subarray(start));
  }
  const bytes = open?.concat();
  if (bytes !== undefined && !isBlank(bytes)) yield { number, bytes };
}

function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === carriageReturn);
}
