const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;

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
    for (let at = from; at < until; at += 1) {
      const byte = json[at];
      if (this.#inText) this.#addInText(byte);
      else if (byte === quote) {
        this.texts += 1;
        this.#inText = true;
      } else this.#addBare(byte);
    }
    return this;
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
