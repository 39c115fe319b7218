import { colon, indexOrEnd, quote, skipSpace, textEnd } from '@gatehouse/kit/json-bytes';
import { valueEnd } from '../wire/json-members.ts';
import type { SourceText } from './source-text.ts';
import type { StreamText } from './stream-text.ts';
import type { FrameRules } from './text-rules.ts';
import { decoded, isSign } from './text-walk.ts';
import { isWord } from './text-view.ts';

/** A value which differs between frames of one shape: a piece of a text, padding, or a number by which nothing is decided. */
type Varying = 'text' | 'padding' | 'number';

interface ShapePart {
  /** The bytes before the value, equal in all frames. */
  bytes: Buffer;
  /** Null behind the last value. */
  varying: Varying | null;
}

/**
 * The shape of a frame: all frames with it are read alike, whatever their pieces of texts are. A frame of a known shape takes
 * a microsecond, a walk over it ten.
 */
export class FrameShape {
  readonly texts: readonly StreamText[];
  readonly #parts: readonly ShapePart[];

  /** `pieces`: the strings with the next pieces of texts, in their order. `from`: the place of the JSON. */
  constructor(
    { frame, from }: { frame: Buffer; from: number },
    pieces: readonly { source: SourceText; text: StreamText }[],
    rules: FrameRules,
  ) {
    this.texts = pieces.map(({ text }) => text);
    const places = new Set(pieces.map(({ source }) => from + source.from));
    this.#parts = [...partsOf(frame, from, (at) => places.has(at), rules)];
  }

  /** The pieces in a frame of this shape; null for another one. */
  piecesIn(frame: Buffer): string[] | null {
    const places: number[] = [];
    let at = 0;
    for (const { bytes, varying } of this.#parts) {
      const end = at + bytes.length;
      if (frame.length < end || bytes.compare(frame, at, end) !== 0) return null;
      if (varying === null) return end === frame.length ? textsAt(frame, places) : null;
      if (varying === 'number') at = numberEnd(frame, end);
      else {
        at = textEnd(frame, end - 1);
        if (varying === 'text') places.push(end - 1, at + 1);
        else if (!isWord(frame.toString('latin1', end, at))) return null;
      }
    }
    return null;
  }
}

function textsAt(frame: Buffer, places: readonly number[]): string[] {
  const texts: string[] = [];
  for (let index = 0; index < places.length; index += 2)
    texts.push(decoded(frame, places[index] ?? 0, places[index + 1] ?? 0));
  return texts;
}

function* partsOf(
  frame: Buffer,
  from: number,
  isPiece: (at: number) => boolean,
  { padding, citations }: FrameRules,
): Generator<ShapePart> {
  const end = indexOrEnd(frame, lineFeed, from);
  let [begin, name] = [0, ''];
  for (let at = from; at < end; at += 1) {
    const byte = frame[at] ?? 0;
    if (byte === quote) {
      const until = textEnd(frame, at);
      const isName = frame[skipSpace(frame, until + 1)] === colon;
      const varying = isPiece(at) ? 'text' : !isName && name === padding ? 'padding' : null;
      if (isName) name = decoded(frame, at, until + 1);
      if (varying !== null) {
        yield { bytes: frame.subarray(begin, at + 1), varying };
        begin = until;
      }
      at = until;
    } else if (isDigit(byte)) {
      const until = valueEnd(frame, at);
      if (!isSign(name) && citations?.offsets.has(name) !== true) {
        yield { bytes: frame.subarray(begin, at), varying: 'number' };
        begin = numberEnd(frame, at);
      }
      at = until - 1;
    }
  }
  yield { bytes: frame.subarray(begin), varying: null };
}

const lineFeed = 0x0a;

function numberEnd(frame: Buffer, from: number): number {
  let at = from;
  while (isDigit(frame[at] ?? 0)) at += 1;
  return at;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
