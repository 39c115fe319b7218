import { plain } from './normalized-text.ts';

/** Exceptions are no matches: whole, in any case. One like `*@example.org` is a match's end. */
export class Exceptions {
  readonly #texts: ReadonlySet<string>;
  readonly #ends: readonly string[];

  constructor(except: readonly string[]) {
    const texts = except.map(folded).filter((text) => text !== '');
    this.#texts = new Set(texts);
    this.#ends = texts.filter((text) => text.startsWith('*@')).map((text) => text.slice(1));
  }

  /** Whether this text is no match. */
  has(text: string): boolean {
    const match = folded(text);
    return this.#texts.has(match) || this.#ends.some((end) => match.endsWith(end));
  }

  /** Whether a longer text may be no match. */
  mayHave(begin: string): boolean {
    const match = folded(begin);
    return this.#ends.length > 0 || this.#texts.values().some((text) => text.startsWith(match));
  }
}

/** Upper case has one form of a letter wherever it stands. */
function folded(text: string): string {
  return plain(text).toUpperCase();
}
