import { styleText } from 'node:util';

export type Level = 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL';

export interface LogStyle {
  /** Width of the column of process names. */
  nameWidth: number;
  colour: boolean;
}

type Colour = 'cyan' | 'magenta' | 'blue' | 'green' | 'yellow' | 'gray' | 'red';

const nameColours: readonly Colour[] = ['cyan', 'magenta', 'blue', 'green', 'yellow'];
const levelColours: Record<Level, Colour> = {
  TRACE: 'gray',
  DEBUG: 'gray',
  INFO: 'green',
  WARN: 'yellow',
  ERROR: 'red',
  FATAL: 'red',
};

/** Fields of every line, or already in the column of names. */
const repeatedFields = new Set(['level', 'time', 'msg', 'service', 'pid', 'hostname', 'err']);

/**
 * Formats one line of a process for the terminal. A JSON line becomes `chat-2  12:00:01 INFO  message key=value …`,
 * followed by the stack of an error; other lines keep their text. Empty for blank lines and debug lines of requests. A
 * line of a service in a process with others has the name of the service.
 */
export function formatLine(processName: string, line: string, style: LogStyle): string[] {
  const record = parseRecord(line);
  if (record === undefined) return line.trim() === '' ? [] : [`${nameColumn(processName, style)}${line}`];
  const name = processName.replace(/^gatehouse(?=-)/, plain(record['service']) || 'gatehouse');
  const level = levelOf(record['level']);
  if (level === 'DEBUG' && record['msg'] === 'request') return [];
  const message = [plain(record['msg']), ...fieldsOf(record)].filter((part) => part !== '').join(' ');
  return [
    formatMessage(name, { level, time: timeOf(record['time']), message }, style),
    ...stackOf(record, level).map((text) => `${nameColumn(name, style)}${text}`),
  ];
}

export interface LogMessage {
  level: Level;
  time: Date;
  message: string;
}

export function formatMessage(name: string, entry: LogMessage, style: LogStyle): string {
  const level = paint(entry.level.padEnd(5), levelColours[entry.level], style);
  return `${nameColumn(name, style)}${clockOf(entry.time)} ${level} ${entry.message}`;
}

/** The local time of day. `toTimeString` takes ten times as long, and there may be thousands of lines a second. */
function clockOf(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':');
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

function nameColumn(name: string, style: LogStyle): string {
  const column = `${name.padEnd(style.nameWidth)}  `;
  if (!style.colour) return column;
  const sum = Buffer.from(name).reduce((total, byte) => total + byte, 0);
  return paint(column, nameColours[sum % nameColours.length] ?? 'cyan', style);
}

function paint(text: string, colour: Colour, style: LogStyle): string {
  return style.colour ? styleText(colour, text, { validateStream: false }) : text;
}

function parseRecord(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'level' in value ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function levelOf(value: unknown): Level {
  const name = typeof value === 'string' ? value.toUpperCase() : '';
  return name in levelColours ? (name as Level) : 'INFO';
}

function timeOf(value: unknown): Date {
  const time = typeof value === 'string' || typeof value === 'number' ? new Date(value) : new Date();
  return Number.isNaN(time.getTime()) ? new Date() : time;
}

function fieldsOf(record: Record<string, unknown>): string[] {
  const fields = Object.entries(record).filter(
    ([key, value]) => !repeatedFields.has(key) && value !== undefined && value !== null,
  );
  const { message } = errorOf(record);
  return [
    ...fields.map(([key, value]) => `${key}=${quoted(value)}`),
    ...(message === undefined ? [] : [`err=${quoted(message)}`]),
  ];
}

function errorOf(record: Record<string, unknown>): { message?: string; stack?: string } {
  const { err } = record;
  if (typeof err === 'string') return { message: err };
  return typeof err === 'object' && err !== null ? { ...err } : {};
}

/**
 * The frames of the stack without the message, which is in the line above; if possible only frames of this repository.
 * Warnings are expected, so they get no stack.
 */
function stackOf(record: Record<string, unknown>, level: Level): string[] {
  const { stack } = errorOf(record);
  if (stack === undefined || (level !== 'ERROR' && level !== 'FATAL')) return [];
  const frames = stack.split('\n').filter((text) => /^\s+at /.test(text));
  const ownFrames = frames.filter((text) => !/node_modules|node:internal|<anonymous>/.test(text));
  return (ownFrames.length > 0 ? ownFrames : frames).map((text) => `    ${text.trim()}`);
}

function plain(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' && isPrintable(value) ? value : quoted(value);
}

/** A single printable word unchanged, anything else as JSON, which also escapes control characters. */
function quoted(value: unknown): string {
  if (typeof value === 'string' && value !== '' && isPrintable(value) && !/[\s"=]/.test(value)) return value;
  return JSON.stringify(value);
}

function isPrintable(text: string): boolean {
  return !/\p{Cc}/u.test(text);
}
