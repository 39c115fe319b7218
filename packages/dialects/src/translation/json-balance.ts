/** Follows a JSON text that comes in pieces, to see when the object or array that it is has ended. */
export class JsonBalance {
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #isBegun = false;

  add(piece: string): void {
    for (let at = 0; at < piece.length; at += 1) {
      const char = piece[at];
      if (this.#inText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (char === '\\') this.#isEscaped = true;
        else if (char === '"') this.#inText = false;
      } else if (char === '"') this.#inText = true;
      else if (char === '{' || char === '[') {
        this.#depth += 1;
        this.#isBegun = true;
      } else if (char === '}' || char === ']') this.#depth -= 1;
    }
  }

  get isWhole(): boolean {
    return this.#isBegun && this.#depth <= 0 && !this.#inText;
  }
}
