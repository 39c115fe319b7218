import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { Pieces } from './pieces.ts';

const backslash = 0x5c;
const letterU = 0x75;
const letterF = 0x66;
const letterD = 0x64;
/** Length of an escape such as `\ud83d`. */
const escapeLength = 6;
/** Bytes read in one step: in five milliseconds at most. */
const stepBytes = 64 * 1024;
const marks = ['\\ud', '\\uD'];

/** Whether a text has escapes that may be halves of characters. The native search is 30 times as fast as the reading. */
export function mayHaveHalves(text: Pieces): boolean {
  return text.all.some((piece) => marks.some((mark) => piece.includes(mark)));
}

/**
 * A JSON text with `\ufffd` in place of each half of a character. Providers' parsers refuse the whole request for one
 * ("no low surrogate in string"), in each later turn as well, once a tool or a model has cut a character
 * (https://github.com/anthropics/claude-code/issues/69927, RFC 8259 section 8.2). Both halves stand in one piece.
 */
export function* withoutHalves(text: Pieces): Steps<Pieces> {
  const all: Buffer[] = [];
  for (const piece of text.all) all.push(yield* pieceWithoutHalves(piece));
  return all.some((piece, index) => piece !== text.all[index]) ? new Pieces(all) : text;
}

function* pieceWithoutHalves(piece: Buffer): Steps<Buffer> {
  let changed: Buffer | null = null;
  let step = stepBytes;
  for (let at = piece.indexOf(backslash); at >= 0 && at < piece.length; at += 1) {
    if (at >= step) {
      step = at + stepBytes;
      yield;
    }
    if (piece[at] !== backslash) continue;
    const half = halfAt(piece, at);
    if (half === 'high' && halfAt(piece, at + escapeLength) === 'low') at += 2 * escapeLength - 1;
    else if (half === null) at += 1;
    else {
      changed ??= Buffer.from(piece);
      replaceAt(changed, at);
      at += escapeLength - 1;
    }
  }
  return changed ?? piece;
}

/** Writes `\ufffd` over an escape. */
function replaceAt(piece: Buffer, at: number): void {
  piece.fill(letterF, at + 2, at + escapeLength - 1);
  piece[at + escapeLength - 1] = letterD;
}

/** The half of a character that is escaped at a place. */
function halfAt(piece: Buffer, at: number): 'high' | 'low' | null {
  if (piece[at] !== backslash || piece[at + 1] !== letterU) return null;
  const unit = hexAt(piece, at + 2) * 16 + hexAt(piece, at + 3);
  if (unit >= 0xd8 && unit <= 0xdb) return 'high';
  return unit >= 0xdc && unit <= 0xdf ? 'low' : null;
}

/** The value of a hexadecimal digit, which valid JSON has there. */
function hexAt(piece: Buffer, at: number): number {
  const byte = piece[at] ?? 0;
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57;
}
