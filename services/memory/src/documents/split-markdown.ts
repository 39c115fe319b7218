import { shortened } from './block-leads.ts';
import { piecesOf } from './markdown-pieces.ts';
import { leastChars, linesOf, maxChars, maxLeadChars, type Piece } from './text-pieces.ts';

/** A passage of a document. */
export interface Passage {
  /** 1-based, inclusive. */
  startLine: number;
  endLine: number;
  /** The headings above it, from the outermost, without the one the text begins with. */
  context: string;
  /** Its lines, below the heading, the header of a table or the fence they belong to. */
  text: string;
  /** The words of `searchedText`, where they were found already. */
  words?: string;
}

/** The text searched in a passage. */
export function searchedText({ context, text }: Pick<Passage, 'context' | 'text'>): string {
  return `${context}\n${text}`;
}

/** A passage by the offsets of its lines, and what stands before and behind them. */
export interface Span {
  start: number;
  end: number;
  context: string;
  lead: string;
  tail: string;
}

const maxContextChars = 300;
const maxHeadingChars = 200;

/**
 * Splits Markdown by its structure: passages begin at headings and end between blocks, list items, lines or words, in
 * this order of preference. A passage beginning elsewhere repeats the heading above it, and the header of the table or
 * the fence it is cut from.
 */
export function splitMarkdown(marked: string): Passage[] {
  const text = unmarked(marked);
  return passagesOf(text, markdownSpans(text));
}

/** The parser drops a byte order mark, and counts all offsets from behind it. */
export function unmarked(text: string): string {
  return text.replace(/^\ufeff+/, '');
}

/** The passages of Markdown without a byte order mark. */
export function markdownSpans(text: string): Span[] {
  return pack(text, piecesOf(text));
}

/** Splits plain text between its lines or words. Takes time in proportion to the text, whatever it contains. */
export function splitPlain(text: string): Passage[] {
  return passagesOf(text, pack(text, linesOf(text, { start: 0, end: text.length })));
}

/** Whether Markdown of this text makes at most one passage: it is short, and no heading can part it. */
export function isOnePassage(text: string): boolean {
  return text.length <= leastChars || (text.length <= maxChars && !/[#=-]/.test(text));
}

function passagesOf(text: string, spans: readonly Span[]): Passage[] {
  const lineAt = lineCounter(text);
  return spans.map(({ start, end, context, lead, tail }) => ({
    startLine: lineAt(start),
    endLine: lineAt(end - 1),
    context,
    text: lead + text.slice(start, end) + tail,
  }));
}

/** Joins pieces to passages. */
function pack(text: string, pieces: readonly Piece[]): Span[] {
  const spans: Span[] = [];
  const headings = new Headings();
  let open: Span | null = null;
  const close = (): void => {
    const span = open === null ? null : trimmed(text, open);
    if (span !== null) spans.push(span);
    open = null;
  };
  for (const piece of pieces) {
    if (open !== null && startsAnother(open, piece)) close();
    if (piece.heading !== undefined) headings.leave(piece.heading.depth);
    if (open === null) open = { start: piece.start, end: piece.end, ...headings.above(piece), tail: '' };
    open.end = piece.end;
    open.tail = piece.tail ?? '';
    if (piece.heading !== undefined) headings.enter(piece.heading);
  }
  close();
  return spans;
}

function startsAnother(open: Span, { end, heading, tail = '' }: Piece): boolean {
  if (open.lead.length + (end - open.start) + tail.length > maxChars) return true;
  return heading !== undefined && open.end - open.start >= leastChars;
}

/** Without white space around it; null if nothing is left. Code keeps the spaces of its first line. */
function trimmed(text: string, span: Span): Span | null {
  const passage = text.slice(span.start, span.end);
  const body = passage.trimEnd();
  if (body === '') return null;
  const before = span.lead === '' ? body.length - body.trimStart().length : blankLines(body);
  return { ...span, start: span.start + before, end: span.start + body.length };
}

/** Characters of the blank lines at the beginning. */
function blankLines(body: string): number {
  const first = body.search(/\S/);
  return body.lastIndexOf('\n', first) + 1;
}

/** The headings above a piece. */
class Headings {
  readonly #open: { depth: number; title: string }[] = [];

  leave(depth: number): void {
    while ((this.#open.at(-1)?.depth ?? 0) >= depth) this.#open.pop();
  }

  enter(heading: { depth: number; title: string }): void {
    this.#open.push(heading);
  }

  /** Returns the lead of a passage beginning with a piece, as far as it has room, and the context of the lead. */
  above({ start, end, heading, lead = '', tail = '' }: Piece): Pick<Span, 'context' | 'lead'> {
    const titles = this.#open.map(({ title }) => title);
    const room = Math.min(maxLeadChars, maxChars - (end - start) - tail.length);
    const ownLead = lead.length <= room ? lead : '';
    const nearest = heading === undefined ? this.#open.at(-1) : undefined;
    const line = nearest === undefined ? '' : headingLine(nearest, room - ownLead.length);
    if (line !== '') titles.pop();
    const context = titles.join(' > ').slice(0, maxContextChars).toWellFormed();
    return { context, lead: line + ownLead };
  }
}

/** A heading as a line of Markdown, or nothing if it has too little room. */
function headingLine({ depth, title }: { depth: number; title: string }, room: number): string {
  const words = title.replace(/\s+/g, ' ').trim();
  const line = `${'#'.repeat(depth)} ${shortened(words, maxHeadingChars)}\n\n`;
  return words === '' || line.length > room ? '' : line;
}

/** Numbers of lines by offset. */
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
