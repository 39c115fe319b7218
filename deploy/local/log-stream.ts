import type { Readable, Writable } from 'node:stream';
import { formatLine, formatMessage, type Level, type LogStyle } from './log-line.ts';

const streamName = 'gatehouse';

/** Characters. The start of a longer line is passed on before its end is there. */
const longestLine = 1_000_000;

/** Writes the lines of all processes and of the supervisor to one stream. */
export class LogStream {
  readonly #out: Writable;
  readonly #style: LogStyle;

  constructor(out: Writable, style: LogStyle) {
    this.#out = out;
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

  /** Forwards everything a process prints. Lines arriving together are written together. */
  follow(name: string, output: Readable): void {
    let rest = '';
    const forward = (lines: readonly string[]): void => {
      const texts = lines.flatMap((line) => formatLine(name, line, this.#style));
      if (texts.length > 0) this.#write(texts.join('\n'));
    };
    output.setEncoding('utf8');
    output.on('error', () => undefined);
    output.on('data', (text: string) => {
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) {
        lines.push(rest);
        rest = '';
      }
      forward(lines);
    });
    output.on('close', () => forward([rest]));
  }

  #write(line: string): void {
    this.#out.write(`${line}\n`);
  }
}
