import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  indexOrEnd,
  openBrace,
  openBracket,
  quote,
  noteTextEnds,
  shortBytes,
} from './json-bytes.ts';

/** The place of a text: of its opening and closing quotes. */
export interface TextPlace {
  from: number;
  until: number;
}

/** Maximum counts. */
export type JsonLimits = Readonly<Record<'values' | 'texts' | 'escapes' | 'bare' | 'depth', number>>;

/** Limits of JSON parsed at once, to take up to 50 ms; without them 20 MiB would take 1.5 s and 500 MiB. */
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

/** A piece, scanned in 5 ms. */
const pieceBytes = 1024 * 1024;

/** The end of a text with so many is found soon. */
const fewEscapes = 8;

/**
 * Counts the expensive parts of JSON, without parsing it, in pieces: a mebibyte takes about 2 ms. The result is
 * meaningless for text other than JSON.
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
  /** The ends of texts with many escapes, by the places of their beginnings. */
  readonly textEnds = new Map<number, number>();
  /** Long texts and names. */
  readonly longTexts: TextPlace[] = [];
  readonly #longBytes: number;
  /** The current text: its beginning, and the escapes before it. */
  #text = { from: 0, escapes: 0 };
  /** The place of the current bytes. */
  #place = 0;
  #open = 0;
  #inText = false;
  #isEscaped = false;
  /** The next backslash of the current bytes. */
  #slash = -1;

  /** `longBytes`: longer texts are noted. */
  constructor({ longBytes = Infinity } = {}) {
    this.#longBytes = longBytes;
  }

  /**
   * Counts the bytes from `from` to `until`, which follow the bytes counted before. `place`: where they begin in the
   * document, if the document is in pieces.
   */
  add(json: Buffer, from = 0, until = json.length, place = from): this {
    const part = json.subarray(from, until);
    this.#place = place;
    this.#slash = -1;
    for (let at = 0; at < part.length;) at = this.#inText ? this.#addText(part, at) : this.#addBare(part, at);
    return this;
  }

  /** The first of `limits` exceeded by the JSON; scans no further. */
  static exceeds(json: Buffer, limits: JsonLimits): keyof JsonLimits | undefined {
    const scan = new JsonScan();
    let exceeded: keyof JsonLimits | undefined;
    for (let from = 0; from < json.length && exceeded === undefined; from += pieceBytes)
      exceeded = scan.add(json, from, Math.min(json.length, from + pieceBytes)).exceeds(limits);
    return exceeded;
  }

  /** The first of `limits` exceeded so far. */
  exceeds({ values, texts, escapes, bare, depth }: JsonLimits): keyof JsonLimits | undefined {
    if (this.values > values) return 'values';
    if (this.texts > texts) return 'texts';
    if (this.escapes > escapes) return 'escapes';
    if (this.bare > bare) return 'bare';
    return this.depth > depth ? 'depth' : undefined;
  }

  /** Counts what is outside of texts. Returns where a text begins, or the end. */
  #addBare(part: Buffer, from: number): number {
    let { values, depth } = this;
    let open = this.#open;
    let at = from;
    for (; at < part.length; at += 1) {
      const byte = part[at];
      if (byte === quote) break;
      if (byte === comma) values += 1;
      else if (byte === openBracket || byte === openBrace) {
        values += 1;
        open += 1;
        if (open > depth) depth = open;
      } else if (byte === closeBracket || byte === closeBrace) open -= 1;
    }
    this.bare += at - from;
    this.values = values;
    this.depth = depth;
    this.#open = open;
    if (at === part.length) return at;
    this.texts += 1;
    this.#inText = true;
    this.#text = { from: this.#place + at, escapes: this.escapes };
    return at + 1;
  }

  /** Counts in a text. Returns where it ends, or a place past the end. */
  #addText(part: Buffer, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    for (let plain = 0; at < part.length; at += 1) {
      const byte = part[at];
      if (byte === quote) {
        this.#inText = false;
        this.#isEscaped = false;
        if (this.escapes - this.#text.escapes > fewEscapes)
          this.textEnds.set(this.#text.from, this.#place + at);
        if (this.#place + at - this.#text.from > this.#longBytes)
          this.longTexts.push({ from: this.#text.from, until: this.#place + at });
        return at + 1;
      }
      if (byte === backslash) {
        this.escapes += 1;
        at += 1;
        plain = 0;
      } else if ((plain += 1) === shortBytes) at = this.#plainEnd(part, at) - 1;
    }
    this.#isEscaped = at > part.length;
    return at;
  }

  /** The next quote or backslash after `at`, or the end. */
  #plainEnd(part: Buffer, at: number): number {
    // Kept, so texts without one are not searched for it again and again.
    if (this.#slash <= at) this.#slash = indexOrEnd(part, backslash, at + 1);
    return Math.min(this.#slash, indexOrEnd(part, quote, at + 1));
  }
}

/** Longer texts are noted, in documents scanned in pieces. */
const longBytes = 4 * 1024;

/**
 * Scans a document in pieces, and notes the ends of its texts for those who look for them later (`textEnd`). Yields the
 * counts so far.
 */
export function* scanPieces(json: Buffer): Generator<JsonScan, void> {
  const scan = new JsonScan({ longBytes });
  for (let from = 0; from < json.length; from += pieceBytes)
    yield scan.add(json, from, Math.min(json.length, from + pieceBytes));
  noteTextEnds(json, scan.textEnds);
}
