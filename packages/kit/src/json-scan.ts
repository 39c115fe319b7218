import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quote } from './json-bytes.ts';

/** The most of each that is counted. */
export type JsonLimits = Readonly<Record<'values' | 'texts' | 'escapes' | 'bare' | 'depth', number>>;

/** Limits on JSON that is parsed at once, so that it takes up to 50 ms; without them 20 MiB would take 1.5 s and 500 MiB. */
export const parsedAtOnce: JsonLimits = {
  // A parsed value takes up to 40 bytes.
  values: 500_000,
  // A text or a name of its own takes 0.5 µs.
  texts: 100_000,
  escapes: 5_000_000,
  // A long number takes as long to parse as a hundred short ones.
  bare: 4 * 1024 * 1024,
  // Readers walk through a value by recursion.
  depth: 200,
};

/** A piece that is scanned in 5 ms. */
const pieceBytes = 1024 * 1024;

/**
 * Counts what makes JSON expensive to parse, without parsing it, in pieces: a mebibyte takes about 2 ms. The result is
 * meaningless for text that is not JSON.
 */
export class JsonScan {
  /** Commas and opening brackets: at least the number of values minus one, one more for each empty array and object. */
  values = 0;
  /** Texts and names of members. */
  texts = 0;
  /** Escapes in them. */
  escapes = 0;
  /** Bytes outside of them: numbers and white space, for the most part. */
  bare = 0;
  /** The most objects and arrays inside one another. */
  depth = 0;
  #open = 0;
  #inText = false;
  #isEscaped = false;

  /** Counts the bytes from `from` to `until`, which follow the ones that were counted before. */
  add(json: Buffer, from = 0, until = json.length): this {
    const part = json.subarray(from, until);
    // Every byte of a long text would take 2 ns.
    let slash = part.indexOf(backslash);
    if (slash < 0) slash = part.length;
    for (let at = this.#plainEnd(part, 0, slash); at < part.length; at += 1) {
      const byte = part[at];
      if (this.#inText) this.#addInText(byte);
      else if (byte === quote) {
        this.texts += 1;
        this.#inText = true;
        at = this.#plainEnd(part, at + 1, slash) - 1;
      } else this.#addBare(byte);
    }
    return this;
  }

  /** The first of `limits` that the JSON exceeds; scans no further. */
  static exceeds(json: Buffer, limits: JsonLimits): keyof JsonLimits | undefined {
    const scan = new JsonScan();
    let exceeded: keyof JsonLimits | undefined;
    for (let from = 0; from < json.length && exceeded === undefined; from += pieceBytes)
      exceeded = scan.add(json, from, Math.min(json.length, from + pieceBytes)).exceeds(limits);
    return exceeded;
  }

  /** The first of `limits` that is exceeded so far. */
  exceeds({ values, texts, escapes, bare, depth }: JsonLimits): keyof JsonLimits | undefined {
    if (this.values > values) return 'values';
    if (this.texts > texts) return 'texts';
    if (this.escapes > escapes) return 'escapes';
    if (this.bare > bare) return 'bare';
    return this.depth > depth ? 'depth' : undefined;
  }

  /** The closing quote of the text that goes on at `at`, the end, or `at` again where an escape may come before. */
  #plainEnd(part: Buffer, at: number, slash: number): number {
    if (!this.#inText || this.#isEscaped || slash < at) return at;
    const end = part.indexOf(quote, at);
    const plain = end < 0 ? part.length : end;
    return plain <= slash ? plain : at;
  }

  #addInText(byte: number | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) {
      this.escapes += 1;
      this.#isEscaped = true;
    } else if (byte === quote) this.#inText = false;
  }

  #addBare(byte: number | undefined): void {
    this.bare += 1;
    if (byte === comma) this.values += 1;
    else if (byte === openBracket || byte === openBrace) {
      this.values += 1;
      this.#open += 1;
      if (this.#open > this.depth) this.depth = this.#open;
    } else if (byte === closeBracket || byte === closeBrace) this.#open -= 1;
  }
}
