import { maxFenceChars } from './text-pieces.ts';

/** Beginnings of blocks, repeated by their later pieces. All take time in proportion to the text. */

/** Characters of a lead; the rest of what a passage repeats is for its heading. */
const maxBlockLeadChars = 340;

/** The line beginning at an offset, without its end. */
export function lineAt(text: string, start: number): string {
  const end = text.indexOf('\n', start);
  return text.slice(start, end < 0 ? text.length : end).trimEnd();
}

/** A text of at most `most` characters, with `…` where it was cut. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/** Both, or the inner one alone where both are too long. */
export function joined(outer: string, inner: string): string {
  return outer.length + inner.length <= maxBlockLeadChars ? outer + inner : inner;
}

/** The fence of a block of code beginning with `line`, to open and to close it; null for another block. */
export function fenceOf(line: string): { open: string; close: string } | null {
  const [close = ''] = /^(?:`{3,}|~{3,})/.exec(line) ?? [];
  if (close === '' || close.length > maxFenceChars) return null;
  return { open: `${line.length < maxBlockLeadChars ? line : close}\n`, close: `\n${close}` };
}

/** The header of a table of GitHub Flavored Markdown, and the number of lines up to its end; null for another text. */
export function tableHeaderOf(lines: readonly string[]): { header: string; lines: number } | null {
  const at = lines.findIndex((line, index) => index > 0 && isDelimiterRow(line, lines[index - 1] ?? ''));
  if (at < 0) return null;
  const [names = '', delimiters = ''] = lines.slice(at - 1, at + 1).map(rowOf);
  const whole = `${names}\n${delimiters}\n`;
  if (whole.length <= maxBlockLeadChars) return { header: whole, lines: at + 1 };
  const narrow = `\n${'|-'.repeat(cellsOf(delimiters).length)}|\n`;
  const isTooWide = narrow.length > maxBlockLeadChars / 2;
  const end = isTooWide ? '\n' : narrow;
  return { header: shortened(names, maxBlockLeadChars - end.length) + end, lines: at + 1 };
}

/** Whether a line delimits the header of a table, which is the line before it, from its rows. */
function isDelimiterRow(line: string, before: string): boolean {
  if (!line.includes('|') || !/^[|:\-\s>]+$/.test(line)) return false;
  const cells = cellsOf(line);
  return cells.every((cell) => /^:?-+:?$/.test(cell)) && cells.length === cellsOf(before).length;
}

/** A row without the marks of the quote it is in. */
function rowOf(line: string): string {
  return line.replace(/^[\s>]+/, '').trimEnd();
}

/** The cells of a row. */
function cellsOf(line: string): string[] {
  const row = rowOf(line);
  const from = row.startsWith('|') ? 1 : 0;
  const until = row.length > from && row.endsWith('|') && !row.endsWith('\\|') ? -1 : undefined;
  return row
    .slice(from, until)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** The beginning of a table in HTML, up to the end of its header; empty without one. */
export function htmlTableHeaderOf(html: string): string {
  const beginning = html.slice(0, maxBlockLeadChars);
  if (!/^\s*<table[\s>]/i.test(beginning)) return '';
  const [header] =
    /^[^]*?<\/thead\s*>/i.exec(beginning) ?? /^[^]*?<th[\s>][^]*?<\/tr\s*>/i.exec(beginning) ?? [];
  return header === undefined ? '' : `${header.trim()}\n`;
}

/** A paragraph introducing the next block; empty for another one. */
export function introductionOf(paragraph: string): string {
  return paragraph.length <= maxBlockLeadChars / 2 && /[:：]\s*$/.test(paragraph)
    ? `${paragraph.trimEnd()}\n\n`
    : '';
}

/** The first line of an item of a list, for what is nested in it. */
export function itemLeadOf(line: string): string {
  return `${shortened(line, maxBlockLeadChars / 3)}\n`;
}
