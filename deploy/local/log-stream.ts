import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { formatLine, formatMessage, type Level, type LogStyle } from './log-line.ts';

const ownName = 'gatehouse';

/** Writes the lines of all processes and of the supervisor to one stream. */
export class LogStream {
  readonly #out: Writable;
  readonly #style: LogStyle;

  constructor(out: Writable, style: LogStyle) {
    this.#out = out;
    this.#style = { ...style, nameWidth: Math.max(style.nameWidth, ownName.length) };
    // A closed reader (`make up | head`) must not end the services.
    out.on('error', () => undefined);
  }

  /** Writes a line of the supervisor itself. */
  say(message: string, level: Level = 'INFO'): void {
    this.#write(formatMessage(ownName, { level, time: new Date(), message }, this.#style));
  }

  /** Writes a line without a prefix, for people to copy and tools to parse. */
  plain(line: string): void {
    this.#write(line);
  }

  /** Forwards everything that a process prints. */
  follow(name: string, output: Readable): void {
    output.on('error', () => undefined);
    createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
      for (const text of formatLine(name, line, this.#style)) this.#write(text);
    });
  }

  #write(line: string): void {
    this.#out.write(`${line}\n`);
  }
}
