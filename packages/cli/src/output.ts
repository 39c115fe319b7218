import { longestCell, mostColumns } from './bounds.ts';

/** Prints tables for people or JSON for programs. */
export class Output {
  readonly #write: (text: string) => void;
  readonly #isJson: boolean;

  constructor(write: (text: string) => void, isJson: boolean) {
    this.#write = write;
    this.#isJson = isJson;
  }

  get isJson(): boolean {
    return this.#isJson;
  }

  /** Text from outside is written without what would steer a terminal, also in the middle of a line. */
  text(text: string): void {
    this.#write(forTerminal(text));
  }

  line(text: string): void {
    this.text(`${text}\n`);
  }

  /** A value as JSON, in one line or indented. */
  json(value: unknown, indent = 0): void {
    this.#write(`${jsonForTerminal(value, indent)}\n`);
  }

  /** An answer of the API: a list as a table, by default with the columns that fit, an object as its members. */
  answer(value: unknown, columns?: readonly string[]): void {
    if (value === undefined) return;
    if (this.#isJson) this.json(value, 2);
    else if (isRecord(value) && Array.isArray(value['data'])) this.#list(value['data'], value, columns);
    else if (isRecord(value)) this.#members(value);
    else this.line(cell(value));
  }

  /** Rows by their common columns; long and nested values are left to `get`. */
  rows(rows: readonly Record<string, unknown>[], columns: readonly string[]): void {
    if (this.#isJson) {
      this.json(rows, 2);
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
    const others = Object.keys(value).filter((name) => !lists.some(([list]) => list === name));
    const widest = Math.max(...others.map(width), 0);
    for (const name of others) this.line(`${name.padEnd(widest)}  ${cell(value[name])}`);
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

/** A value in one line, without characters able to steer a terminal. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return forTerminal(text).replaceAll(/[\n\t]/g, (character) => (character === '\n' ? '⏎' : ' '));
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

/** JSON with the same values, and with escapes for what `forTerminal` removes: JSON itself escapes C0 alone. */
export function jsonForTerminal(value: unknown, indent = 0): string {
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, indent).replaceAll(steering, escape);
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
