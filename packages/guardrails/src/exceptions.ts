import { matchesPattern, parsePattern } from '@gatehouse/kit/name-pattern';
import { plain } from './normalized-text.ts';

/** Exceptions are no matches: whole, in any case. In one like `*@example.org`, `*` stands for any text. */
export class Exceptions {
  readonly #texts: ReadonlySet<string>;
  readonly #patterns: readonly (readonly string[])[];

  constructor(except: readonly string[]) {
    const texts = except.map(folded).filter((text) => text !== '');
    const patterns = texts.map(parsePattern);
    this.#texts = new Set(texts.filter((_, index) => patterns[index] === null));
    this.#patterns = patterns.filter((pattern) => pattern !== null);
  }

  /** Whether this text is no match. */
  has(text: string): boolean {
    const match = folded(text);
    return this.#texts.has(match) || this.#patterns.some((pattern) => matchesPattern(pattern, match));
  }

  /** Whether a longer text may be no match. */
  mayHave(begin: string): boolean {
    const match = folded(begin);
    const isBegun = ([head = '']: readonly string[]) => head.startsWith(match) || match.startsWith(head);
    return this.#patterns.some(isBegun) || this.#texts.values().some((text) => text.startsWith(match));
  }
}

/** Upper case has one form of a letter wherever it stands. */
function folded(text: string): string {
  return plain(text).toUpperCase();
}
