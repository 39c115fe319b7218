/** Characters of a passage, with what it repeats. */
export const maxChars = 1_500;
/**
 * Characters repeated by a passage from above: heading, header of a table, fence. With its closing fence, 1,063 are
 * left, and two neighbours together have more of their document: a mebibyte makes at most 2,000 passages.
 */
export const maxLeadChars = 420;
export const maxFenceChars = 16;
/** A heading starts a new passage once the current one has this many: a document of headings stays bounded. */
export const leastChars = 600;

/** A part of the text kept whole, by its offsets. */
export interface Piece {
  start: number;
  end: number;
  /** Set for a heading. */
  heading?: { depth: number; title: string };
  /** Repeated from above by a passage beginning with this piece: the header of its table, its fence. */
  lead?: string;
  /** Added to a passage ending with this piece: a fence. */
  tail?: string;
}

/** The lines of a part of the text, each in pieces of at most `most` characters. */
export function linesOf(text: string, { start, end }: Piece, most = maxChars): Piece[] {
  const pieces: Piece[] = [];
  for (let at = start; at < end;) {
    const lineEnd = text.indexOf('\n', at);
    const next = lineEnd < 0 || lineEnd >= end ? end : lineEnd + 1;
    pieces.push(...wordsOf(text, { start: at, end: next }, most));
    at = next;
  }
  return pieces;
}

/** Cuts a line of more than `most` characters between its words or, without spaces, outside surrogate pairs. */
function wordsOf(text: string, { start, end }: Piece, most: number): Piece[] {
  const pieces: Piece[] = [];
  let at = start;
  while (end - at > most) {
    const space = text.lastIndexOf(' ', at + most - 1);
    let next = space > at + leastChars ? space + 1 : at + most;
    if (isLowSurrogate(text, next)) next -= 1;
    pieces.push({ start: at, end: next });
    at = next;
  }
  pieces.push({ start: at, end });
  return pieces;
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
