import type { Fields } from '@gatehouse/kit/fields';
import { callIn } from './content.ts';
import { objectIn } from './fields.ts';
import { maxCalls, SaidParts } from './said-parts.ts';

/** All parts of an answer, and as many characters for each of its pieces: put together and read within 50 ms. */
const maxChars = 2 * 1024 * 1024;
const charsEach = 8;
/** Pictures and sounds, each of which is one long text. */
const maxDataChars = 12 * 1024 * 1024;
const maxParts = 4_096;

/** Puts the parts of a streamed content together. */
export class PartsBuilder {
  readonly #parts: Fields[] = [];
  #chars = 0;
  #dataChars = 0;
  #calls = 0;

  /** Pieces of one text become one part; a part with a signature stays as it is. Throws at more than an answer may have. */
  add(parts: readonly Fields[]): void {
    for (const part of parts) {
      const { text } = part;
      const last = this.#parts.at(-1);
      const isPlain = typeof text === 'string' && isPlainText(part);
      this.#count(part, isPlain ? text.length : JSON.stringify(part).length);
      if (isPlain && last !== undefined && isPlainText(last) && last['thought'] === part['thought'])
        last['text'] = String(last['text']) + text;
      else this.#parts.push({ ...part });
      if (this.#parts.length > maxParts) throw new Error('the answer has too many parts');
    }
  }

  #count(part: Fields, chars: number): void {
    const { data } = objectIn(part, 'inlineData');
    const dataChars = typeof data === 'string' ? data.length : 0;
    this.#dataChars += dataChars;
    this.#chars += charsEach + Math.max(0, chars - dataChars);
    if (this.#chars > maxChars || this.#dataChars > maxDataChars)
      throw new Error('the answer is too large to be put together');
    this.#calls += callIn(part) === null ? 0 : 1;
    if (this.#calls > maxCalls) throw new Error('the answer has too many calls of tools');
  }

  get built(): SaidParts {
    return SaidParts.of(this.#parts);
  }

  /** The parts as they are. */
  get parts(): readonly Fields[] {
    return this.#parts;
  }
}

function isPlainText(part: Fields): boolean {
  return (
    typeof part['text'] === 'string' &&
    Object.keys(part).every((name) => name === 'text' || name === 'thought')
  );
}
