import type { Nodes, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';

/** A passage of a document. */
export interface Passage {
  /** 1-based, inclusive. */
  startLine: number;
  endLine: number;
  /** The headings above it, from the outermost. */
  context: string;
  text: string;
  /** The words of `searchedText`, where they were found already. */
  words?: string;
}

/** The text that searches look at. */
export function searchedText({ context, text }: Pick<Passage, 'context' | 'text'>): string {
  return `${context}\n${text}`;
}

/** A part of the text that is kept whole, by its offsets. */
interface Piece {
  start: number;
  end: number;
  /** Set for a heading. */
  heading?: { depth: number; title: string };
}

/** Characters of a passage. Two neighbours together are always longer than the first bound. */
const maxChars = 1_500;
/** A heading starts a new passage once the current one has this many: a document of headings stays bounded. */
const leastChars = 600;
const maxContextChars = 300;

/**
 * Splits Markdown by its structure: passages begin at headings and end between blocks, list items, lines or words, in
 * this order of preference.
 */
export function splitMarkdown(marked: string): Passage[] {
  // The parser drops a byte order mark, and counts all offsets from behind it.
  const text = marked.replace(/^\ufeff+/, '');
  return pack(text, blocksOf(text, fromMarkdown(text)));
}

/** Splits plain text between its lines or words. Takes time in proportion to the text, whatever it contains. */
export function splitPlain(text: string): Passage[] {
  return pack(text, linesOf(text, { start: 0, end: text.length }));
}

/** Whether Markdown of this text makes one passage, or none: it is short, and no heading can part it. */
export function isOnePassage(text: string): boolean {
  return text.length <= leastChars || (text.length <= maxChars && !/[#=-]/.test(text));
}

function blocksOf(text: string, { children }: Root): Piece[] {
  return children.flatMap((block) => {
    const piece = spanOf(block);
    if (block.type !== 'heading') return cut(text, block, piece);
    const { depth, children: words } = block;
    const [first, last] = [words[0], words.at(-1)];
    const title = first && last ? text.slice(spanOf(first).start, spanOf(last).end) : '';
    const [head = piece, ...rest] = cut(text, block, piece);
    return [{ ...head, heading: { depth, title } }, ...rest];
  });
}

/** Cuts a block that is too long into the items of its list, its inner blocks, or its lines. */
function cut(text: string, block: Nodes, piece: Piece): Piece[] {
  if (piece.end - piece.start <= maxChars) return [piece];
  const inner = block.type === 'list' || block.type === 'listItem' || block.type === 'blockquote';
  if (!inner || block.children.length === 0) return linesOf(text, piece);
  const cuts = block.children.flatMap((child) => cut(text, child, spanOf(child)));
  // The marks before and between inner blocks go with the block behind them.
  return cuts.map(({ end }, index) => ({ start: cuts[index - 1]?.end ?? piece.start, end }));
}

function linesOf(text: string, { start, end }: Piece): Piece[] {
  const pieces: Piece[] = [];
  for (let at = start; at < end;) {
    const lineEnd = text.indexOf('\n', at);
    const next = lineEnd < 0 || lineEnd >= end ? end : lineEnd + 1;
    pieces.push(...wordsOf(text, { start: at, end: next }));
    at = next;
  }
  return pieces;
}

/** Cuts a line that is too long between its words or, without spaces, anywhere but inside a surrogate pair. */
function wordsOf(text: string, { start, end }: Piece): Piece[] {
  const pieces: Piece[] = [];
  let at = start;
  while (end - at > maxChars) {
    const space = text.lastIndexOf(' ', at + maxChars - 1);
    let next = space > at + leastChars ? space + 1 : at + maxChars;
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

function spanOf({ position }: Nodes): Piece {
  const [start, end] = [position?.start.offset, position?.end.offset];
  if (start === undefined || end === undefined) throw new Error('a parsed node has no position');
  return { start, end };
}

/** Joins pieces to passages. */
function pack(text: string, pieces: readonly Piece[]): Passage[] {
  const lineAt = lineCounter(text);
  const passages: Passage[] = [];
  const headings: { depth: number; title: string }[] = [];
  let open: Piece | null = null;
  let context = '';
  const close = (): void => {
    if (open === null) return;
    const passage = text.slice(open.start, open.end);
    const trimmed = passage.trimEnd();
    const start = open.start + (passage.length - passage.trimStart().length);
    if (trimmed !== '')
      passages.push({
        startLine: lineAt(start),
        endLine: lineAt(open.start + trimmed.length - 1),
        context,
        text: text.slice(start, open.start + trimmed.length),
      });
    open = null;
  };
  for (const piece of pieces) {
    const length: number = open === null ? 0 : piece.end - open.start;
    const size: number = open === null ? 0 : open.end - open.start;
    if (length > maxChars || (piece.heading !== undefined && size >= leastChars)) close();
    if (piece.heading !== undefined) {
      while (headings.length > 0 && (headings.at(-1)?.depth ?? 0) >= piece.heading.depth) headings.pop();
    }
    if (open === null) {
      open = { start: piece.start, end: piece.end };
      context = headings
        .map(({ title }) => title)
        .join(' > ')
        .slice(0, maxContextChars)
        .toWellFormed();
    } else open.end = piece.end;
    if (piece.heading !== undefined) headings.push(piece.heading);
  }
  close();
  return passages;
}

/** Numbers of lines by offset, for offsets that never decrease by more than a passage. */
function lineCounter(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}
