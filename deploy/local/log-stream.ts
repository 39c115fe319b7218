import type { Readable, Writable } from 'node:stream';
import { formatLine, formatMessage, type Level, type LogStyle } from './log-line.ts';

const streamName = 'gatehouse';

/** Bytes. The start of a longer line is passed on before its end is there. */
const longestLine = 1_000_000;

const newline = Buffer.from('\n');

export interface LogStreamOptions extends LogStyle {
  /** Whether people read it: lines of processes are formatted. Else their bytes pass, at a tenth of the cost. */
  isTerminal: boolean;
}

/** Writes the lines of all processes and of the supervisor to one stream. */
export class LogStream {
  readonly #out: Writable;
  readonly #style: LogStyle;
  readonly #isTerminal: boolean;

  constructor(out: Writable, { isTerminal, ...style }: LogStreamOptions) {
    this.#out = out;
    this.#isTerminal = isTerminal;
    this.#style = { ...style, nameWidth: Math.max(style.nameWidth, streamName.length) };
    // A closed reader (`make up | head`) must not end the services.
    out.on('error', () => undefined);
  }

  /** Writes a line of the supervisor itself. */
  say(message: string, level: Level = 'INFO'): void {
    this.#write(formatMessage(streamName, { level, time: new Date(), message }, this.#style));
  }

  /** Writes a line without a prefix, for people to copy and tools to parse. */
  plain(line: string): void {
    this.#write(line);
  }

  /** Forwards everything a process prints, by the line. Lines arriving together are written together. */
  follow(name: string, output: Readable): void {
    let rest: Buffer[] = [];
    let size = 0;
    const endLine = (): void => {
      if (size > 0) this.#forward(name, Buffer.concat([...rest, newline]));
      [rest, size] = [[], 0];
    };
    output.on('error', () => undefined);
    output.on('data', (bytes: Buffer) => {
      const end = bytes.lastIndexOf(newline) + 1;
      if (end > 0) {
        this.#forward(
          name,
          size === 0 ? bytes.subarray(0, end) : Buffer.concat([...rest, bytes.subarray(0, end)]),
        );
        [rest, size] = [[], 0];
      }
      if (end === bytes.length) return;
      rest.push(bytes.subarray(end));
      size += bytes.length - end;
      if (size > longestLine) endLine();
    });
    output.on('close', endLine);
  }

  /** Whole lines. */
  #forward(name: string, bytes: Buffer): void {
    if (!this.#isTerminal) {
      this.#out.write(bytes);
      return;
    }
    const lines = bytes.toString('utf8', 0, bytes.length - 1).split(/\r?\n/);
    const texts = lines.flatMap((line) => formatLine(name, line, this.#style));
    if (texts.length > 0) this.#write(texts.join('\n'));
  }

  #write(line: string): void {
    this.#out.write(`${line}\n`);
  }
}
