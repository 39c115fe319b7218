import { Document, visit } from 'yaml';
import { longestCell, mostColumns } from './bounds.ts';

/** Formats of output; `table` is for people. */
export const formats = ['table', 'json', 'yaml'] as const;
export type Format = (typeof formats)[number];

/** Prints tables for people, or JSON or YAML for programs. */
export class Output {
  readonly #write: (text: string) => void;
  readonly #format: Format;

  constructor(write: (text: string) => void, format: Format) {
    this.#write = write;
    this.#format = format;
  }

  /** Whether the output is for programs. */
  get isData(): boolean {
    return this.#format !== 'table';
  }

  /** Text from outside is written without what would steer a terminal, also in the middle of a line. */
  text(text: string): void {
    this.#write(forTerminal(text));
  }

  line(text: string): void {
    this.text(`${text}\n`);
  }

  /** A value as a document of YAML, or as JSON, in one line or indented. */
  data(value: unknown, indent = 0): void {
    if (this.#format === 'yaml') this.#write(`---\n${yamlForTerminal(value)}`);
    else this.#write(`${jsonForTerminal(value, indent)}\n`);
  }

  /** An answer of the API: a list as a table, by default with the columns that fit, an object as its members. */
  answer(value: unknown, columns?: readonly string[]): void {
    if (value === undefined) return;
    if (this.isData) this.data(value, 2);
    else if (isRecord(value) && Array.isArray(value['data'])) this.#list(value['data'], value, columns);
    else if (isRecord(value)) this.#members(value);
    else this.line(cell(value));
  }

  /** Rows by their common columns; long values are left to `get`. */
  rows(rows: readonly Record<string, unknown>[], columns: readonly string[]): void {
    if (this.isData) {
      this.data(rows, 2);
      return;
    }
    const lines = [
      columns.map((name) => name.toUpperCase()),
      ...rows.map((row) => columns.map((name) => cell(row[name]))),
    ];
    const widths = columns.map((_, at) => Math.max(...lines.map((line) => width(line[at] ?? ''))));
    for (const line of lines)
      this.line(
        line
          .map((text, at) => text + ' '.repeat((widths[at] ?? 0) - width(text)))
          .join('  ')
          .trimEnd(),
      );
  }

  #list(items: readonly unknown[], answer: Record<string, unknown>, columns?: readonly string[]): void {
    const rows = items.filter(isRecord);
    if (rows.length === 0) this.line('There are none.');
    else this.rows(rows, columns ?? columnsOf(rows));
    const cursor = answer['next_cursor'];
    if (typeof cursor === 'string') this.line(`There are more: --cursor ${cursor}, or --all`);
  }

  /** Lists of a value come below it, as tables. */
  #members(value: Record<string, unknown>): void {
    const lists = Object.entries(value).filter(
      (entry): entry is [string, Record<string, unknown>[]] =>
        Array.isArray(entry[1]) && entry[1].length > 0 && entry[1].every(isRecord),
    );
    const listed = new Set(lists.map(([name]) => name));
    const others = Object.entries(value)
      .filter(([name]) => !listed.has(name))
      .flatMap(([name, member]) => leavesOf(name, member));
    const widest = Math.max(...others.map(([name]) => width(name)), 0);
    for (const [name, member] of others) this.line(`${name.padEnd(widest)}  ${cell(member)}`);
    for (const [name, rows] of lists) {
      this.line(`${others.length > 0 ? '\n' : ''}${name}:`);
      this.rows(rows, columnsOf(rows));
    }
  }
}

/** The first members with a text, number or boolean in any row. */
function columnsOf(rows: readonly Record<string, unknown>[]): string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const isShown = (name: string): boolean =>
    rows.some((row) => row[name] !== null && typeof row[name] !== 'object' && row[name] !== undefined) &&
    rows.every((row) => cell(row[name]).length <= longestCell);
  return names.filter(isShown).slice(0, mostColumns);
}

/** The members of nested objects, by their paths: `tools.max_iterations`. */
function leavesOf(path: string, value: unknown): [string, unknown][] {
  if (!isRecord(value) || Object.keys(value).length === 0) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(`${path}.${name}`, member));
}

/** A value in one line, without characters able to steer a terminal. */
export function cell(value: unknown): string {
  return forTerminal(textOf(value)).replaceAll(/[\n\t]/g, (character) => (character === '\n' ? '⏎' : ' '));
}

/** A value as people read it: `chat, agents.read`, or `usd: 50.00, period: month`. */
function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(itemText).join(', ');
  if (!isRecord(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  if (members.length === 0) return '-';
  return members
    .map(([name, member]) => `${name}: ${isRecord(member) ? `(${textOf(member)})` : textOf(member)}`)
    .join(', ');
}

/** An item of a list: a nested one by its name, if it has any. */
function itemText(item: unknown): string {
  if (!isRecord(item)) return textOf(item);
  const name = item['name'] ?? item['key'] ?? item['id'];
  return typeof name === 'string' ? name : `(${textOf(item)})`;
}

// oxlint-disable-next-line no-control-regex -- those are what steers a terminal
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
/** Marks changing the direction in which a terminal shows the text after them. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const steering = new RegExp(`${controls.source}|${directions.source}`, 'g');

/** A text from outside without control characters, other than line ends and tabs, and without marks of direction. */
export function forTerminal(text: string): string {
  return text.replaceAll(steering, '\ufffd');
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** JSON with the same values, and with escapes for what `forTerminal` removes: JSON itself escapes C0 alone. */
export function jsonForTerminal(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll(steering, escape);
}

/** YAML with the same values, and with escapes for what `forTerminal` removes. */
function yamlForTerminal(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar: (_key, node) => {
      // Only quoted text can have escapes.
      if (typeof node.value === 'string' && forTerminal(node.value) !== node.value)
        node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 }).replaceAll(steering, escape);
}

/** Columns of a terminal: wide characters take two. */
function width(text: string): number {
  let columns = 0;
  for (const character of text)
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/.test(
        character,
      )
        ? 2
        : 1;
  return columns;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
