import type { BlockContent, DefinitionContent, ListItem, Nodes, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import {
  fenceOf,
  htmlTableHeaderOf,
  introductionOf,
  itemLeadOf,
  joined,
  lineAt,
  tableHeaderOf,
} from './block-leads.ts';
import { linesOf, maxChars, maxFenceChars, maxLeadChars, type Piece } from './text-pieces.ts';

/** Pieces of a cut block are shorter, to leave each room for its lead. */
const maxPieceChars = maxChars - maxLeadChars - maxFenceChars - 1;

/** Cuts Markdown into its blocks, and blocks too long for a passage into their parts. */
export function piecesOf(text: string): Piece[] {
  return blocksOf(text, fromMarkdown(text).children, { lead: '', most: maxChars });
}

type Block = Root['children'][number] | BlockContent | DefinitionContent | ListItem;

/** The lead repeated by pieces of a block, and the longest block kept whole. */
interface Bounds {
  lead: string;
  most: number;
  /** Whether the first block is what `lead` ends with, as of an item. */
  beginsWithLead?: boolean;
}

function blocksOf(text: string, blocks: readonly Block[], { lead, most, beginsWithLead }: Bounds): Piece[] {
  return blocks.flatMap((block, index) => {
    const piece = spanOf(block);
    if (block.type === 'heading') return headingOf(text, block, piece);
    const before = index === 1 && beginsWithLead === true ? undefined : blocks[index - 1];
    const introduction = before?.type === 'paragraph' ? introductionOf(sliceOf(text, spanOf(before))) : '';
    return cut(text, block, { lead: joined(lead, introduction), most });
  });
}

function headingOf(
  text: string,
  { depth, children: words }: Nodes & { type: 'heading' },
  piece: Piece,
): Piece[] {
  const [first, last] = [words[0], words.at(-1)];
  const title = first && last ? text.slice(spanOf(first).start, spanOf(last).end) : '';
  const isLong = piece.end - piece.start > maxChars;
  const [head = piece, ...rest] = isLong ? linesOf(text, piece) : [piece];
  return [{ ...head, heading: { depth, title } }, ...rest];
}

/** Cuts a block longer than `most` into the items of its list, its inner blocks, or its lines. */
function cut(text: string, block: Block, { lead, most }: Bounds): Piece[] {
  const piece = spanOf(block);
  if (piece.end - piece.start <= most) return [most < maxChars ? { ...piece, lead } : piece];
  switch (block.type) {
    case 'list':
    case 'blockquote': {
      const inner = blocksOf(text, block.children, { lead, most: maxPieceChars });
      return around(piece, inner) ?? plainLines(text, piece, lead);
    }
    case 'listItem': {
      const itemLead = itemLeadOf(lineAt(text, text.lastIndexOf('\n', piece.start - 1) + 1));
      const bounds = { lead: joined(lead, itemLead), most: maxPieceChars, beginsWithLead: true };
      return around(piece, blocksOf(text, block.children, bounds), lead) ?? plainLines(text, piece, lead);
    }
    case 'code':
      return codeLines(text, piece, lead);
    case 'paragraph':
      return tableLines(text, piece, lead);
    case 'html':
      return withLead(linesOf(text, piece, maxPieceChars), lead, htmlTableHeaderOf(sliceOf(text, piece)));
    default:
      return plainLines(text, piece, lead);
  }
}

/** The marks before and between inner blocks go with the block behind them. The first one is no nested part. */
function around(outer: Piece, inner: readonly Piece[], lead?: string): Piece[] | null {
  if (inner.length === 0) return null;
  return inner.map((piece, index) => ({
    ...piece,
    start: inner[index - 1]?.end ?? outer.start,
    ...(index === 0 && lead !== undefined && { lead }),
  }));
}

function plainLines(text: string, piece: Piece, lead: string): Piece[] {
  return withLead(linesOf(text, piece, maxPieceChars), lead);
}

/** All pieces but the first repeat the beginning of their block. */
function withLead(pieces: readonly Piece[], outer: string, inner = ''): Piece[] {
  return pieces.map((piece, index) => ({ ...piece, lead: index === 0 ? outer : joined(outer, inner) }));
}

/** The lines of code, between fences in each passage. */
function codeLines(text: string, piece: Piece, lead: string): Piece[] {
  const lines = linesOf(text, piece, maxPieceChars);
  const fence = fenceOf(lineAt(text, piece.start));
  if (fence === null) return withLead(lines, lead);
  // No passage has a fence alone.
  if (/^[\s>]*(?:`{3,}|~{3,})\s*$/.test(sliceOf(text, lines.at(-1) ?? piece)))
    merge(lines, lines.length - 2, 2);
  merge(lines, 0, 2);
  return withLead(lines, lead, fence.open).map((line, index) =>
    index === lines.length - 1 ? line : { ...line, tail: fence.close },
  );
}

/** The lines of a paragraph. The parser reads tables as paragraphs. */
function tableLines(text: string, piece: Piece, lead: string): Piece[] {
  const lines = linesOf(text, piece, maxPieceChars);
  const table = tableHeaderOf(sliceOf(text, piece).split('\n'));
  if (table === null) return withLead(lines, lead);
  let rowsFrom = piece.start;
  for (let left = table.lines; left > 0; left -= 1) rowsFrom = text.indexOf('\n', rowsFrom) + 1;
  const headerLines = lines.filter(({ start }) => start < rowsFrom).length;
  merge(lines, headerLines - 2, 3);
  return lines.map((line) => ({
    ...line,
    lead: line.start >= rowsFrom ? joined(lead, table.header) : lead,
  }));
}

/** Makes one of several neighbours, if there are others beside them. */
function merge(pieces: Piece[], from: number, count: number): void {
  const [first, last] = [pieces[from], pieces[from + count - 1]];
  if (from < 0 || first === undefined || last === undefined || pieces.length === count) return;
  if (last.end - first.start <= maxPieceChars)
    pieces.splice(from, count, { start: first.start, end: last.end });
}

function sliceOf(text: string, { start, end }: Piece): string {
  return text.slice(start, end);
}

function spanOf({ position }: Nodes): Piece {
  const [start, end] = [position?.start.offset, position?.end.offset];
  if (start === undefined || end === undefined) throw new Error('a parsed node has no position');
  return { start, end };
}
