import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { AddressReader } from './address-reader.ts';

/** A placeholder for a value. */
export interface KnownPlaceholder {
  readonly value: string;
  /** The letters it may begin with. */
  readonly letters: ReadonlySet<string>;
  /** The hosts of addresses in which it may stand. */
  readonly hosts: ReadonlySet<string>;
  isShared: boolean;
}

/** The placeholders of a run, by their digits. */
export interface KnownPlaceholders {
  known(digits: string): KnownPlaceholder | undefined;
  readonly letters: ReadonlySet<string>;
}

/** A value for a placeholder; `from` and `until` are UTF-16 offsets in the text. */
export interface RestoredValue {
  from: number;
  until: number;
  text: string;
}

/** The result of a piece. */
export interface RestoredPiece {
  /** Each placeholder with its beginning before it has been reported. */
  cleared: number;
  values: readonly RestoredValue[];
}

const digits = 10;
const number = /(?<!\d)\d{10}(?!\d)/g;

/** Longer pieces are read in parts. */
const partLength = 16_384;

/**
 * Finds known placeholders in a text in pieces, in any case. Those within addresses are left out, unless the value
 * came in an address of the same host.
 */
export class PlaceholderScan {
  readonly #all: KnownPlaceholders;
  readonly #addresses = new AddressReader();
  /** The end of the text so far, as far as it may become a placeholder. */
  #rest = '';
  #length = 0;

  constructor(all: KnownPlaceholders) {
    this.#all = all;
  }

  *push(piece: string): Steps<RestoredPiece> {
    const values: RestoredValue[] = [];
    for (let from = 0; from < piece.length; from += partLength) {
      if (from > 0) yield;
      const part = piece.slice(from, from + partLength);
      this.#length += part.length;
      this.#read(this.#rest + part, false, values);
    }
    return { cleared: this.#length - this.#rest.length, values };
  }

  end(): RestoredPiece {
    const values: RestoredValue[] = [];
    this.#read(this.#rest, true, values);
    return { cleared: this.#length, values };
  }

  #read(text: string, isEnd: boolean, values: RestoredValue[]): void {
    const begin = this.#length - text.length;
    const until = isEnd ? text.length : this.#heldFrom(text);
    let at = 0;
    for (const match of text.matchAll(number)) {
      const [key] = match;
      if (match.index >= until) break;
      const known = this.#all.known(key);
      const letters = known === undefined ? 0 : longestEnd(text.slice(0, match.index), known.letters);
      const from = match.index - letters;
      if (known === undefined || letters === 0 || from < at) continue;
      this.#addresses.push(text.slice(at, from));
      at = from;
      const { open } = this.#addresses;
      if (open !== null && (open.host === null || !known.hosts.has(open.host))) continue;
      values.push({ from: begin + from, until: begin + match.index + digits, text: known.value });
    }
    this.#addresses.push(text.slice(at, until));
    this.#rest = text.slice(until);
  }

  /** The beginning of what may become a placeholder at the end. */
  #heldFrom(text: string): number {
    let at = text.length;
    while (at > 0 && isDigit(text.charCodeAt(at - 1)) && text.length - at <= digits) at -= 1;
    if (text.length - at > digits) return text.length;
    const before = lettersBefore(text, at);
    if (at < text.length) {
      const letters = longestEnd(before, this.#all.letters);
      return letters === 0 ? text.length : at - letters;
    }
    for (let from = 0; from < before.length; from += 1)
      for (const letters of this.#all.letters)
        if (letters.startsWith(before.slice(from))) return at - before.length + from;
    return text.length;
  }
}

/** The length of the longest of these at the end of a text; 0 without one. */
function longestEnd(text: string, all: ReadonlySet<string>): number {
  const before = lettersBefore(text, text.length);
  let longest = 0;
  for (const letters of all)
    if (letters.length > longest && before.endsWith(letters)) longest = letters.length;
  return longest;
}

const maxLetters = 32;

/** The letters of ASCII in front of a place, as capitals. */
function lettersBefore(text: string, until: number): string {
  let from = until;
  while (from > 0 && until - from < maxLetters && isLetter(text.charCodeAt(from - 1))) from -= 1;
  return text.slice(from, until).toUpperCase();
}

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
